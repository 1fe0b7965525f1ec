"""Tables of results for terminals, papers, spreadsheets and notebooks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from string import ascii_lowercase
from textwrap import shorten
from typing import Any, NamedTuple

import pandas as pd

from pqpp_datasets.target_columns import (
    Target,
    format_target,
    get_measure,
    get_model_name,
    sort_targets,
)
from pqpp_files.escape import escape_cell, escape_controls
from pqpp_files.render_page import BarCell, render_table
from pqpp_models.bench.protocol import (
    COEFFICIENTS,
    Figure,
    PublishedResult,
    Result,
    average_results,
    group_by_key,
)
from pqpp_models.bench.split import ALL_ROWS

FITTED = "fitted"
"""The key of rows of predictors that were fitted to rows of the table."""


class Coefficient(NamedTuple):
    """A formatted coefficient.

    Attributes:
        text: The formatted coefficient with its marks.
        best: Whether the coefficient is the best of its group in the column.
        interval: The 95% interval, or None.
    """

    text: str = "–"
    best: bool = False
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class TableRow:
    """A row of a table.

    Attributes:
        title: The predictor's displayed name, without marks.
        key: Empty for new results, the key of the publication for published results, and `FITTED`
            for predictors that were fitted to rows of the table.
        cells: Pearson's and Kendall's coefficients per column; None if missing.
    """

    name: str
    title: str
    key: str
    cells: tuple[tuple[Coefficient, ...] | None, ...]

    @property
    def group(self) -> str:
        """The group of the row; tables draw lines between groups."""
        return self.key if self.key in ("", FITTED) else "published"


@dataclass(frozen=True)
class Table:
    """The table of one measure.

    Attributes:
        measure: A key of `headings`.
        title: The table's heading.
        rows: New results, then published results, then unranked results.
    """

    measure: str
    title: str
    labels: list[str]
    rows: list[TableRow]


def make_tables(results: Sequence[Result], published: Sequence[PublishedResult]) -> list[Table]:
    """Return one table per measure of the results, without those that have no row."""
    blocks = []
    for measure, title in list_headings(results).items():
        labels = list_columns(results, measure)
        blocks.append(Table(measure, title, labels, [*_make_rows(labels, results, published)]))
    return [block for block in blocks if block.rows]


def _make_rows(labels: Sequence[str], results, published) -> Iterator[TableRow]:
    unranked = [result for result in results if not result.ranked]
    ranked = [result for result in results if result.ranked]
    for key, group in {"": ranked, **group_published(published), FITTED: unranked}.items():
        columns = group_by_key((one.label, one) for one in group)
        for name, figures in group_by_key((one.predictor, one) for one in group).items():
            row = {result.label: result for result in figures if result.label in labels}
            if all(_count_undefined(result) == 2 for result in row.values()):
                continue  # `note_missing` explains them
            stand_ins = {getattr(result, "stands_in", None) for result in row.values()}
            stand_in = stand_ins.pop() if len(stand_ins) == 1 else None
            title = f"{name} ({stand_in})" if stand_in else name
            row_name = f"{title} {key}".rstrip()
            if key == FITTED:
                row_name = format_name(title, max(result.fitted_rows or 0 for result in figures))
            cells = tuple(
                tuple(_format_cell(row[label], columns[label], one, key) for one in COEFFICIENTS)
                if label in row
                else None
                for label in labels
            )
            yield TableRow(row_name, getattr(figures[0], "title", row_name), key, cells)


def _format_cell(figure: Figure, column: Sequence[Figure], name: str, key: str) -> Coefficient:
    """Format a coefficient, and record whether it is the best in its column."""
    value, p = getattr(figure, name), getattr(figure, f"{name}_p", math.nan)
    sign = ""
    if name == "kendall" and isinstance(figure, Result) and figure.baseline:
        arrow = "↑" if figure.baseline_difference > 0 else "↓"
        sign = arrow if figure.baseline_p < 0.05 else " "
    values = [getattr(one, name) for one in column]
    defined = [one for one in values if not math.isnan(one)]
    best = key != FITTED and bool(defined) and value == max(defined) > min(defined)
    text = f"{format_coefficient(value)}{mark_p_value(p):1}{sign}"
    return Coefficient(text, best, get_interval(figure, name))


def mark_p_value(p: float) -> str:
    """Return the mark of a p-value: ‡ below .001, † below .01, else an empty string.

    Example:
        >>> [mark_p_value(p) for p in (0.0005, 0.005, 0.05, float("nan"))]
        ['‡', '†', '', '']
    """
    return "‡" if p < 0.001 else "†" if p < 0.01 else ""


def format_name(name: str, fitted: int | None) -> str:
    """Return the displayed name of a predictor, with the number of fitted rows.

    Example:
        >>> format_name("mine", 3), format_name("mine", 0)
        ('mine (fitted to 3 of these rows)', 'mine')
    """
    return f"{name} (fitted to {fitted} of these rows)" if fitted else name


def get_interval(figure: Figure, name: str) -> tuple[float, float] | None:
    """Return the 95% interval of the coefficient `name`, like `pearson`; None if it is missing."""
    low, high = (getattr(figure, f"{name}_ci_{end}", math.nan) for end in ("low", "high"))
    return None if math.isnan(low) or math.isnan(high) else (low, high)


def format_coefficient(value: float) -> str:
    """Format a coefficient with three digits, and NaN as a dash.

    Example:
        >>> format_coefficient(0.5), format_coefficient(float("nan"))
        (' 0.500', '   –  ')
    """
    return "   –  " if math.isnan(value) else f"{value:6.3f}"


def format_heading(result: Figure, described: Target | None = None, short: bool = False) -> str:
    """Return the heading of a result's column.

    Args:
        described: The description of the target, if the dataset has one.
        short: Whether the heading is only the name of the model.

    Example:
        >>> from pqpp_models.bench.protocol import read_published
        >>> format_heading(read_published()[0]), format_heading(read_published()[0], short=True)
        ('HBPP of GLIDE', 'GLIDE')
    """
    name = (get_model_name if short else format_target)(result.target, described)
    if isinstance(result, PublishedResult):
        return name
    if result.is_metric:
        return result.label
    if result.predicted != result.target:
        predicted = (get_model_name if short else format_target)(result.predicted)
        return f"{predicted} → {name}"
    return f"{name} on {result.source}" if result.source is not None else name


def list_headings(results: Sequence[Result]) -> dict[str, str]:
    """Return the headings of the measures in the results, in order."""
    measures = (get_measure(target) for target in sort_targets({r.target: None for r in results}))
    titles = {measure.name: measure.title for measure in measures if measure}
    titles |= {"automatic": "Automatic metrics", "other": "Other targets"}
    present = {_get_measure(result) for result in results}
    return {name: title for name, title in titles.items() if name in present}


def list_columns(results: Sequence[Figure], measure: str | None = None) -> list[str]:
    """Return the labels of the columns, in the order of the row with the most columns.

    Args:
        measure: A key of `headings`; only columns whose true values are of this measure are listed.
    """
    of_measure = [one for one in results if measure is None or _get_measure(one) == measure]
    rows = group_by_key((one.predictor, one.label) for one in of_measure)
    return list(dict.fromkeys(chain(*sorted(rows.values(), key=len, reverse=True))))


def _get_measure(result: Figure) -> str:
    if isinstance(result, Result) and result.is_metric:
        return "automatic"
    measure = get_measure(result.target)
    return measure.name if measure else "other"


def group_published(published: Sequence[PublishedResult]) -> dict[str, list[PublishedResult]]:
    """Group published results by publication, with the keys [a], [b] and so on."""
    groups = group_by_key((result.source, result) for result in published).values()
    return {f"[{letter}]": group for letter, group in zip(ascii_lowercase, groups, strict=False)}


HEADINGS = ("predictor", "column", "Pearson", "Kendall")
DIFFERENCE_HEADINGS = (*HEADINGS[:2], "Kendall")


def list_differences(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return one row for each tested result, with the columns of `DIFFERENCE_HEADINGS`.

    A ! marks a difference that depends on a few prompts.
    """
    rows: list[tuple[str, ...]] = []
    for row in results:
        if not math.isnan(row.baseline_p):
            value = _format_value(row.baseline_difference, row, "baseline", "+")
            value = f"{value} !" if row.baseline_warning else value
            rows.append((row.predictor, row.label, value))
    return rows


