"""Write a benchmark as a folder for `load_dataset`, with its card and quality report."""

import hmac
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from pqpp_datasets.benchmark import get_size_category
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.export.parquet_folder import replace_folder, write_eval_yaml, write_split
from pqpp_datasets.own_benchmark.admission import Annotator, filter_annotators
from pqpp_datasets.own_benchmark.build import Outcome
from pqpp_datasets.own_benchmark.formats import WORDS
from pqpp_datasets.own_benchmark.generation import Generation
from pqpp_datasets.own_benchmark.prompts import describe_split
from pqpp_datasets.own_benchmark.subsets import (
    list_compared_images,
    list_voted_images,
    split_images,
    split_preferences,
    split_votes,
)
from pqpp_datasets.target_columns import Target
from pqpp_files.errors import reraise
from pqpp_files.figures import format_tables
from pqpp_files.hashes import hash_file, hash_parts
from pqpp_files.names import pluralize
from pqpp_files.paths import expand
from pqpp_files.render_page import render_page
from pqpp_hub.card import render_card

ANNOTATORS = ("crowdsourced", "expert-generated", "machine-generated", "found", "other")
_BINS = 12

_PQPP_NAMES = {value: word for word, value in WORDS["scales"]["pqpp"].items() if word[-1].isalpha()}
_MIN_KEY_BYTES = 16
_MAX_ANNOTATORS = 1000  # keeps the page small enough for browsers


@dataclass(frozen=True)
class WriteOptions:
    """The options of `write_benchmark`: what to store besides the scores, and details for the card.

    Attributes:
        images: How to store images, one of `pqpp_datasets.own_benchmark.subsets.IMAGES`.
        image_dir: The folder of the images.
        votes: Whether to store the votes.
        keep_annotators: Whether to store annotators' names. Otherwise each gets a random number
            that is different in each build and cannot be traced back.
        pseudonym_key: A secret file of 16 bytes or more that determines these numbers, so that the
            same votes give the same files. Anyone who has the file can trace the names back.
        license: A licence key of the Hub; required for pushing.
        language: Languages of the prompts, ISO 639-1 codes for the card.
        citation: A BibTeX file.
        annotations_creators: Who rated the images, one of `ANNOTATORS`.
        collection: Text for the datasheet on when people rated, with which question and for what
            pay.
        plan_width: Width of the reliability's 95% interval, for the study plan in the report.
        overwrite: Whether the folder may contain an older benchmark, which is replaced.
    """

    images: str = "path"
    image_dir: str | Path | None = None
    votes: bool = True
    keep_annotators: bool = False
    pseudonym_key: str | Path | None = None
    license: str | None = None
    language: tuple[str, ...] = ()
    citation: str | Path | None = None
    annotations_creators: str = "other"
    collection: str | None = None
    plan_width: float = 0.1
    overwrite: bool = True
    _numbers: dict[tuple[str, ...], list[int]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self):
        if self.annotations_creators not in ANNOTATORS:
            allowed = f"`annotations_creators` must be one of {', '.join(ANNOTATORS)}"
            raise BenchmarkError(f"{allowed}; got {self.annotations_creators!r:.60}")
        self.read_citation()

    def get_display_names(self, names: Sequence[str]) -> list[str]:
        """Return annotators' names, or "annotator 7" and so on, for the quality report."""
        return [n if isinstance(n, str) else f"annotator {n}" for n in self.get_public_names(names)]

    def get_public_names(self, names: Sequence[str]) -> list:
        """Return annotators' names if `keep_annotators` is set, else random numbers from 1.

        Raises:
            BenchmarkError: `pseudonym_key` cannot be read or is too short.
        """
        if self.keep_annotators:
            return list(names)
        if self.pseudonym_key is None:
            shuffled = random.SystemRandom().sample(range(1, len(names) + 1), len(names))
            return self._numbers.setdefault(tuple(names), shuffled)
        with reraise("`pseudonym_key` cannot be read", "choose another file", BenchmarkError):
            key = expand(self.pseudonym_key).read_bytes()
        if len(key) < _MIN_KEY_BYTES:
            problem = f"expected at least {_MIN_KEY_BYTES} random bytes, got {len(key)}"
            raise BenchmarkError(f"`pseudonym_key` {self.pseudonym_key}: {problem}")
        digests = [hmac.digest(key, name.encode("utf-8", "replace"), "sha256") for name in names]
        numbers = {digest: index for index, digest in enumerate(sorted(digests), 1)}
        return [numbers[digest] for digest in digests]

    def read_citation(self) -> str:
        """Return the content of the citation file; "" without one."""
        if self.citation is None:
            return ""
        with reraise(f"{self.citation} cannot be read", "choose another file", BenchmarkError):
            return Path(self.citation).read_text("utf-8").strip()


