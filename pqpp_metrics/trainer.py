"""Compute QPP measures in `transformers.Trainer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import qpp_values
from pqpp_metrics.functional._containers import mean_without_nan
from pqpp_metrics.functional._inputs import as_array, as_floats

MEASURES = ("pearson", "kendall", "spearman", "rmse")


def compute_metrics(prediction: Any, measures: Sequence[str] = MEASURES) -> dict[str, float]:
    """Return QPP measures of logits and labels, for `Trainer(compute_metrics=...)`.

    Logits and labels have the shape (n, targets) or (n,); (n, 1) and (n,) match. NaN labels are
    ignored. With several targets the result is the mean over those that have a value.

    Args:
        prediction: A `transformers.EvalPrediction`, or logits and labels. If the model has several
            outputs, the first one contains the logits.
        measures: Measures to compute, from "pearson", "spearman", "kendall", "smare", "rmse".

    Raises:
        MetricInputError: Shapes that differ, infinite values.

    Example:
        >>> compute_metrics(([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0]))["kendall"]
        1.0
    """
    logits, labels = prediction[0], prediction[1]
    if isinstance(logits, tuple):
        logits = logits[0]
    scores, truths = _to_table("predictions", logits), _to_table("label_ids", labels)
    if scores.shape != truths.shape:
        got = f"got {scores.shape} and {truths.shape}"
        raise MetricInputError(f"logits and labels must have the same shape; {got}")
    by_measure = qpp_values(scores, truths, measures)
    return {name: mean_without_nan(values) for name, values in by_measure.items()}


def _to_table(name, values):
    """Return values (n,) or (n, targets) as float64 (n, targets)."""
    array = as_array(name, values)
    table = as_floats(name, array, ndim=array.ndim if array.ndim in (1, 2) else 2, finite=False)
    return table[:, None] if table.ndim == 1 else table