def _format_value(value: float, row: Result, name: str, sign: str) -> str:
    if math.isnan(value):
        return "–"
    values = [value, *(get_interval(row, name) or ())]
    first, *rest = (format(number, f"{sign}.3f") for number in values)
    return f"{first} [{', '.join(rest)}]" if rest else first


MARKS_NOTE = "† p < .01, ‡ p < .001 (two-sided test of no correlation)"
COMPARISON_NOTE = (
    "↑ better and ↓ worse than {baseline} on the same prompts: paired permutation test of "
    "Kendall's tau, p < .05 after Holm's correction over the table"
)

FEW = 30
GENERATED_NOTE = (
    "GENERATED DATA: no one rated these prompts; the results say nothing about real ones"
)


def list_notes(
    results: Sequence[Result], published: Sequence[PublishedResult], is_page: bool = False
) -> list[str]:
    """Return the notes below a table or, with `is_page`, on a page, which has more warnings."""
    lines = [GENERATED_NOTE] if any(result.generated for result in results) else []
    lines += _note_rows(results) + note_fitted_rows(results) + _note_means(results)
    lines += note_missing(results)
    if not all(math.isnan(r.pearson_p) and math.isnan(r.kendall_p) for r in results):
        lines.append(MARKS_NOTE)
    lines += note_few_prompts(results) + _note_comparisons(results)
    warnings = {f"{r.predictor} on {r.label}": r.baseline_warning for r in results}
    warnings = {cell: why for cell, why in warnings.items() if why}
    if is_page:
        lines += [f"! {cell}: {why}" for cell, why in warnings.items()]
    elif warnings:
        line = f"! depends on few prompts: {', '.join(warnings)}"
        lines.append(shorten(line, 100, placeholder=" ... (all in --report)"))
    for key, (first, *_) in group_published(published).items():
        lines.append(
            f"{key} published, {first.config}, {first.split} split, n = {first.n}: {first.source}"
        )
    return lines