def write_benchmark(
    built: Outcome,
    folder: str | Path,
    name: str = "My benchmark",
    extras: WriteOptions | None = None,
) -> Path:
    """Write a benchmark as a folder of Parquet files, with a card and a quality report.

    The default subset has the prompts with their scores. Further subsets are `images`, `votes` and
    `preferences`; with votes and preferences, the images of preferences are `compared_images`.

    Args:
        folder: The output folder; an existing one is replaced only if this function wrote it and it
            contains no other files.
        name: The name on the card and the report.
        extras: What to write besides the scores; default: `WriteOptions()`.

    Returns:
        The folder; `load_dataset(str(folder))` loads it.

    Raises:
        BenchmarkError: The folder contains other files, or an image or annotator option is invalid.
        FileError: An image name refers to a file outside the folder, or a file is not an image.
    """
    extras = extras or WriteOptions()
    annotators, voters = (extras.get_public_names(n) for n, _ in built.flagged_annotators)
    subsets: dict[str, Mapping[str, Iterable[pa.Table]]] = {
        "default": {split: [table] for split, table in built.splits.items()}
    }
    image_options = extras.images, extras.image_dir
    if built.generation:
        subsets["images"] = split_images(built, list_voted_images(built.generation), *image_options)
        if extras.votes and not built.generation.table.has_scores:
            subsets["votes"] = split_votes(built, annotators)
    if built.preferences:
        if (compared := list_compared_images(built.preferences.choices)) is not None:
            subset = "compared_images" if "images" in subsets else "images"
            subsets[subset] = split_images(built, compared, *image_options)
        if extras.votes:
            subsets["preferences"] = split_preferences(built, voters)
    with replace_folder(Path(folder), built.inputs, extras.overwrite) as temp_path:
        files: dict[tuple[str, str], list[Path]] = {}
        for subset, splits in subsets.items():
            data = temp_path / "data" / subset.removeprefix("default")
            for split, tables in splits.items():
                files[subset, split] = write_split(data, split, tables)
        names = [target.name for target in built.targets]
        targets = {("default", split): names for split in built.splits}
        write_eval_yaml(temp_path, targets, name, f"{name}: prompts with their performance.")
        rows: dict[str, dict[str, int]] = {subset: {} for subset, _ in files}
        for (subset, split), paths in files.items():
            rows[subset][split] = sum(pa.parquet.read_metadata(path).num_rows for path in paths)
        card = render_card(
            "datasets/own_benchmark",
            title=name,
            keeping=extras,
            built=built,
            subsets=rows,
            size=get_size_category(sum(rows["default"].values())),
            targets=[target.as_dict() for target in built.targets],
            split_rule=describe_split(built.options.fractions, built.options.seed),
            summaries=[*_describe_reliability(built, extras)],
            digest=hash_parts(hash_file(path) for paths in files.values() for path in paths)[:16],
        )
        (temp_path / "README.md").write_text(card, "utf-8")
        (temp_path / "report.html").write_text(render_quality_report(built, name, extras), "utf-8")
    return Path(folder)


def _describe_reliability(built: Outcome, extras: WriteOptions) -> Iterator[str]:
    """Yield lines on reliability, then on the flagged annotators of judgments and preferences."""
    yield from built.reliability_summaries
    use = "do not count" if built.options.exclude else "count"
    for names, flagged in built.flagged_annotators:
        display_names = dict(zip(names, extras.get_display_names(names), strict=True))
        descriptions = []
        for name, reason in flagged[:20]:
            remark = " (perhaps with a reversed scale)" if reason.endswith("reversed") else ""
            descriptions.append(f"{display_names[name]}{remark}")
        descriptions += ["..."] if len(flagged) > 20 else []
        details = f": {', '.join(descriptions)}; their votes {use}" if flagged else ""
        if names:
            verb = "is" if len(flagged) == 1 else "are"
            yield f"{len(flagged)} of {pluralize(len(names), 'annotator')} {verb} flagged{details}"


