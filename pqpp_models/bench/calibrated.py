"""What a predictor that knows how sure it is scores, in and out of its domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.bench.generalisation import (
    ScoredPrompts,
    evaluate_generalisation,
    gimbrr_match_rates,
    pqpp_sets,
)
from pqpp_models.training.data import correlations

_Z90 = 1.6449
TARGET = "mean_hbpp"


def evaluate_calibrated(
    predictor: Any,
    prompts: Sequence[str],
    true: NDArray[np.float64],
    others: Mapping[str, ScoredPrompts],
) -> dict[str, Any]:
    """Score a predictor on prompts that it was not fitted to, and on sets of another kind.

    Args:
        predictor: one with ``predict_with_uncertainty``.
        prompts: those of validation.
        true: their targets, shape ``(prompts, targets)``.
        others: sets by name, with scores in the units of `TARGET`.

    Returns:
        Pearson's and Kendall's coefficient of each target and their means on ``validation``, of the
        means also for its half that is nearer to the training, ``validation_near``, and the farther
        one; the share of true values within 1.645 deviations, ``coverage_validation``; and what
        concerns each other set, by its name.
    """
    found = predictor.predict_with_uncertainty(prompts)
    far = found.distance > np.median(found.distance)

    def scores(rows: Any) -> dict[str, list[float]]:
        return score_table(found.values[rows], true[rows], predictor.targets)

    return {
        "validation": scores(slice(None)),
        "validation_near": scores(~far)["mean"],
        "validation_far": scores(far)["mean"],
        "coverage_validation": coverage(found.values, found.deviations, true),
        **{name: _other(predictor, one) for name, one in others.items()},
    }


def score_table(
    predicted: NDArray[np.float64], true: NDArray[np.float64], targets: Sequence[str]
) -> dict[str, list[float]]:
    """Return Pearson's and Kendall's coefficient of each target, and their means as ``mean``."""
    found = correlations(predicted, true, targets)
    pairs = {name: (f"{name}_pearson", f"{name}_kendall") for name in targets}
    pairs["mean"] = ("pearson", "kendall")
    return {name: [_rounded(found[key]) for key in pair] for name, pair in pairs.items()}


def coverage(
    values: NDArray[np.float64], deviations: NDArray[np.float64], true: NDArray[np.float64]
) -> float:
    """Return the share of true values that lie within 1.645 deviations.

    >>> coverage(np.array([0.0, 0.0]), np.array([1.0, 1.0]), np.array([1.6, 1.7]))
    0.5
    """
    return _rounded((np.abs(true - values) <= _Z90 * deviations).mean())


def drawbench_and_gimbrr(
    drawbench_dir: str | None, gimbrr_dir: str | None
) -> dict[str, ScoredPrompts]:
    """Read the sets whose folders are given: DrawBench's HBPP, and GIMBRR's rates as 3r - 1."""
    from pqpp_datasets.load import load_benchmark

    sets = {}
    if drawbench_dir:
        found = load_benchmark("pqpp", data_dir=drawbench_dir)
        splits = {name: found[name] for name in ("train", "validation")}  # test is held out
        sets = {one.name: one for one in pqpp_sets(splits, "validation", TARGET)}
        sets = {"drawbench": sets["drawbench"]}
    if gimbrr_dir:
        rates = gimbrr_match_rates(load_benchmark("gimbrr-annotations", data_dir=gimbrr_dir))
        sets["gimbrr"] = replace(rates, scores=[3 * rate - 1 for rate in rates.scores])
    return sets


def _other(predictor: Any, one: ScoredPrompts) -> dict[str, Any]:
    (result,) = evaluate_generalisation({predictor.name: predictor}, [one], TARGET)
    found = predictor.predict_with_uncertainty(list(one.prompts), TARGET)
    interval = (result.spearman_ci_low, result.spearman_ci_high)
    told = {
        "prompts": result.n,
        "spearman": _rounded(result.spearman),
        "interval": [_rounded(value) for value in interval],
        "coverage": coverage(found.values[:, 0], found.deviations[:, 0], np.array(one.scores)),
        "far": _rounded(found.far.mean()),
    }
    if one.groups is not None:
        told["within_tasks"] = _rounded(result.spearman_within_groups)
    return told


def _rounded(value: float) -> float:
    return round(float(value), 4)
