"""The charts of a report in SVG: the ranking, predicted against true values, and spaces."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_datasets.target_columns import is_mean
from pqpp_files.visible import visible
from pqpp_models.bench.experiments import Cell
from pqpp_models.bench.protocol import Predictions, Result, cell_values
from pqpp_models.bench.published import PublishedResult
from pqpp_models.bench.rows import Figure, interval_of, labels_of

_DRAWN = 1e100  # beyond it differences of floats overflow


@dataclass(frozen=True)
class Axis:
    """A linear axis.

    Attributes:
        low: The least value.
        high: The greatest value.
        start: Where the least one is drawn.
        stop: Where the greatest one is.
    """

    low: float
    high: float
    start: float
    stop: float

    @classmethod
    def around(cls, values: ArrayLike, start: float, stop: float, room: float = 0.04) -> Self:
        """Return the axis that holds some values, with a share of it as room at both ends.

        Example:
            >>> Axis.around([0.0, 1.0], 0, 100, room=0).at(0.25)
            25.0
            >>> Axis.around([], 0, 100).ticks()[0]
            (0.0, '0')
        """
        known = np.asarray(values, dtype=float).clip(-_DRAWN, _DRAWN)
        known = known[~np.isnan(known)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        if high <= low:
            reach = abs(low) / 2 or 0.5
            low, high = low - reach, high + reach
        room = room * (high - low) if len(known) else 0.0
        return cls(low - room, high + room, start, stop)

    def at(self, values: Any) -> Any:
        """Return where a value is drawn, or each of an array."""
        share = (values - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Return up to so many round values: where each is drawn, and its text.

        Example:
            >>> Axis(0.0, 1.0, 0.0, 10.0).ticks()
            [(0.0, '0'), (2.5, '0.25'), (5.0, '0.5'), (7.5, '0.75'), (10.0, '1')]
        """
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        for factor in (1, 2, 2.5, 5, 10):
            step = factor * power
            first = math.ceil(self.low / step - 1e-9)
            last = math.floor(self.high / step + 1e-9)
            if last - first < most:
                break
        values = [n * step for n in range(first, last + 1)]
        return [(float(self.at(value)), f"{value:.4g}") for value in values]


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
    predicted, true = (side.clip(-_DRAWN, _DRAWN) for side in pair)
    across = Axis.around(predicted, LEFT, RIGHT)
    up = Axis.around(true, BOTTOM, TOP)
    groups = calibration(predicted, true)
    words = f"{visible(predictions.predictor)}, {title}: true against predicted values of "
    words += f"{len(true)} prompts."
    if groups:
        words += (
            f" From the tenth of lowest predictions to that of the highest the mean true value "
            f"goes from {groups[0][1]:.3g} to {groups[-1][1]:.3g}."
        )
    low, high = max(across.low, up.low), min(across.high, up.high)
    ends = {"x1": across.at(low), "y1": up.at(low), "x2": across.at(high), "y2": up.at(high)}
    xs, ys = across.at(predicted), up.at(true)
    return {
        "title": title,
        "result": result,
        "alt": words,
        "across": across.ticks(),
        "up": up.ticks(),
        "points": points(xs, ys) if len(true) <= FEW else "",
        "cells": cells(xs, ys) if len(true) > FEW else [],
        "equal": ends if in_units and len(true) and low < high else None,
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


def comparable(
    results: Sequence[Result], published: Sequence[PublishedResult]
) -> list[PublishedResult]:
    """Return the published rows of the release that ours are of: those of others say nothing."""
    configs = {result.config for result in results}
    return [row for row in published if row.config in configs]


def leading(results: Sequence[Result], published: Sequence[PublishedResult] = ()) -> str:
    """Return the column that most predictors and published rows have; a mean before its parts.

    Args:
        results: Ours; without any there is no column, and an empty name.
        published: The published figures.
    """
    rows: list[Figure] = [*results, *comparable(results, published)]
    labels = labels_of(results)
    count = {label: sum(row.label == label for row in rows) for label in labels}
    places = {label: -place for place, label in enumerate(labels)}
    return max(labels, key=lambda name: (count[name], is_mean(name), places[name]), default="")


def ranked_rows(
    results: Sequence[Result],
    published: Sequence[PublishedResult],
    label: str,
    coefficient: str = "pearson",
) -> dict[str, Any]:
    """Return what the template draws: rows by a coefficient, the highest first.

    Args:
        results: Ours; those that are not ranked are left out.
        published: The published figures; those of another release are left out.
        label: The column.
        coefficient: `pearson` or `kendall`.
    """
    ours = [result for result in results if result.label == label and result.ranked]
    theirs = [one for one in comparable(results, published) if one.label == label]
    both: list[Figure] = [*ours, *theirs]
    pairs = [(getattr(figure, coefficient), figure) for figure in both]
    known = sorted((pair for pair in pairs if not math.isnan(pair[0])), key=lambda pair: -pair[0])
    ends = [end for _, one in known for end in interval_of(one, coefficient) or ()]
    axis = Axis.around([0.0, *ends, *(value for value, _ in known)], 2.0, 98.0)
    return {
        "coefficient": {"pearson": "Pearson's r", "kendall": "Kendall's τ"}[coefficient],
        "rows": [_row(figure, value, axis, coefficient) for value, figure in known],
        "ticks": axis.ticks(6),
        "zero": float(axis.at(0.0)),
        "published": bool(theirs),
    }


def _row(figure: Figure, value: float, axis: Axis, coefficient: str) -> dict[str, Any]:
    is_ours, interval = isinstance(figure, Result), interval_of(figure, coefficient)
    low, high = map(axis.at, interval) if interval else (None, None)
    return {
        "name": visible(figure.predictor) if isinstance(figure, Result) else figure.title,
        "ours": is_ours,
        "where": "" if is_ours else f"published, {figure.split}",
        "value": value,
        "interval": interval,
        "x": axis.at(value),
        "low": low,
        "high": high,
    }