def render_quality_report(built: Outcome, name: str, extras: WriteOptions) -> str:
    """Return a self-contained HTML page on the quality of a benchmark.

    It shows problems, the votes that count, their agreement and reliability, up to 1000 annotators
    with the reasons why they are flagged or excluded, and a histogram of each target.

    Args:
        extras: Only the annotators' names and `plan_width` are used.
    """
    generation, preferences = built.generation, built.preferences
    # Without hints on options, which do not concern readers of the report.
    notes = [re.sub(r" \([^()]*`[^()]*\)|; `[^;]*", "", note) for note in built.notes]
    annotators, voters = (extras.get_display_names(names) for names, _ in built.flagged_annotators)
    voter_rows: list[dict[str, Any]] = []
    if preferences and (agreements := preferences.agreements):
        voter_rows = [
            {"name": voters[index], "index": index, "flag": agreements.reasons[index]}
            for index in np.flatnonzero(agreements.votes).tolist()
        ]
        voter_rows.sort(key=lambda row: (not row["flag"], len(row["name"]), row["name"]))
    return render_page(
        Path(__file__).with_name("report.html"),
        name=name,
        options=built.options,
        summaries=[*_describe_reliability(built, extras)],
        plan=generation and generation.trust.plan_studies(extras.plan_width),
        notes=notes,
        warnings=built.warnings,
        splits={split: table.num_rows for split, table in built.splits.items()},
        generation=generation,
        format_tables=format_tables,
        labels=generation and _format_labels(generation, generation.labels),
        annotators=generation and _list_annotators(built, generation, annotators),
        max_annotators=_MAX_ANNOTATORS,
        retrieval=built.retrieval,
        preferences=preferences,
        voters=voter_rows[:_MAX_ANNOTATORS],
        histograms=[_draw_histogram(built, target) for target in built.targets],
    )


def _list_annotators(
    built: Outcome, generation: Generation, display_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a row per annotator: excluded ones first, then flagged ones, control members last."""
    agreements, votes = generation.agreements, generation.table
    if agreements is None:
        return []
    names = [*display_names]
    renamed = replace(votes, annotator_names=names)
    annotators = filter_annotators(renamed, agreements, built.options)
    filtered = {annotator.name: annotator for annotator in annotators}
    labels = _format_labels(generation, agreements.label.tolist())
    seconds = pd.Series(votes.seconds, votes.annotator, float)[~votes.reference]
    times = seconds.groupby(level=0).median().reindex(range(len(names)))
    rows = [
        {
            "annotator": filtered.get(names[index])
            or Annotator(names[index], int(agreements.votes[index]), {}, None, None, ()),
            "member": names[index] not in filtered,
            "index": index,
            "label": labels[index],
            "flag": agreements.reasons[index],
            "seconds": times[index],
        }
        for index in np.unique(votes.annotator).tolist()
    ]

    def get_sort_key(row: dict[str, Any]) -> tuple:
        annotator = row["annotator"]
        key = (row["member"], not annotator.reasons, not row["flag"], -(annotator.kappa or 0.0))
        return (*key, len(annotator.name), annotator.name)  # independent of the original names

    return sorted(rows, key=get_sort_key)


def _format_labels(generation: Generation, values: Iterable[float]) -> list[str]:
    names = _PQPP_NAMES if generation.table.scale.name == "pqpp" else {}
    return [names.get(value, f"{value:g}") for value in values]


def _draw_histogram(built: Outcome, target: Target) -> dict[str, Any]:
    column = pa.chunked_array([c for t in built.splits.values() for c in t[target.name].chunks])
    values = column.drop_null().to_numpy()
    counts, edges = np.histogram(values, bins=_BINS, range=target.limits)
    return {
        "target": target.name,
        "measure": target.measure.words or target.measure.name,
        "count": len(values),
        "missing": column.null_count,
        "mean": float(values.mean()) if len(values) else math.nan,
        "sd": float(values.std()) if len(values) else math.nan,
        "top": max(1, int(counts.max())),
        "bars": list(zip(edges, edges[1:], counts.tolist(), strict=False)),
    }
