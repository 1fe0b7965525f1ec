"""From raw files to the splits of a benchmark."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.means import exact_mean
from pqpp_datasets.own_benchmark import admission
from pqpp_datasets.own_benchmark.generation import Generation, read_judgments, score_judgments
from pqpp_datasets.own_benchmark.prompts import Prompts
from pqpp_datasets.own_benchmark.retrieval import Retrieval, read_relevance, read_runs, score_runs
from pqpp_datasets.own_benchmark.splits import FRACTIONS, split_rule, stratified_split
from pqpp_datasets.pqpp import IDENTITIES
from pqpp_datasets.target_columns import Target, targets_for, with_targets


@dataclass(frozen=True)
class BuildOptions:
    """How judgments become a benchmark.

    Attributes:
        reference_model: The `model` of the reference images in the judgments.
        min_kappa: The least Cohen's kappa of an annotator with each of the control group.
        min_reference_share: The share of reference images to be called highly relevant, exceeded.
        best: How many annotators of a prompt count.
        vote_ties: What an even vote does, as in `pqpp_metrics.functional.hbpp`.
        k: The cut-off of the precision.
        min_relevant_votes: How many votes make an image relevant.
        rank_ties: How equal scores are ordered, as in `pqpp_metrics.functional.precision_at_k`.
        fractions: Split to its share of each source's prompts.
    """

    reference_model: str = "reference"
    min_kappa: float = admission.MIN_KAPPA
    min_reference_share: float = admission.MIN_REFERENCE_SHARE
    best: int = admission.BEST
    vote_ties: str = "mean"
    k: int = 10
    min_relevant_votes: int = 1
    rank_ties: str = "expected"
    fractions: Mapping[str, float] = field(default_factory=lambda: dict(FRACTIONS))
    seed: int = 0

    def __post_init__(self):
        for name, low, high in (("min_kappa", -1, 1), ("min_reference_share", 0, 1)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise OptionError(f"{name}={value}: a number from {low} to {high} is allowed")
        for name in ("best", "k", "min_relevant_votes"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}={getattr(self, name)}: 1 or more is allowed")


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


def build_benchmark(
    judgments: str | Path | None = None,
    runs: str | Path | None = None,
    relevance: str | Path | None = None,
    options: BuildOptions | None = None,
) -> Built:
    r"""Build a benchmark from judgments of generated images, from retrieval runs, or from both.

    A target column is `<model>_hbpp`, `<model>_p<k>` or `<model>_rr`, and `mean_...` over the
    models, null where one of them is.

    Args:
        judgments: As for `read_judgments`.
        runs: As for `read_runs`; needs `relevance`.
        relevance: As for `read_relevance`.

    Raises:
        BenchmarkError: If nothing to build from came, a file is not as it must be, or no target
            has a value.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "judgments.csv"
        >>> _ = path.write_text("prompt,image,model,annotator,label\nA cat.,1.png,sdxl,ann,2\n")
        >>> built = build_benchmark(path)
        >>> built.splits["train"]["sdxl_hbpp"].to_pylist()
        [2.0]
    """
    options = options or BuildOptions()
    if (runs is None) != (relevance is None) or (judgments is None and runs is None):
        raise OptionError(
            "nothing to build from: give judgments, or runs together with relevance, or all three"
        )
    given = {"judgments": judgments, "runs": runs, "relevance": relevance}
    inputs = {name: Path(path) for name, path in given.items() if path is not None}
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
    of_row = np.array(
        stratified_split(prompts.split_keys(), columns["source"], options.fractions, options.seed)
    )
    splits = {name: table.filter(pa.array(of_row == name)) for name in options.fractions}
    return Built(
        {n: t for n, t in splits.items() if t.num_rows},
        generation,
        retrieval,
        options,
        tuple(targets),
        tuple(inputs.values()),
        tuple(_warnings(splits, empty, options)),
    )


def _scored(
    inputs: Mapping[str, Path], options: BuildOptions
) -> tuple[Prompts, Generation | None, Retrieval | None]:
    readers = {"judgments": read_judgments, "runs": read_runs, "relevance": read_relevance}
    found = {name: readers[name](path) for name, path in inputs.items()}
    prompts = Prompts()
    for columns in found.values():
        prompts.learn(columns)
    generation = retrieval = None
    if "judgments" in found:
        path = inputs["judgments"]
        generation = score_judgments(path, found["judgments"], prompts, options)
    if "runs" in found:
        retrieval = score_runs(
            inputs["runs"], found["runs"], inputs["relevance"], found["relevance"], prompts, options
        )
    return prompts, generation, retrieval


def _nothing_scored(inputs: Mapping[str, Path], generation, retrieval) -> str:
    """Say why no target has a value, and what to do."""
    reasons = []
    if generation:
        admitted = sum(not annotator.reasons for annotator in generation.annotators)
        reasons.append(
            f"{inputs['judgments']}: of {len(generation.annotators)} annotators outside the "
            f"control group {admitted} are admitted, and none of these judged a generated image; "
            "give further judgments, or lower min_kappa or min_reference_share"
        )
    if retrieval:
        reasons.append(
            f"{inputs['runs']} and {inputs['relevance']}: no prompt stands in both; write text and "
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
        groups["hbpp"] = generation.scores
    if retrieval:
        groups[f"p{options.k}"] = retrieval.precision
        groups["rr"] = retrieval.reciprocal_rank
    found: dict[Target, np.ndarray] = {}
    for measure, scores in groups.items():
        *columns, mean = targets_for(scores, measure)
        own = []
        for values in scores.values():
            # Prompts that a later file brought have no value here.
            own.append(np.full(prompts, np.nan))
            own[-1][: len(values)] = values
        found |= dict(zip(columns, own, strict=True))
        found[mean] = exact_mean(own) if own else np.full(prompts, math.nan)
    return found