def _note_rows(results: Sequence[Result]) -> list[str]:
    """Return a note on the rows of each split, with their number."""
    lines = []
    by_data = group_by_key(((r.config, r.release, r.split), r) for r in results)
    for (config, release, split), rows in by_data.items():
        # A leaderboard entry may have a figure without its number of prompts.
        sizes = {r.label: r.n for r in rows if r.n > 1 or _count_undefined(r) == 2}
        by_size = group_by_key((n, label) for label, n in sizes.items())
        parts = [config, *([f"release {release}"] if release else [])]
        parts.append(split if split == ALL_ROWS else f"{split} split")
        if len(by_size) == 1:
            parts += [f"n = {n}" for n in by_size]
        elif by_size:
            parts.append("; ".join(f"n = {n} ({', '.join(by_size[n])})" for n in by_size))
        lines.append(f"rows: {', '.join(parts)}")
    return lines


def _note_means(results: Sequence[Result]) -> list[str]:
    """Return a list with the means of the ranked predictors that have results in all columns."""
    ranked = [result for result in results if result.ranked]
    columns = group_by_key((result.predictor, result.label) for result in ranked)
    count = len(list_columns(ranked))
    complete = [result for result in ranked if len(columns[result.predictor]) == count > 1]
    means = [
        f"{name} {format_coefficient(r).strip()} / {format_coefficient(tau).strip()}"
        for name, r, tau in average_results(complete)
        if not (math.isnan(r) and math.isnan(tau))
    ]
    line = f"mean over all {count} columns, Pearson / Kendall: {'; '.join(means)}"
    return [line] if means else []


def _note_comparisons(results: Sequence[Result]) -> list[str]:
    """Return notes on the baseline, and on predictors that are negated before the comparison."""
    baselines = dict.fromkeys(r.baseline for r in results if r.baseline)
    lines = [COMPARISON_NOTE.format(baseline=baseline) for baseline in baselines]
    negated = [r for r in results if r.baseline and r.oriented.endswith("negated")]
    cells = group_by_key(((r.predictor, r.oriented.split(",")[0]), r.label) for r in negated)
    texts = [f"{name} on {', '.join(labels)} ({how})" for (name, how), labels in cells.items()]
    return lines + ([f"negated in differences: {'; '.join(texts)}"] if texts else [])


def note_few_prompts(results: Iterable[Any]) -> list[str]:
    """Return a list with a note if some results are from few prompts."""
    fewest = min((result.n for result in results if result.n > 1), default=FEW)
    return [f"only {fewest} prompts: the figures vary a lot by chance"] if fewest < FEW else []


def count_fitted_rows(results: Iterable[Any]) -> dict[str, int]:
    """Return the highest number of fitted rows in the results of each predictor."""
    rows = group_by_key((r.predictor, r.fitted_rows) for r in results if r.fitted_rows)
    return {name: max(counts) for name, counts in rows.items()}


