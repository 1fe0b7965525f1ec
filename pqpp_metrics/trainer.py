"""The QPP measures for `transformers.Trainer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import qpp_values
from pqpp_metrics.functional._containers import Floats, mean_of_defined
from pqpp_metrics.functional._inputs import as_array, as_floats

MEASURES = ("pearson", "kendall", "spearman", "rmse")


class TrainerMetrics:
    """A callable for `Trainer(compute_metrics=...)`, also with `batch_eval_metrics=True`.

    Logits and labels have the shape (n, targets) or (n,); (n, 1) and (n,) match. NaN labels are
    ignored. With several targets the result is the mean over those that have a value.

    Args:
        measures: Which to compute: of "pearson", "spearman", "kendall", "smare", "rmse".

    Example:
        >>> metrics = TrainerMetrics(["pearson", "rmse"])
        >>> metrics(([[1.0], [2.0]], [1.0, 3.0]), compute_result=False)
        {}
        >>> found = metrics(([[3.0], [4.0]], [2.0, 4.0]), compute_result=True)
        >>> {name: round(value, 3) for name, value in found.items()}
        {'pearson': 0.8, 'rmse': 0.707}
    """

    def __init__(self, measures: Sequence[str] = MEASURES) -> None:
        self.measures = measures
        self._batches: list[tuple[Floats, Floats]] = []

    def __call__(self, prediction: Any, compute_result: bool = True) -> dict[str, float]:
        """Return the measures of all batches since the last result.

        Args:
            prediction: A `transformers.EvalPrediction`, or logits and labels. Of several outputs
                of a model the first is taken for the logits.
            compute_result: Whether this is the last batch; before it the result is empty.

        Raises:
            MetricInputError: Shapes that differ, infinite values.
        """
        logits, labels = prediction[0], prediction[1]
        if isinstance(logits, tuple):
            logits = logits[0]
        scores, truths = _table("predictions", logits), _table("label_ids", labels)
        if scores.shape != truths.shape:
            came = f"logits of shape {scores.shape} and labels of {truths.shape}"
            raise MetricInputError(f"{came}; give a logit for each label")
        self._batches.append((scores, truths))
        if not compute_result:
            return {}
        columns = [np.concatenate(parts) for parts in zip(*self._batches, strict=True)]
        self._batches = []
        by_measure = qpp_values(columns[0], columns[1], self.measures)
        return {name: mean_of_defined(values) for name, values in by_measure.items()}


def compute_metrics(prediction: Any) -> dict[str, float]:
    """Return Pearson, Kendall, Spearman and RMSE of logits and labels, for `transformers.Trainer`.

    Args:
        prediction: As in `TrainerMetrics`.

    Example:
        >>> compute_metrics(([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0]))["kendall"]
        1.0
    """
    return TrainerMetrics()(prediction)


def _table(name, values):
    """Values (n,) or (n, targets) as float64 (n, targets)."""
    array = as_array(name, values)
    table = as_floats(name, array, ndim=array.ndim if array.ndim in (1, 2) else 2, finite=False)
    return table[:, None] if table.ndim == 1 else table
