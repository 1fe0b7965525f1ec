"""The rows and columns of a table of results, whatever it is written as."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from string import ascii_lowercase
from typing import NamedTuple

from pqpp_datasets.target_columns import (
    Target,
    measure_of,
    readable_model,
    readable_name,
    sort_targets,
)
from pqpp_models.bench.protocol import (
    COEFFICIENTS,
    Figure,
    PublishedResult,
    Result,
    arrow,
    grouped,
    mark,
)

FITTED = "fitted"
"""The key of rows of predictors that were fitted to rows of the table."""


class Half(NamedTuple):
    """A coefficient in a cell.

    Attributes:
        text: Its figure with its marks.
        best: Whether no other row of its key has a higher figure in the column, and one a lower.
        interval: The ends of its 95 % interval, None where there is none.
    """

    text: str
    best: bool
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class TableRow:
    """A row of a table.

    Attributes:
        name: What the table shows: with the key of a published source, and with what was fitted.
        title: The predictor of a published row as texts call it, the name of another.
        key: Empty for ours, that of its source for a published one, `FITTED` for what was fitted
            to rows of the table.
        cells: One a column, Pearson and Kendall; None where there is no figure.
    """

    name: str
    title: str
    key: str
    cells: tuple[tuple[Half, ...] | None, ...]

    @property
    def kind(self) -> str:
        """Which part of a table it stands in: rows of one kind stand between two rules."""
        return "published" if self.key.startswith("[") else self.key


@dataclass(frozen=True)
class Block:
    """The table of one measure.

    Attributes:
        measure: A key of `headings`.
        title: Its heading.
        labels: The columns.
        rows: Ours, the published ones, then those that are not ranked.
    """

    measure: str
    title: str
    labels: list[str]
    rows: list[TableRow]


def blocks_of(results: Sequence[Result], published: Sequence[PublishedResult]) -> list[Block]:
    """Return the table of each measure that is in the results.

    Args:
        results: Ours.
        published: The published figures.
    """
    blocks = []
    for measure, title in headings(results).items():
        labels = labels_of(results, measure)
        blocks.append(Block(measure, title, labels, [*_rows(labels, results, published)]))
    return blocks


def _rows(labels: Sequence[str], results, published) -> Iterator[TableRow]:
    rest = [result for result in results if not result.ranked]
    ranked = [result for result in results if result.ranked]
    for key, group in {"": ranked, **published_groups(published), FITTED: rest}.items():
        columns = grouped((one.label, one) for one in group)
        for name, ours in grouped((one.predictor, one) for one in group).items():
            mine = {result.label: result for result in ours if result.label in labels}
            if not mine:
                continue
            own = {getattr(result, "stands_in", None) for result in mine.values()}
            title = f"{name} ({own.pop()})" if len(own) == 1 and own != {None} else name
            shown = f"{title} {key}".rstrip()
            if key == FITTED:
                shown = marked(title, max(result.fitted_rows or 0 for result in ours))
            cells = tuple(
                tuple(_half(mine[label], columns[label], one, key) for one in COEFFICIENTS)
                if label in mine
                else None
                for label in labels
            )
            yield TableRow(shown, getattr(ours[0], "title", shown), key, cells)


def _half(figure: Figure, column: Sequence[Figure], name: str, key: str) -> Half:
    """Return a coefficient of a cell, beside the others of its column and key."""
    value, p = getattr(figure, name), getattr(figure, f"{name}_p", math.nan)
    sign = ""
    if baseline := getattr(figure, "baseline", None):
        other = [getattr(one, name) for one in column if one.predictor == baseline]
        p_other = getattr(figure, f"{name}_baseline_p")
        sign = f"{arrow(value, other[0], p_other):1}" if other else ""
    values = [getattr(one, name) for one in column]
    known = [one for one in values if not math.isnan(one)]
    best = key != FITTED and bool(known) and value == max(known) > min(known)
    text = f"{coefficient_text(value)}{mark(p):1}{sign}"
    return Half(text, best, interval_of(figure, name))


def marked(name: str, fitted: int | None) -> str:
    """Return a predictor's name as a table shows it.

    Example:
        >>> marked("mine", 3), marked("mine", 0)
        ('mine (fitted to 3 of these rows)', 'mine')
    """
    return f"{name} (fitted to {fitted} of these rows)" if fitted else name


def interval_of(figure: Figure, name: str) -> tuple[float, float] | None:
    """Return the ends of the interval of a figure, like `pearson`; None where there is none."""
    low, high = (getattr(figure, f"{name}_ci_{end}", math.nan) for end in ("low", "high"))
    return None if math.isnan(low) or math.isnan(high) else (low, high)


def coefficient_text(value: float) -> str:
    """Return a coefficient with three digits, a dash in the same width for none.

    Example:
        >>> coefficient_text(0.5), coefficient_text(float("nan"))
        (' 0.500', '   –  ')
    """
    return "   –  " if math.isnan(value) else f"{value:6.3f}"


def heading(result: Figure, described: Target | None = None, short: bool = False) -> str:
    """Return what a column is about, in words.

    Args:
        result: One of the column.
        told: What the dataset tells of its target.
        short: Where the measure stands above: the model alone.

    Example:
        >>> from pqpp_models.bench.protocol import published_results
        >>> heading(published_results()[0]), heading(published_results()[0], short=True)
        ('HBPP of GLIDE', 'GLIDE')
    """
    name = (readable_model if short else readable_name)(result.target, described)
    if result.label == result.target:
        return name
    if result.label == f"{result.target} ({result.source})":
        return f"{name} on {result.source}"
    if "→" in result.label:
        of = readable_model if short else readable_name
        return f"{of(getattr(result, 'predicted', result.target))} → {name}"
    return result.label


def headings(results: Sequence[Result]) -> dict[str, str]:
    """Return the heading of each measure that is in the results, in the order of measures."""
    measures = (measure_of(target) for target in sort_targets({r.target: None for r in results}))
    titles = {measure.name: measure.title for measure in measures if measure}
    titles |= {"automatic": "Automatic metrics", "other": "Other targets"}
    there = {_measure_of(result) for result in results}
    return {name: title for name, title in titles.items() if name in there}


def labels_of(results: Sequence[Figure], measure: str | None = None) -> list[str]:
    """Return the columns of the results in their order, which the row with most columns says.

    Args:
        results: Ours, or published ones.
        measure: Only those whose true values are of this measure, a key of `headings`.
    """
    of_measure = [one for one in results if measure is None or _measure_of(one) == measure]
    rows = grouped((one.predictor, one.label) for one in of_measure)
    return list(dict.fromkeys(chain(*sorted(rows.values(), key=len, reverse=True))))


def _measure_of(result: Figure) -> str:
    if result.target != getattr(result, "predicted", result.target) and result.label.endswith("]"):
        return "automatic"
    measure = measure_of(result.target)
    return measure.name if measure else "other"


def published_groups(published: Sequence[PublishedResult]) -> dict[str, list[PublishedResult]]:
    """Group published figures by where they stand, under the keys [a], [b] and so on."""
    groups = grouped((result.source, result) for result in published).values()
    return {f"[{letter}]": group for letter, group in zip(ascii_lowercase, groups, strict=False)}


HEADINGS = ("predictor", "column", "Pearson", "Kendall")


def differences(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return a row for each cell that was tested against the baseline's, as `HEADINGS` say.

    The figures are the difference and its 95 % interval; a ! says that it hangs on one prompt.
    """
    baselines = {result.label: result for result in results if result.predictor == result.baseline}
    return [
        (row.predictor, row.label, *(_told(row, baselines[row.label], c) for c in COEFFICIENTS))
        for row in results
        if any(not math.isnan(getattr(row, f"{c}_baseline_p")) for c in COEFFICIENTS)
    ]


def intervals(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return a row for each cell, as `HEADINGS` say: the figures with their 95 % intervals."""
    return [
        (r.predictor, r.label, *(_with_interval(getattr(r, c), r, c, "") for c in COEFFICIENTS))
        for r in results
    ]


def _told(row: Result, baseline: Result, coefficient: str) -> str:
    difference = getattr(row, coefficient) - getattr(baseline, coefficient)
    cell = _with_interval(difference, row, f"{coefficient}_baseline", "+")
    return cell + " !" * bool(getattr(row, f"{coefficient}_baseline_warning"))


def _with_interval(value: float, row: Result, name: str, sign: str) -> str:
    if math.isnan(value):
        return "–"
    known = [value, *(interval_of(row, name) or ())]
    first, *rest = (format(number, f"{sign}.3f") for number in known)
    return f"{first} [{', '.join(rest)}]" if rest else first