def note_fitted_rows(results: Sequence[Any]) -> list[str]:
    """Return notes on predictors that were fitted to the rows, and on their substitutes."""
    substitutes = dict.fromkeys((r.predictor, r.stands_for) for r in results if r.stands_for)
    lines = [
        f"{build}, fitted on train only, replaces {name}, which was fitted to some of these rows"
        for build, name in substitutes
    ]
    fitted_counts = count_fitted_rows(results)
    if fitted_counts:
        lines.append(f"fitted to rows of this table, not ranked: {', '.join(fitted_counts)}")
    rows = [r for r in results if getattr(r, "stands_in", None)]
    stand_ins = group_by_key(dict.fromkeys(((r.predictor, r.stands_in), r.target) for r in rows))
    for (name, stand_in), targets in stand_ins.items():
        missing = ", ".join(targets)
        lines.append(f"{name} does not predict {missing}; its {stand_in} is used instead")
    unknown = dict.fromkeys(result.predictor for result in results if result.fitted_rows is None)
    if unknown:
        lines.append(f"not recorded which rows they were fitted to: {', '.join(unknown)}")
    fitted: dict[Any, None] = {}
    for result in results:
        if result.fitted_on:
            is_unfitted = result.fitted_rows is not None and result.predictor not in fitted_counts
            data = (result.fitted_on, getattr(result, "trained_on", None), is_unfitted)
            fitted[data, result.predictor] = None
    for (split, data, is_unfitted), names in group_by_key(fitted).items():
        of = f" of {data}" if data else ""
        on_none = ", on none of these rows" if is_unfitted else ""
        lines.append(f"{', '.join(names)}: fitted on {split}{of}{on_none}")
    return lines


def _count_undefined(result: Result) -> int:
    return math.isnan(result.pearson) + math.isnan(result.kendall)


def note_missing(results: Sequence[Result]) -> Iterator[str]:
    """Yield notes on missing coefficients, one per reason.

    Example:
        >>> list(note_missing([]))
        []
    """
    missing = [result for result in results if _count_undefined(result) == 2]
    if one_defined := dict.fromkeys(r.predictor for r in results if _count_undefined(r) == 1):
        yield f"– {', '.join(one_defined)}: only one coefficient is given or defined"
    for label, n in {r.label: r.n for r in missing if r.n < 2}.items():
        yield f"– no figure for {label}: n = {n}, and a correlation needs two prompts"
    constant = group_by_key((r.label, r.predictor) for r in missing if r.n > 1)
    cells = ((", ".join(names), label) for label, names in constant.items())
    for names, labels in group_by_key(cells).items():
        what = "the predictions or the true values are all equal"
        yield f"– no correlation of {names} with {', '.join(labels)}: {what}"


class BenchTable(pd.DataFrame):
    """A data frame of results, which notebooks display with bars and intervals.

    Operations on the table return plain data frames.

    Example:
        >>> BenchTable({"predictor": ["static"], "n": [80]})["n"].tolist()
        [80]
    """

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        if self.empty:
            return self.to_html()
        ends = self[[f"{name}_ci_{end}" for name in COEFFICIENTS for end in ("low", "high")]]
        low, high = min(0.0, ends.min().min()), max(0.0, ends.max().max())
        limits = (low, high) if high > low else None
        rows = []
        for row in self.to_dict("records"):
            cells: list[Any] = [row["predictor"], row["label"], f"{row['n']:,}"]
            for name in COEFFICIENTS:
                interval = f" [{row[f'{name}_ci_low']:.2f}, {row[f'{name}_ci_high']:.2f}]"
                cells.append(BarCell.make(row[name], limits, "{:.3f}" + interval))
            rows.append(cells)
        headings = ("predictor", "target", "prompts", "Pearson [95%]", "Kendall [95%]")
        data = "; ".join(sorted(set(self["config"] + ", " + self["split"])))
        return str(render_table(headings, rows, data))


