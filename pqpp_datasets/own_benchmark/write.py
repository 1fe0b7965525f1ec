"""Writing a benchmark as a folder that `load_dataset` takes, with its card and quality report."""

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from pqpp_datasets.benchmark import size_category
from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.export.croissant import croissant_of
from pqpp_datasets.export.parquet_folder import export_folder, write_split
from pqpp_datasets.own_benchmark.build import Built
from pqpp_datasets.own_benchmark.kept import (
    judged_by_pairs,
    judged_by_votes,
    kept_images,
    kept_preferences,
    kept_votes,
)
from pqpp_datasets.own_benchmark.report import quality_report
from pqpp_datasets.own_benchmark.splits import split_rule
from pqpp_files.hashes import sha256_of, sha256_of_parts
from pqpp_hub.card import render_card
from pqpp_hub.licences import require_licence

ANNOTATORS = ("crowdsourced", "expert-generated", "machine-generated", "found", "other")


@dataclass(frozen=True)
class Keeping:
    """What is written beside the scores, and what the card tells.

    Attributes:
        images: How images are kept, of `pqpp_datasets.own_benchmark.kept.IMAGES`.
        image_dir: The folder of the images.
        votes: Whether the votes are kept.
        keep_annotators: Call annotators by their names. Otherwise each gets a number, drawn anew in
            every build and by no seed, so that nobody can work it back; which number is whose is
            kept nowhere.
        license: A key of the Hub's; without one the folder is not pushed.
        language: Of the prompts, codes of ISO 639-1.
        citation: A file of BibTeX.
        annotations_creators: Who judged, of `ANNOTATORS`.
    """

    images: str = "path"
    image_dir: str | Path | None = None
    votes: bool = True
    keep_annotators: bool = False
    license: str | None = None
    language: tuple[str, ...] = ("en",)
    citation: str | Path | None = None
    annotations_creators: str = "other"

    def __post_init__(self):
        if self.license is not None:
            require_licence(self.license, OptionError)
        if self.annotations_creators not in ANNOTATORS:
            raise OptionError(
                f"--annotations-creators {self.annotations_creators}: one of "
                f"{', '.join(ANNOTATORS)} is allowed"
            )
        self.bibtex()

    def bibtex(self) -> str:
        """Return the citation, empty where there is none."""
        if self.citation is None:
            return ""
        try:
            return Path(self.citation).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise DataFileError(f"{self.citation}: not readable ({error}); name a file") from None


def write_benchmark(
    built: Built,
    folder: str | Path,
    name: str = "My benchmark",
    keeping: Keeping | None = None,
) -> Path:
    """Write a benchmark as a folder of Parquet files, with a card and a quality report.

    Beside the prompts with their scores, the subset `images` holds the images that were judged,
    `votes` the votes and `preferences` the preferences, where such came (of both, the images of
    preferences are `compared_images`); Croissant metadata describe all.

    Args:
        built: The benchmark.
        folder: Where; a folder that is there already is replaced as a whole if it was written by
            this function and holds nothing else, and refused otherwise.
        name: For the card and the report.
        keeping: What is kept and told; as `Keeping()` if left out.

    Returns:
        The folder; `load_dataset(str(folder))` loads it, also on the Hub.

    Raises:
        OptionError: If the folder holds something else, or a file that the benchmark was built
            from.
        BenchmarkError: As of `kept_images`.
    """
    keeping = keeping or Keeping()
    who = [
        built.generation.table.annotator_names if built.generation else [],
        built.preferences.choices.annotator_names if built.preferences else [],
    ]
    numbers = [list(one) if keeping.keep_annotators else _numbers(len(one)) for one in who]
    called = [
        [one if isinstance(one, str) else f"annotator {one}" for one in own] for own in numbers
    ]
    with export_folder(Path(folder), built.inputs) as beside:
        files: dict[tuple[str, str], list[Path]] = {}
        for subset, splits in _subsets(built, keeping, numbers).items():
            place = beside / "data" if subset == "default" else beside / "data" / subset
            for split, tables in splits.items():
                files[subset, split] = write_split(place, split, tables)
        rows = {key: sum(map(_rows_of, paths)) for key, paths in files.items()}
        digest = sha256_of_parts([sha256_of(one) for own in files.values() for one in own])
        (beside / "README.md").write_text(_card(built, name, keeping, rows, digest), "utf-8")
        (beside / "report.html").write_text(quality_report(built, name, *called), "utf-8")
        about = _about(name, keeping)
        metadata = json.dumps(croissant_of(beside, files, about), indent=1)
        (beside / "croissant.json").write_text(metadata + "\n", "utf-8")
    return Path(folder)


def _subsets(
    built: Built, keeping: Keeping, numbers: list[list]
) -> dict[str, Mapping[str, Iterable[pa.Table]]]:
    found: dict[str, Mapping[str, Iterable[pa.Table]]] = {
        "default": {split: [table] for split, table in built.splits.items()}
    }
    if built.generation:
        own = judged_by_votes(built)
        found["images"] = kept_images(built, own, keeping.images, keeping.image_dir)
        if keeping.votes and not built.generation.table.is_ready:
            found["votes"] = kept_votes(built, numbers[0])
    if built.preferences:
        compared = judged_by_pairs(built)
        if compared is not None:
            name = "compared_images" if "images" in found else "images"
            found[name] = kept_images(built, compared, keeping.images, keeping.image_dir)
        if keeping.votes:
            found["preferences"] = kept_preferences(built, numbers[1])
    return found


def _numbers(count: int) -> list[int]:
    """Return a number for each annotator, at random."""
    return random.SystemRandom().sample(range(1, count + 1), count)


def _rows_of(path: Path) -> int:
    return pa.parquet.read_metadata(path).num_rows


def _about(name: str, keeping: Keeping) -> dict[str, str]:
    about = {"name": name, "description": f"{name}: prompts with their performance."}
    if keeping.license:
        about["license"] = keeping.license
    if keeping.citation:
        about["citeAs"] = " ".join(keeping.bibtex().split())
    return about | {"version": "1.0.0"}


def _card(built: Built, name: str, keeping: Keeping, rows: Mapping, digest: str) -> str:
    annotators = built.generation.annotators if built.generation else ()
    return render_card(
        "datasets/own_benchmark",
        title=name,
        rows=[(*key, count) for key, count in rows.items() if key[0] != "default"],
        subsets=_configs(rows),
        digest=f"data {digest[:16]}",
        keeping=keeping,
        tasks=["text-to-image"],
        annotators=[keeping.annotations_creators],
        language=list(keeping.language),
        citation=keeping.bibtex(),
        sizes=[size_category(sum(table.num_rows for table in built.splits.values()))],
        trust=built.generation and built.generation.trust,
        splits={split: table.num_rows for split, table in built.splits.items()},
        targets=built.targets,
        targets_told=[target.told() for target in built.targets],
        split_rule=split_rule(built.options.fractions, built.options.seed),
        options=built.options,
        has_generation=built.generation is not None,
        has_control=bool(built.generation and built.generation.control_group),
        has_reference=any(one.reference_share is not None for one in annotators),
        has_retrieval=built.retrieval is not None,
    )


def _configs(rows: Mapping[tuple[str, str], int]) -> dict[str, list[tuple[str, str]]]:
    """Return each subset's splits, with the pattern of their files."""
    found: dict[str, list[tuple[str, str]]] = {}
    for subset, split in rows:
        place = "data" if subset == "default" else f"data/{subset}"
        pattern = f"{place}/{split.replace('.', '-')}-*.parquet"
        found.setdefault(subset, []).append((split, pattern))
    return found
