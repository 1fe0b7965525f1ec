"""The chart of a report: predictors and published rows in order, on the column that most have."""

import math
from collections.abc import Sequence
from typing import Any

from pqpp_datasets.target_columns import is_mean
from pqpp_files.visible import visible
from pqpp_models.bench.protocol import Result
from pqpp_models.bench.published import PublishedResult
from pqpp_models.bench.report.axes import Axis
from pqpp_models.bench.rows import Figure, labels_of


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

    def value(figure: Figure) -> float:
        return getattr(figure, coefficient)

    ours = [result for result in results if result.label == label and result.ranked]
    theirs = [one for one in comparable(results, published) if one.label == label]
    both: list[Figure] = [*ours, *theirs]
    known = [figure for figure in both if not math.isnan(value(figure))]
    ends = [
        end for figure in known for end in (value(figure), *(_interval(figure, coefficient) or ()))
    ]
    axis = Axis.around([0.0, *ends], 2.0, 98.0)
    known.sort(key=lambda figure: -value(figure))
    return {
        "coefficient": {"pearson": "Pearson's r", "kendall": "Kendall's τ"}[coefficient],
        "rows": [_row(figure, axis, coefficient) for figure in known],
        "ticks": axis.ticks(6),
        "zero": float(axis.at(0.0)),
        "published": bool(theirs),
    }


def _interval(figure: Figure, coefficient: str) -> tuple[float, float] | None:
    """Return the ends of an interval, None where there is none."""
    low, high = (getattr(figure, f"{coefficient}_ci_{end}", math.nan) for end in ("low", "high"))
    return None if math.isnan(low) or math.isnan(high) else (low, high)


def _row(figure: Figure, axis: Axis, coefficient: str) -> dict[str, Any]:
    is_ours, interval = isinstance(figure, Result), _interval(figure, coefficient)
    low, high = map(axis.at, interval) if interval else (None, None)
    return {
        "name": visible(figure.predictor) if isinstance(figure, Result) else figure.title,
        "ours": is_ours,
        "where": "" if is_ours else f"published, {figure.split}",
        "value": getattr(figure, coefficient),
        "interval": interval,
        "x": axis.at(getattr(figure, coefficient)),
        "low": low,
        "high": high,
    }