def format_results(
    style: str,
    results: Sequence[Result],
    published: Sequence[PublishedResult] = (),
    with_intervals: bool = False,
) -> str:
    """Format results as a table or as data.

    Args:
        style: `table`, `markdown`, `latex`, `csv` or `json`.
        published: The published results for the same targets.
        with_intervals: Whether a `table` or `markdown` shows 95% intervals; `csv` and `json` always
            contain them.

    Example:
        >>> print(format_results("json", []))
        {
         "rows": [],
         "published": []
        }
    """
    if style == "latex":
        return format_latex(results, published)
    rows = [result.to_row() for result in results]
    if style == "json":
        # JSON has no NaN, so an undefined correlation is null.
        rows = [{k: v if v == v else None for k, v in row.items()} for row in rows]
        content = {"rows": rows, "published": [vars(row) for row in published]}
        return json.dumps(content, indent=1, ensure_ascii=False)
    if style == "csv":
        new_rows = pd.DataFrame([row | {"published": False, "source": ""} for row in rows])
        published_rows = pd.DataFrame([vars(one) | {"published": True} for one in published])
        table = pd.concat([new_rows, published_rows] if len(published_rows) else [new_rows])
        return table.astype({"fitted_rows": "Int64"} if len(new_rows) else {}).to_csv(index=False)
    from tabulate import SEPARATING_LINE, tabulate

    form, title = {"table": ("simple", "{}"), "markdown": ("github", "**{}**\n")}[style]
    escape = escape_cell if style == "markdown" else escape_controls
    parts = []  # a block per measure keeps the table within 80 columns
    for block in make_tables(results, published):
        lines: list[Any] = []
        for index, row in enumerate(block.rows):
            if style == "table" and index and row.group != block.rows[index - 1].group:
                lines.append(SEPARATING_LINE)
            texts = (" ".join(one.text for one in cell) if cell else "–" for cell in row.cells)
            lines.append([escape(row.name), *texts])
        names = ["predictor", *map(escape, block.labels)]
        parts.append(title.format(f"{block.title}: Pearson Kendall"))
        parts += [tabulate(lines, names, form, preserve_whitespace=True), ""]
    baseline = escape(str(results[0].baseline)) if results else ""
    difference = f"Difference from {baseline}, 95% interval"
    intervals = [
        (r.predictor, r.label, *(_format_value(getattr(r, c), r, c, "") for c in COEFFICIENTS))
        for r in results
        if with_intervals
    ]
    extra_tables = (
        ("95% intervals", HEADINGS, intervals),
        (difference, DIFFERENCE_HEADINGS, list_differences(results)),
    )
    for heading, headings, table_rows in extra_tables:
        if cells := [(escape(name), escape(label), *rest) for name, label, *rest in table_rows]:
            parts += [title.format(heading), tabulate(cells, headings, form), ""]
    return "\n".join([*parts, *map(escape, list_notes(results, published))])


_SIGNS = {"‡": "ddagger", "†": "dagger", "↑": "uparrow", "↓": "downarrow"}
_ESCAPES = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": "$<$", ">": "$>$", "|": "$|$"},  # other signs in LaTeX's own fonts
    **{"→": r"$\to$", "τ": r"$\tau$", "–": "--", "…": r"\ldots{}"},
    **{sign: rf"$^\{name}$" for sign, name in _SIGNS.items()},
}


def format_latex(results: Sequence[Result], published: Sequence[PublishedResult] = ()) -> str:
    """Format results as LaTeX tables, one per task with a block per measure.

    The best new figure and the best figure of each publication are bold. Comments above the tables
    explain the figures, and captions summarise the explanations.

    Args:
        published: The published results for the same targets.
    """
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    tasks: dict[str, list[Table]] = {}
    for block in make_tables(results, published):
        measure = get_measure(block.measure)
        tasks.setdefault(measure.task if measure else block.measure, []).append(block)
    tables = []
    for task, blocks in tasks.items():
        names = (results[0].config, results[0].split, task)
        anchor = "-".join(re.sub(r"[^0-9A-Za-z]", "-", name).strip("-") for name in names)
        labels = {label for block in blocks for label in block.labels}
        groups = group_published(published).items()
        sources = [(key, group[0]) for key, group in groups if labels & {r.label for r in group}]
        tables.append((task, anchor, blocks, sources))
    sizes = sorted({result.n for result in results if result.n}) or [0]
    templates = Environment(
        *("<%", "%>", "<<", ">>", "<#", "#>"),
        trim_blocks=True,
        loader=FileSystemLoader(Path(__file__).parent),
        finalize=lambda value: value if isinstance(value, Markup) else _escape(str(value)),
    )
    templates.filters["latex"] = _format_latex_cell
    text = templates.get_template("tables.tex").render(
        notes=[escape_controls(" ".join(one.split())) for one in list_notes(results, published)],
        tables=tables,
        first=results[0],
        sizes="--".join(dict.fromkeys(map(str, (sizes[0], sizes[-1])))),
        headings={one.label: format_heading(one, short=True) for one in reversed(results)},
        generated_note=GENERATED_NOTE,
        missing=[Coefficient()] * len(COEFFICIENTS),
    )
    return text.rstrip()


def _format_latex_cell(cell: Coefficient) -> str:
    text = cell.text.strip().replace("0.", ".", 1)
    digits = text.rstrip("‡†↑↓")
    number = f"$-${digits[1:]}" if digits.startswith("-") else _escape(digits)
    return (rf"\textbf{{{number}}}" if cell.best else number) + _escape(text[len(digits) :])


def _escape(text: str) -> str:
    text = escape_controls(" ".join(text.split()))
    escaped = "".join(_ESCAPES.get(letter, letter) for letter in text)
    # At the start of a row, LaTeX would read these as options of the preceding line break.
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped
