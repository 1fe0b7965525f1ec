"""A predictor's space in two dimensions as SVG, coloured by performance in five equal parts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_files.visible import visible
from pqpp_models.bench.protocol import Predictions, Result
from pqpp_models.bench.report.axes import Axis
from pqpp_models.bench.report.panels import points

_SIDE = 300
_PARTS = 5
_NEAREST = 10


def space_panels(
    predictions: Predictions,
    space: NDArray,
    references: Mapping[str, Sequence[float | None]],
    results: Sequence[Result],
    titles: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return what the template draws: the space once by true and once by predicted values.

    The first column of each measure that the predictor has is taken.

    Args:
        one: The predictions of the predictor.
        space: Its space in two dimensions, a point a prompt.
        references: Target to one true value a prompt, None where there is none.
        results: The results.
        titles: Column to what it is called.
    """
    first: dict[str, Result] = {}
    for result in results:
        if result.predictor == predictions.predictor and result.predicted in predictions.targets:
            first.setdefault(result.predicted.rsplit("_", 1)[-1], result)
    shown = []
    for result in first.values():
        predicted = predictions.values[:, predictions.targets.index(result.predicted)]
        true = [np.nan if value is None else value for value in references[result.target]]
        for word, values in (("true", np.array(true, float)), ("predicted", predicted)):
            title = f"{titles[result.label]}, {word}"
            shown.append(_panel(visible(predictions.predictor), space, title, values))
    return shown


def _panel(name: str, space: NDArray, title: str, values: NDArray) -> dict[str, Any]:
    known = ~np.isnan(values)
    at, values = space[known], values[known]
    xs, ys = (Axis.around(side, 4, _SIDE - 4).at(side) for side in at.T)
    edges = np.quantile(values, np.arange(1, _PARTS) / _PARTS) if len(values) else []
    parts = np.searchsorted(edges, values, side="left")
    caption = f"{name}, t-SNE: {len(values)} prompts by {title} value."
    alike = neighbours_alike(at, values)
    if alike is not None:
        caption += (
            f" A prompt's value and the mean of its {_NEAREST} nearest in the picture correlate by "
            f"{alike:.2f}."
        )
    return {
        "title": title,
        "alt": caption,
        "side": _SIDE,
        "parts": [
            {
                "part": part + 1,
                "low": float(values[parts == part].min()),
                "high": float(values[parts == part].max()),
                "path": "".join(points(xs[parts == part], ys[parts == part])),
            }
            for part in np.unique(parts).tolist()
        ],
    }


def neighbours_alike(at: NDArray, values: NDArray) -> float | None:
    """Return the correlation of values with the mean of the ten nearest points; None for few.

    Args:
        at: Points, shape ``(rows, 2)``.
        values: One a point.

    Example:
        >>> line = np.column_stack([np.arange(40.0), np.zeros(40)])
        >>> round(neighbours_alike(line, np.arange(40.0)), 2)
        0.99
    """
    from scipy.spatial import cKDTree

    if len(values) <= _NEAREST or np.ptp(values) == 0:
        return None
    nearest = cKDTree(at).query(at, _NEAREST + 1)[1][:, 1:]
    means = values[nearest].mean(axis=1)
    return float(np.corrcoef(values, means)[0, 1]) if np.ptp(means) else None
