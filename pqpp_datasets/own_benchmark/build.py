"""From raw files to the splits of a benchmark."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.own_benchmark.generation import Generation, score_votes
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import Prompts
from pqpp_datasets.own_benchmark.retrieval import Retrieval, read_relevance, read_runs, score_runs
from pqpp_datasets.own_benchmark.splits import split_rule
from pqpp_datasets.own_benchmark.votes.preferences import (
    Preferences,
    read_preferences,
    score_preferences,
)
from pqpp_datasets.own_benchmark.votes.read import read_votes
from pqpp_datasets.pqpp import IDENTITIES
from pqpp_datasets.target_columns import Target, exact_mean, targets_for, with_targets
from pqpp_files.names import how_many

Files = list[tuple[str | None, Path]]


@dataclass(frozen=True)
class Built:
    """A benchmark that was built.

    Attributes:
        splits: Split to its table, PQPP's identity columns and then one column per target; those
            that got no prompt are left out.
        generation: What came of the judgments, or None.
        retrieval: What came of the runs, or None.
        preferences: What came of the preferences, or None.
        targets: What the target columns are, which the tables' schemas tell too.
        inputs: The files that it was built from.
        warnings: What is odd about it, a line each: an empty split, a target without a value.
    """

    splits: dict[str, pa.Table]
    generation: Generation | None
    retrieval: Retrieval | None
    options: BuildOptions
    targets: tuple[Target, ...] = ()
    inputs: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    preferences: Preferences | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """How the votes were read, a line each: the scale, what was left out."""
        return tuple(n for one in (self.generation, self.preferences) if one for n in one.notes)


def build_benchmark(
    judgments: str | Path | Sequence[str | Path] | None = None,
    runs: str | Path | Sequence[str | Path] | Mapping[str, str | Path] | None = None,
    relevance: str | Path | Sequence[str | Path] | None = None,
    options: BuildOptions | None = None,
    preferences: str | Path | Sequence[str | Path] | None = None,
) -> Built:
    r"""Build a benchmark from votes on generated images, preferences, retrieval runs, or all three.

    A target column is `<model>_hbpp` (or `_rating`, `_score`, `_rate`, as the votes are put
    together), `<model>_p<k>` or `<model>_rr`, and `mean_...` over the models, null where one is.

    Args:
        judgments: A file, or several, as for `pqpp_datasets.own_benchmark.votes.read.read_votes`.
        runs: As for `read_runs`, a file, several, or model to file; needs `relevance`.
        relevance: As for `read_relevance`, likewise.
        options: How.
        preferences: As for `pqpp_datasets.own_benchmark.votes.preferences.read_preferences`.

    Raises:
        BenchmarkError: If nothing to build from came, a file is not as it must be, or no target
            has a value.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "judgments.csv"
        >>> _ = path.write_text("prompt,image,model,annotator,label\nA cat.,1.png,sdxl,ann,2\n")
        >>> built = build_benchmark(path, options=BuildOptions(scale="pqpp"))
        >>> built.splits["train"]["sdxl_hbpp"].to_pylist()
        [2.0]
    """
    options = options or BuildOptions()
    given = {
        "judgments": judgments,
        "preferences": preferences,
        "runs": runs,
        "relevance": relevance,
    }
    if (runs is None) != (relevance is None) or not any(
        path is not None for path in given.values()
    ):
        raise OptionError(
            "nothing to build from: give judgments, preferences, or runs together with relevance, "
            "or all of them"
        )
    inputs = {name: _paths(path) for name, path in given.items() if path is not None}
    prompts, generation, retrieval, preferred = _scored(inputs, options)
    columns = prompts.identities()
    arrays = [pa.array(columns[name], kind) for name, kind in IDENTITIES.items()]
    targets = _targets(generation, retrieval, preferred, len(prompts.keys), options)
    empty = [target.name for target, values in targets.items() if np.isnan(values).all()]
    if len(empty) == len(targets):
        raise DataFileError(_nothing_scored(inputs, generation, retrieval))
    arrays += [pa.array(values, pa.float64(), from_pandas=True) for values in targets.values()]
    table = pa.table(arrays, names=[*IDENTITIES, *(target.name for target in targets)])
    table = with_targets(table, list(targets), split_rule(options.fractions, options.seed))
    of_row = np.array(prompts.splits(options.fractions, options.seed))
    splits = {name: table.filter(pa.array(of_row == name)) for name in options.fractions}
    return Built(
        {n: t for n, t in splits.items() if t.num_rows},
        generation,
        retrieval,
        options,
        tuple(targets),
        (*(path for paths in inputs.values() for _, path in paths), *_joined(options)),
        tuple(_warnings(splits, empty, options)),
        preferred,
    )


def _paths(given: str | Path | Sequence[str | Path] | Mapping[str, str | Path]) -> Files:
    """Return files, each with the model that it is given for, if any."""
    if isinstance(given, Mapping):
        return [(model, Path(path)) for model, path in given.items()]
    files = [given] if isinstance(given, str | Path) else given
    return [(None, Path(path)) for path in files]


def _joined(options: BuildOptions) -> list[Path]:
    """Return the other files that a benchmark is built from."""
    return [Path(path) for path in (options.prompts, options.images, options.labels) if path]


def _scored(
    inputs: Mapping[str, Files], options: BuildOptions
) -> tuple[Prompts, Generation | None, Retrieval | None, Preferences | None]:
    readers = {
        "judgments": read_votes,
        "preferences": read_preferences,
        "runs": read_runs,
        "relevance": read_relevance,
    }
    found = {name: readers[name](files, options) for name, files in inputs.items()}
    prompts = Prompts(options.same_text == "keep")
    for columns in found.values():
        prompts.learn(columns)
    generation = retrieval = preferred = None
    if "judgments" in found:
        generation = score_votes(found.pop("judgments"), prompts, options)
    if "runs" in found:
        retrieval = score_runs(found["runs"], found["relevance"], prompts, options)
    if "preferences" in found:
        preferred = score_preferences(found.pop("preferences"), prompts, options)
    return prompts, generation, retrieval, preferred


def _nothing_scored(inputs: Mapping[str, Files], generation, retrieval) -> str:
    """Say why no target has a value, and what to do."""
    reasons = []
    named = {name: " and ".join(str(p) for _, p in files) for name, files in inputs.items()}
    if generation:
        admitted = sum(not annotator.reasons for annotator in generation.annotators)
        reasons.append(
            f"{named['judgments']}: of {how_many(len(generation.annotators), 'annotator')} "
            f"outside the control group {admitted} are admitted, and none of these judged a "
            "generated image; give further judgments, or lower min_kappa or min_reference_share"
        )
    if retrieval:
        reasons.append(
            f"{named['runs']} and {named['relevance']}: no prompt stands in both; write text and "
            "source of a prompt alike"
        )
    return f"no target has a value ({'. '.join(reasons)})"


def _warnings(splits: Mapping[str, pa.Table], empty: list[str], options: BuildOptions) -> list[str]:
    prompts = sum(table.num_rows for table in splits.values())
    found = [
        f"the split {name} got no prompt: {options.fractions[name]:g} of {prompts} was asked for"
        for name, table in splits.items()
        if options.fractions[name] > 0 and not table.num_rows
    ]
    return [*found, *(f"the column {name} has no value for any prompt" for name in empty)]


def _targets(generation, retrieval, preferred, prompts: int, options) -> dict[Target, np.ndarray]:
    groups: dict[str, dict[str, np.ndarray]] = {}
    if generation:
        groups[generation.measure] = generation.scores
    if preferred:
        if "rate" in groups:
            raise OptionError(
                "preferences and yes-no votes both give targets called rate; build one of each"
            )
        groups["rate"] = preferred.scores
    if retrieval:
        groups[f"p{options.k}"] = retrieval.precision
        groups["rr"] = retrieval.reciprocal_rank
    found: dict[Target, np.ndarray] = {}
    limits = generation.limits if generation else None
    for measure, scores in groups.items():
        *columns, mean = targets_for(scores, measure, limits)
        own = []
        for values in scores.values():
            # Prompts that a later file brought have no value here.
            own.append(np.full(prompts, np.nan))
            own[-1][: len(values)] = values
        found |= dict(zip(columns, own, strict=True))
        if preferred and groups[measure] is preferred.scores:
            continue  # the mean of shares of wins is one half wherever all models were compared
        # The columns are rounded to 12 digits, so their mean is known to 11, where equal means tie.
        found[mean] = np.round(exact_mean(own), 11) if own else np.full(prompts, math.nan)
    return found
