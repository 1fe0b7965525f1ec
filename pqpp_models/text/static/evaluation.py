"""Scores of a predictor that is trained on PQPP, in and out of its domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.targets import TARGETS
from pqpp_models.text.collection_data import Benchmark

_Z90 = 1.6449
_RESAMPLES = 2000


def evaluate(predictor: Any, benchmark: Benchmark, folders: Mapping[str, Any]) -> dict[str, Any]:
    """Score a predictor on validation, and on DrawBench and GIMBRR where their folders are given.

    Args:
        predictor: one with ``predict_with_uncertainty`` and ``is_far``.
        benchmark: holds the validation split.
        folders: ``drawbench_dir`` and ``gimbrr_dir``.
    """
    found = predictor.predict_with_uncertainty(benchmark.validation)
    true = benchmark.validation_targets
    far = found.distance > np.median(found.distance)
    scores: dict[str, Any] = {
        "validation": correlations(found.values, true),
        "validation_near": correlations(found.values[~far], true[~far])["mean"],
        "validation_far": correlations(found.values[far], true[far])["mean"],
        "coverage_validation": coverage(found.values, found.deviations, true),
    }
    if folders.get("drawbench_dir"):
        scores["drawbench"] = _outside(predictor, *_drawbench(folders["drawbench_dir"]))
    if folders.get("gimbrr_dir"):
        prompts, rates, tasks = _gimbrr(folders["gimbrr_dir"])
        scores["gimbrr"] = _outside(predictor, prompts, 3 * rates - 1)
        predicted = predictor.predict(prompts, "mean_hbpp")[:, 0]
        within = [
            spearman(predicted[tasks == task], rates[tasks == task])
            for task in np.unique(tasks)
            if rates[tasks == task].std() > 0
        ]
        scores["gimbrr"]["within_tasks"] = _rounded(np.mean(within))
    return scores


def correlations(
    predicted: NDArray[np.float64], true: NDArray[np.float64]
) -> dict[str, list[float]]:
    """Return Pearson's and Kendall's coefficient of each target and their means."""
    from pqpp_metrics.functional import kendall_qpp, pearson_qpp

    rows = {}
    for column, target in enumerate(TARGETS):
        pair = predicted[:, column], true[:, column]
        rows[target] = [pearson_qpp(*pair)["pearson_qpp"], kendall_qpp(*pair)["kendall_qpp"]]
    rows["mean"] = np.mean(list(rows.values()), axis=0).tolist()
    return {name: [_rounded(value) for value in row] for name, row in rows.items()}


def coverage(
    values: NDArray[np.float64], deviations: NDArray[np.float64], true: NDArray[np.float64]
) -> float:
    """Return the share of true values that lie within 1.645 deviations."""
    return _rounded((np.abs(true - values) <= _Z90 * deviations).mean())


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return Spearman's rank correlation.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 8.0, 9.0]))
    1.0
    """
    from scipy.stats import rankdata

    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1].round(12))


def _outside(predictor: Any, prompts: list[str], true: NDArray[np.float64]) -> dict[str, Any]:
    found = predictor.predict_with_uncertainty(prompts, "mean_hbpp")
    values, deviations = found.values[:, 0], found.deviations[:, 0]
    random = np.random.default_rng(0)
    draws = random.integers(0, len(true), size=(_RESAMPLES, len(true)))
    resampled = [spearman(values[draw], true[draw]) for draw in draws]
    return {
        "prompts": len(true),
        "spearman": _rounded(spearman(values, true)),
        "interval": [_rounded(value) for value in np.quantile(resampled, [0.025, 0.975])],
        "coverage": coverage(values, deviations, true),
        "far": _rounded(predictor.is_far(found.distance).mean()),
    }


def _drawbench(folder: str) -> tuple[list[str], NDArray[np.float64]]:
    from datasets import load_dataset

    import pqpp_datasets.registration

    pqpp_datasets.registration.register()
    table = load_dataset("pqpp", "pqpp", data_dir=folder, split="train+validation")
    rows = [row for row in table if row["source"] == "drawbench" and row["mean_hbpp"] is not None]
    return [row["prompt"] for row in rows], np.array([row["mean_hbpp"] for row in rows])


def _gimbrr(folder: str) -> tuple[list[str], NDArray[np.float64], NDArray[np.str_]]:
    from datasets import load_dataset

    import pqpp_datasets.registration

    pqpp_datasets.registration.register()
    votes: dict[tuple[str, str], list[bool]] = {}
    for split in load_dataset("pqpp", "gimbrr-annotations", data_dir=folder).values():
        for row in split:
            if row["matched"] is not None and not row["task"].startswith("Controlled"):
                votes.setdefault((row["prompt"], row["task"]), []).append(row["matched"])
    rates = np.array([np.mean(one) for one in votes.values()])
    return [key[0] for key in votes], rates, np.array([key[1] for key in votes])


def _rounded(value: float) -> float:
    return round(float(value), 4)
