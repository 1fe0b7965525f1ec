"""Predicted against true values as SVG: points where they are few, cells where they are many."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_files.visible import visible
from pqpp_models.bench.experiments import Cell
from pqpp_models.bench.protocol import Predictions, Result, cell_values
from pqpp_models.bench.report.axes import Axis, clipped

Floats = NDArray[np.float64]
LEFT, RIGHT, TOP, BOTTOM = 46, 312, 8, 204
"""The frame of a panel, in units of about a pixel; the drawing is 320 by 248."""
FEW = 300
"""Up to so many prompts are points."""
GROUPS = 10
_CELL = 5.0  # the radius of a hexagon
_LEVELS = 5


def panel(
    predictions: Predictions,
    result: Result,
    title: str,
    references: Mapping[str, Sequence[float | None]],
    sources: Sequence[str] | None = None,
    in_units: bool = False,
) -> dict[str, Any]:
    """Return what the template draws: a predictor against the truth in one column of the table.

    Args:
        predictions: The predictions.
        result: The column.
        title: What the column is called.
        references: Target to one true value a prompt, None where there is none.
        sources: The source of each prompt; needed for a column of one source.
        in_units: Whether predictions are in the units of the target: then the line of equal values
            is drawn.
    """
    cell = Cell(result.label, result.predicted, result.target, result.source)
    pair = cell_values(predictions, cell, references[result.target], sources)
    predicted, true = map(clipped, pair)
    across = Axis.around(predicted, LEFT, RIGHT)
    up = Axis.around(true, BOTTOM, TOP)
    groups = calibration(predicted, true)
    xs, ys = across.at(predicted), up.at(true)
    return {
        "title": title,
        "result": result,
        "alt": _alt(predictions.predictor, title, len(true), groups),
        "across": across.ticks(),
        "up": up.ticks(),
        "points": points(xs, ys) if len(true) <= FEW else "",
        "cells": cells(xs, ys) if len(true) > FEW else [],
        "equal": _equal(across, up) if in_units and len(true) else None,
        "groups": [
            {
                "x": float(across.at(x)),
                "y": float(up.at(y)),
                "low": float(np.clip(up.at(low), TOP, BOTTOM)),
                "high": float(np.clip(up.at(high), TOP, BOTTOM)),
                "text": f"predicted {x:.3g}: mean true value {y:.3g} ({low:.3g} to {high:.3g})",
            }
            for x, y, low, high in groups
        ],
    }


def calibration(predicted: Floats, true: Floats) -> list[tuple[float, float, float, float]]:
    """Return ten groups of equally many prompts, by predicted value, where there are twenty.

    Args:
        predicted: One value a prompt.
        true: One value a prompt.

    Returns:
        Of each group the mean predicted and the mean true value, and its 95 % interval by
        Student's t.

    Example:
        >>> values = np.repeat(np.arange(10.0), 2)
        >>> calibration(values, values + [0.0, 1.0] * 10)[0][:2]
        (0.0, 0.5)
    """
    if len(predicted) < 2 * GROUPS:
        return []
    from scipy.stats import t

    bins = []
    for some in np.array_split(np.argsort(predicted, kind="stable"), GROUPS):
        n, mean = len(some), float(true[some].mean())
        reach = float(t.ppf(0.975, n - 1) * true[some].std(ddof=1) / np.sqrt(n))
        bins.append((float(predicted[some].mean()), mean, mean - reach, mean + reach))
    return bins


def points(xs: Floats, ys: Floats) -> list[str]:
    """Return a path for each point, without a length: its line has round ends.

    Example:
        >>> points(np.array([1.0]), np.array([2.25]))
        ['M1 2.2h0']
    """
    return [f"M{x:.4g} {y:.4g}h0" for x, y in zip(np.round(xs, 1), np.round(ys, 1), strict=True)]


def cells(xs: Floats, ys: Floats) -> list[dict[str, Any]]:
    """Return hexagons by how many points lie in them: five steps by the root of the count.

    Args:
        xs: Places across.
        ys: Places down.

    Returns:
        Of each step that is met its `level` (1 to 5), the least and the greatest count in it, `low`
        and `high`, and the `path` of its hexagons.

    Example:
        >>> near = np.zeros(4)
        >>> [(one["level"], one["low"], one["high"]) for one in cells(near, near)]
        [(5, 4, 4)]
    """
    dx, dy = np.sqrt(3) * _CELL, 1.5 * _CELL
    even = np.column_stack([np.round(xs / dx) * dx, np.round(ys / (2 * dy)) * 2 * dy])
    odd = np.column_stack([(np.floor(xs / dx) + 0.5) * dx, (np.floor(ys / (2 * dy)) * 2 + 1) * dy])
    at = np.column_stack([xs, ys])
    nearer = ((at - even) ** 2).sum(1) <= ((at - odd) ** 2).sum(1)
    centres, counts = np.unique(
        np.round(np.where(nearer[:, None], even, odd), 3), axis=0, return_counts=True
    )
    levels = np.ceil(_LEVELS * np.sqrt(counts / counts.max())).astype(int)
    half = round(float(dx) / 2, 1)
    hexagon = f"l{half} 2.5v5l-{half} 2.5-{half}-2.5v-5z"
    return [
        {
            "level": level,
            "low": int(counts[levels == level].min()),
            "high": int(counts[levels == level].max()),
            "path": "".join(
                f"M{x:.1f} {y - _CELL:.1f}{hexagon}" for x, y in centres[levels == level]
            ),
        }
        for level in np.unique(levels).tolist()
    ]


def _equal(across: Axis, up: Axis) -> dict[str, float] | None:
    """Return where the line of equal values enters and leaves the frame."""
    low, high = max(across.low, up.low), min(across.high, up.high)
    if low >= high:
        return None
    ends = {"x1": across.at(low), "y1": up.at(low), "x2": across.at(high), "y2": up.at(high)}
    return {name: float(value) for name, value in ends.items()}


def _alt(name: str, title: str, n: int, groups: Sequence[tuple[float, ...]]) -> str:
    words = f"{visible(name)}, {title}: true against predicted values of {n} prompts."
    if groups:
        first, last = groups[0][1], groups[-1][1]
        words += (
            f" From the tenth of lowest predictions to that of the highest the mean true value "
            f"goes from {first:.3g} to {last:.3g}."
        )
    return words
