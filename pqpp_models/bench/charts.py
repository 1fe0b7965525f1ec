"""Template data for the charts of a report: scatter plots, embedding plots and the ranking."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_datasets.target_columns import is_mean
from pqpp_models.bench.protocol import Figure, Predictions, PublishedResult, Result, pair_values
from pqpp_models.bench.tables import get_interval, list_columns

_LIMIT = 1e100  # values are clipped to it, since differences of larger ones overflow


@dataclass(frozen=True)
class Axis:
    """A linear axis.

    Attributes:
        low: The lowest value.
        high: The highest value.
        start: The position of `low`.
        stop: The position of `high`.
    """

    low: float
    high: float
    start: float
    stop: float

    @classmethod
    def fit(cls, values: ArrayLike, start: float, stop: float) -> Self:
        """Return an axis that covers the values, with a margin at both ends.

        Example:
            >>> Axis.fit([0.0, 1.0], 0, 100).scale(0.5)
            50.0
            >>> Axis.fit([], 0, 100).list_ticks()[0]
            (0.0, '0')
        """
        known = np.asarray(values, dtype=float).clip(-_LIMIT, _LIMIT)
        known = known[~np.isnan(known)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        if high <= low:
            half_width = abs(low) / 2 or 0.5
            low, high = low - half_width, high + half_width
        margin = 0.04 * (high - low) if len(known) else 0.0
        return cls(low - margin, high + margin, start, stop)

    def scale(self, values: Any) -> Any:
        """Return the positions of values."""
        fraction = (values - self.low) / (self.high - self.low)
        return self.start + fraction * (self.stop - self.start)

    def list_ticks(self, limit: int = 5) -> list[tuple[float, str]]:
        """Return the positions and labels of at most `limit` ticks at round values.

        Example:
            >>> Axis(0.0, 1.0, 0.0, 10.0).list_ticks()
            [(0.0, '0'), (2.5, '0.25'), (5.0, '0.5'), (7.5, '0.75'), (10.0, '1')]
        """
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / limit))
        for factor in (1, 2, 2.5, 5, 10):
            step = factor * power
            first = math.ceil(self.low / step - 1e-9)
            last = math.floor(self.high / step + 1e-9)
            if last - first < limit:
                break
        values = [n * step for n in range(first, last + 1)]
        return [(float(self.scale(value)), f"{value:.4g}") for value in values]


Floats = NDArray[np.float64]
LEFT, RIGHT, TOP, BOTTOM = 46, 312, 8, 204
"""The frame of a panel, in units of about a pixel; a panel is 320 by 248."""
MOST_POINTS = 500
"""The maximum number of points; of more prompts, an evenly spaced sample is drawn."""
GROUPS = 10


def make_scatter_panel(
    predictions: Predictions,
    result: Result,
    title: str,
    references: Mapping[str, Sequence[float | None]],
    sources: Sequence[str] | None = None,
    in_units: bool = False,
) -> dict[str, Any]:
    """Return the template data for a scatter plot of true against predicted values.

    Args:
        result: The result whose columns are plotted.
        references: The true values by target, one per prompt; None if missing.
        sources: The source of each prompt; needed for a result on one source.
        in_units: Whether predictions are in the target's units; if so, the line of equal values is
            drawn.
    """
    pair = pair_values(predictions, result, references[result.target], sources)
    predicted, true = (side.clip(-_LIMIT, _LIMIT) for side in pair)
    across = Axis.fit(predicted, LEFT, RIGHT)
    up = Axis.fit(true, BOTTOM, TOP)
    groups = group_by_prediction(predicted, true)
    alt = f"{predictions.predictor}, {title}: true against predicted values of {len(true)} prompts."
    if groups:
        alt += (
            f" From the lowest to the highest tenth of the predictions, the mean true value "
            f"goes from {groups[0][1]:.3g} to {groups[-1][1]:.3g}."
        )
    low, high = max(across.low, up.low), min(across.high, up.high)
    corners = (axis.scale(end) for end in (low, high) for axis in (across, up))
    ends = dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True))
    sample = slice(None, None, max(1, math.ceil(len(true) / MOST_POINTS)))
    return {
        "title": title,
        "result": result,
        "alt": alt,
        "across": across.list_ticks(),
        "up": up.list_ticks(),
        "points": to_svg_path(across.scale(predicted[sample]), up.scale(true[sample])),
        "equal": ends if in_units and len(true) and low < high else None,
        "groups": [
            {
                "x": float(across.scale(x)),
                "y": float(up.scale(y)),
                "low": float(np.clip(up.scale(low), TOP, BOTTOM)),
                "high": float(np.clip(up.scale(high), TOP, BOTTOM)),
                "text": f"predicted {x:.3g}: mean true value {y:.3g} ({low:.3g} to {high:.3g})",
            }
            for x, y, low, high in groups
        ],
    }


def group_by_prediction(predicted: Floats, true: Floats) -> list[tuple[float, float, float, float]]:
    """Split prompts into ten groups by predicted value; return none for fewer than 20 prompts.

    Returns:
        For each group, the mean predicted value, the mean true value, and the 95% interval of the
        mean true value.

    Example:
        >>> values = np.repeat(np.arange(10.0), 2)
        >>> group_by_prediction(values, values + [0.0, 1.0] * 10)[0][:2]
        (0.0, 0.5)
    """
    if len(predicted) < 2 * GROUPS:
        return []
    from scipy.stats import t

    bins = []
    for group in np.array_split(np.argsort(predicted, kind="stable"), GROUPS):
        n, mean = len(group), float(true[group].mean())
        half_width = float(t.ppf(0.975, n - 1) * true[group].std(ddof=1) / np.sqrt(n))
        bins.append((float(predicted[group].mean()), mean, mean - half_width, mean + half_width))
    return bins


def to_svg_path(xs: Floats, ys: Floats) -> str:
    """Return an SVG path that draws each point as a line of length 0.

    Example:
        >>> to_svg_path(np.array([1.0]), np.array([2.25]))
        'M1 2.2h0'
    """
    pairs = zip(np.round(xs, 1), np.round(ys, 1), strict=True)
    return "".join(f"M{x:.4g} {y:.4g}h0" for x, y in pairs)


_SIDE = 300
_PARTS = 5


def make_embedding_panels(
    predictions: Predictions,
    space: NDArray,
    references: Mapping[str, Sequence[float | None]],
    results: Sequence[Result],
    titles: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return the template data for embedding plots, coloured by true and predicted values.

    Only the first column of each predicted measure is used.

    Args:
        space: The embeddings in two dimensions, one point per prompt.
        references: The true values by target, one per prompt; None if missing.
        titles: The displayed title of each column.
    """
    first: dict[str, Result] = {}
    for result in results:
        if result.predictor == predictions.predictor and result.predicted in predictions.targets:
            first.setdefault(result.predicted.rsplit("_", 1)[-1], result)
    panels = []
    for result in first.values():
        predicted = predictions.values[:, predictions.targets.index(result.predicted)]
        true = np.array(references[result.target], dtype=float)
        for name, values in (("true", true), ("predicted", predicted)):
            title, known = f"{titles[result.label]}, {name}", ~np.isnan(values)
            xs, ys = (Axis.fit(side, 4, _SIDE - 4).scale(side) for side in space[known].T)
            caption = f"{predictions.predictor}, t-SNE: {known.sum()} prompts by {title}"
            values = values[known]
            edges: Any = np.quantile(values, np.arange(1, _PARTS) / _PARTS) if len(values) else []
            fifth = np.searchsorted(edges, values, side="left")
            parts = [
                {
                    "part": part + 1,
                    "low": float(values[fifth == part].min()),
                    "high": float(values[fifth == part].max()),
                    "path": to_svg_path(xs[fifth == part], ys[fifth == part]),
                }
                for part in np.unique(fifth).tolist()
            ]
            panel = {"title": title, "alt": f"{caption} value.", "side": _SIDE, "parts": parts}
            panels.append(panel)
    return panels


