"""The five measures of a performance predictor: the one set that everything here chooses from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pqpp_metrics.functional._inputs import (
    as_floats,
    as_list,
    require_choice,
    require_same_shape,
    to_numpy,
)
from pqpp_metrics.functional._statistics import TIE_TOLERANCE
from pqpp_metrics.functional._types import Floats, Values
from pqpp_metrics.functional.correlation import kendall_qpp, pearson_qpp, spearman_qpp
from pqpp_metrics.functional.prediction_error import rmse_qpp, smare

MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    "pearson": pearson_qpp,
    "spearman": spearman_qpp,
    "kendall": kendall_qpp,
    "smare": smare,
    "rmse": rmse_qpp,
}
OF_RANKS = ("spearman", "kendall", "smare")


def qpp_report(
    predictions: Values,
    references: Values,
    confidence: float = 0.95,
    measures: Sequence[str] = tuple(MEASURES),
    tie_tolerance: float = TIE_TOLERANCE,
    interval: str = "influence",
) -> dict[str, dict[str, float]]:
    """Pearson, Spearman, Kendall, sMARE and RMSE of a predictor, with intervals and p-values.

    PQPP, section 3.3, reports Pearson and Kendall; the others are those of the QPP literature.

    Args:
        confidence: Level of the intervals, between 0 and 1.
        measures: Which to compute: of "pearson", "spearman", "kendall", "smare", "rmse".
        tie_tolerance: As for `kendall_qpp`, in the measures of ranks.
        interval: "influence" (default), which assumes no distribution, or "classic", Fisher's z
            and Student's t.

    Returns:
        dict of "pearson_qpp", "spearman_qpp", "kendall_qpp", "smare" and "rmse_qpp", each the
        dict that the function of this name returns, without sMARE's scores of single queries.

    Raises:
        MetricInputError: as `pearson_qpp`, or an unknown measure.

    Example:
        >>> report = qpp_report([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> [round(result[name], 3) for name, result in report.items()]
        [0.9, 0.9, 0.8, 0.08, 0.632]
    """
    report = {}
    measures = as_list("measures", measures)
    for name in measures:
        require_choice("measures", name, tuple(MEASURES))
        measure = MEASURES[name]
        ranks = {"tie_tolerance": tie_tolerance} if name in OF_RANKS else {}
        options = {"confidence": confidence, "interval": interval, **ranks}
        result = measure(predictions, references, **options)
        result.pop("scores", None)
        report[measure.__name__] = result
    return report


def qpp_values(
    predictions: Values,
    references: Values,
    measures: Sequence[str] = ("pearson", "kendall"),
    tie_tolerance: float = TIE_TOLERANCE,
) -> dict[str, Floats]:
    """The bare values of QPP measures, of each column of predictions.

    Args:
        predictions: Predicted performance, shape (n, targets).
        references: True performance, same shape, NaN where there is none: the row is left out
            of its column.
        measures: Which to compute: of "pearson", "spearman", "kendall", "smare", "rmse".
        tie_tolerance: As for `kendall_qpp`, in the measures of ranks.

    Returns:
        dict of measure to float64 array (targets,), in the order asked for; NaN for a column
        with fewer than two true values, and where a measure is undefined.

    Raises:
        MetricInputError: shapes that differ, an infinity, a NaN among the predictions that
            count, an unknown measure.

    Example:
        >>> found = qpp_values([[1, 4], [2, 3], [3, 5]], [[1, 1], [2, 2], [4, float("nan")]])
        >>> {name: values.round(3).tolist() for name, values in found.items()}
        {'pearson': [0.982, -1.0], 'kendall': [1.0, -1.0]}
    """
    measures = as_list("measures", measures)
    for name in measures:
        require_choice("measures", name, tuple(MEASURES))
    x = to_numpy(as_floats("predictions", predictions, ndim=2)).astype(np.float64, copy=False)
    y = to_numpy(as_floats("references", references, ndim=2)).astype(np.float64, copy=False)
    require_same_shape(predictions=x, references=y)
    values = {name: np.full(x.shape[1], math.nan) for name in measures}
    for column in range(x.shape[1]):
        known = ~np.isnan(y[:, column])
        if known.sum() < 2:
            continue
        pair = x[known, column], y[known, column]
        report = qpp_report(*pair, measures=measures, tie_tolerance=tie_tolerance)
        for name in measures:
            function = MEASURES[name].__name__
            values[name][column] = report[function][function]
    return values
