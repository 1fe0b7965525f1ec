"""From raw files to the splits of a benchmark."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.means import exact_mean
from pqpp_datasets.own_benchmark.generation import Generation, score_votes
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import Prompts
from pqpp_datasets.own_benchmark.retrieval import Retrieval, read_relevance, read_runs, score_runs
from pqpp_datasets.own_benchmark.splits import split_rule
from pqpp_datasets.own_benchmark.votes.read import read_votes
from pqpp_datasets.pqpp import IDENTITIES
from pqpp_datasets.target_columns import Target, targets_for, with_targets


@dataclass(frozen=True)
class Built:
    """A benchmark that was built.

    Attributes:
        splits: Split to its table, PQPP's identity columns and then one column per target; those
            that got no prompt are left out.
        generation: What came of the judgments, or None.
        retrieval: What came of the runs, or None.
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

    @property
    def notes(self) -> tuple[str, ...]:
        """How the votes were read, a line each: the scale, what was left out."""
        return self.generation.notes if self.generation else ()


def build_benchmark(
    judgments: str | Path | Sequence[str | Path] | None = None,
    runs: str | Path | None = None,
    relevance: str | Path | None = None,
    options: BuildOptions | None = None,
) -> Built:
    r"""Build a benchmark from judgments of generated images, from retrieval runs, or from both.

    A target column is `<model>_hbpp` (or `_rating`, `_score`, `_rate`, as the votes are put
    together), `<model>_p<k>` or `<model>_rr`, and `mean_...` over the models, null where one is.

    Args:
        judgments: A file, or several, as for `pqpp_datasets.own_benchmark.votes.read.read_votes`.
        runs: As for `read_runs`; needs `relevance`.
        relevance: As for `read_relevance`.

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
    if (runs is None) != (relevance is None) or (judgments is None and runs is None):
        raise OptionError(
            "nothing to build from: give judgments, or runs together with relevance, or all three"
        )
    given = {"judgments": judgments, "runs": runs, "relevance": relevance}
    inputs = {name: _paths(path) for name, path in given.items() if path is not None}
    prompts, generation, retrieval = _scored(inputs, options)
    columns = prompts.identities()
    arrays = [pa.array(columns[name], kind) for name, kind in IDENTITIES.items()]
    targets = _targets(generation, retrieval, len(prompts.keys), options)
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
        (*(path for paths in inputs.values() for path in paths), *_joined(options)),
        tuple(_warnings(splits, empty, options)),
    )


def _paths(given: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(given)] if isinstance(given, str | Path) else [Path(path) for path in given]


def _joined(options: BuildOptions) -> list[Path]:
    """Return the other files that a benchmark is built from."""
    return [Path(path) for path in (options.prompts, options.images, options.labels) if path]


def _scored(
    inputs: Mapping[str, list[Path]], options: BuildOptions
) -> tuple[Prompts, Generation | None, Retrieval | None]:
    readers = {
        "judgments": lambda paths: read_votes(paths, options),
        "runs": lambda paths: read_runs(*paths),
        "relevance": lambda paths: read_relevance(*paths),
    }
    found = {name: readers[name](paths) for name, paths in inputs.items()}
    prompts = Prompts(options.same_text == "keep")
    for columns in found.values():
        prompts.learn(columns)
    generation = retrieval = None
    if "judgments" in found:
        generation = score_votes(found.pop("judgments"), prompts, options)
    if "runs" in found:
        retrieval = score_runs(found["runs"], found["relevance"], prompts, options)
    return prompts, generation, retrieval


def _nothing_scored(inputs: Mapping[str, list[Path]], generation, retrieval) -> str:
    """Say why no target has a value, and what to do."""
    reasons = []
    named = {name: " and ".join(map(str, paths)) for name, paths in inputs.items()}
    if generation:
        admitted = sum(not annotator.reasons for annotator in generation.annotators)
        reasons.append(
            f"{named['judgments']}: of {len(generation.annotators)} annotators outside the "
            f"control group {admitted} are admitted, and none of these judged a generated image; "
            "give further judgments, or lower min_kappa or min_reference_share"
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


def _targets(generation, retrieval, prompts: int, options) -> dict[Target, np.ndarray]:
    groups: dict[str, dict[str, np.ndarray]] = {}
    if generation:
        groups[generation.measure] = generation.scores
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
        found[mean] = exact_mean(own) if own else np.full(prompts, math.nan)
    return found