def select_same_release(
    results: Sequence[Result], published: Sequence[PublishedResult]
) -> list[PublishedResult]:
    """Return the published results on the same dataset release as `results`."""
    configs = {result.config for result in results}
    return [row for row in published if row.config in configs]


def find_main_column(results: Sequence[Result], published: Sequence[PublishedResult] = ()) -> str:
    """Return the label of the column with the most results; in a tie, prefer the mean of models.

    Args:
        results: Results of pqpp; if there are none, the label is empty.
        published: Published results; those on the same release count too.
    """
    rows: list[Figure] = [*results, *select_same_release(results, published)]
    labels = list_columns(results)
    count = {label: sum(row.label == label for row in rows) for label in labels}
    return max(labels, key=lambda name: (count[name], is_mean(name)), default="")


def rank_rows(
    results: Sequence[Result], published: Sequence[PublishedResult], label: str, coefficient: str
) -> dict[str, Any]:
    """Return the template data for a ranking of the results in one column.

    Args:
        results: Results of pqpp; unranked ones are left out.
        published: Published results; those on other releases of the benchmark are left out.
        label: The label of the column.
        coefficient: The coefficient to rank by, `pearson` or `kendall`.
    """
    published = [row for row in select_same_release(results, published) if row.label == label]
    figures: list[Figure] = [row for row in results if row.label == label and row.ranked]
    figures += published
    defined = [figure for figure in figures if not math.isnan(getattr(figure, coefficient))]
    defined.sort(key=lambda figure: -getattr(figure, coefficient))
    values = [getattr(figure, coefficient) for figure in defined]
    intervals = [get_interval(figure, coefficient) or () for figure in defined]
    axis = Axis.fit([0.0, *chain(*intervals), *values], 2.0, 98.0)
    rows = [
        {
            "name": getattr(figure, "title", figure.predictor),
            "where": f"published, {figure.split}" if isinstance(figure, PublishedResult) else "",
            "value": value,
            "interval": interval,
            "x": axis.scale(value),
            "ends": [axis.scale(end) for end in interval],
        }
        for figure, value, interval in zip(defined, values, intervals, strict=True)
    ]
    return {
        "coefficient": {"pearson": "Pearson's r", "kendall": "Kendall's τ"}[coefficient],
        "rows": rows,
        "ticks": axis.list_ticks(6),
        "zero": float(axis.scale(0.0)),
        "published": bool(published),
    }
