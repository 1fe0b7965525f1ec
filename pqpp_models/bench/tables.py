"""Tables of results in the formats that people put into terminals, papers and spreadsheets."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from pqpp_datasets.target_columns import measure_of, sort_targets
from pqpp_models.bench.comparison import COMPARISON_NOTE, arrow
from pqpp_models.bench.held_out import fitted_notes, marked, unranked
from pqpp_models.bench.protocol import MARKS_NOTE, Result, mark, mean_over_targets
from pqpp_models.bench.published import PublishedResult
from pqpp_models.bench.split import ALL_ROWS, other_releases

FITTED = "fitted"
"""The key of rows of predictors that were fitted to rows of the table."""
GENERATED_NOTE = "GENERATED DATA: no human judged these prompts; the figures say nothing of models"


def format_results(
    style: str, results: Sequence[Result], published: Sequence[PublishedResult] = ()
) -> str:
    """Return the results as a table or as data, the published figures beside them and marked so.

    Args:
        style: `table`, `markdown`, `latex`, `csv` or `json`.
        results: Ours, from one split.
        published: The published figures of the same targets.

    Raises:
        KeyError: If the style is none of these.

    Example:
        >>> print(format_results("json", []))
        {
         "rows": [],
         "published": []
        }
    """
    return STYLES[style](results, published)


def _table(results, published) -> str:
    return _blocks(results, published, "simple", lambda title: title)


def _markdown(results, published) -> str:
    return _blocks(results, published, "github", lambda title: f"**{title}**\n")


def _blocks(results, published, style: str, heading: Callable[[str], str]) -> str:
    # A block a measure keeps the table within 80 columns.
    from tabulate import SEPARATING_LINE, tabulate

    from pqpp_files.visible import markdown_cell, visible

    shown = markdown_cell if style == "github" else visible
    blocks = []
    for measure, title in headings(results).items():
        labels = labels_of(results, measure)
        rows = [
            [shown(name), *(" ".join(cell) if cell else "–" for cell in cells)]
            for name, _, cells in table_rows(labels, results, published)
        ]
        if style == "simple":
            rows = _ruled(rows, table_rows(labels, results, published), SEPARATING_LINE)
        blocks += [
            heading(f"{title}: Pearson Kendall"),
            tabulate(rows, ["predictor", *map(shown, labels)], style, preserve_whitespace=True),
            "",
        ]
    return "\n".join([*blocks, *notes(results, published)])


def _ruled(lines: list[Any], rows: Iterable[tuple[str, str, Any]], rule: Any) -> list[Any]:
    """Put a rule above the lines of rows that are not ranked."""
    fitted = sum(key == FITTED for _, key, _ in rows)
    below = len(lines) - fitted
    return [*lines[:below], rule, *lines[below:]] if fitted and below else lines


def table_rows(
    labels: Sequence[str], results: Sequence[Result], published: Sequence[PublishedResult]
) -> Iterator[tuple[str, str, list[list[str]]]]:
    """Yield the rows of a table: ours, the published ones, then those that are not ranked.

    Args:
        labels: The columns; a predictor without any of them has no row.
        results: Ours.
        published: The published figures.

    Yields:
        The predictor with the key of its source, that key (empty for ours, `FITTED` for what was
        fitted to the rows), and a cell a column: Pearson and Kendall as texts with their marks,
        nothing where there is no figure.
    """
    ranked = [result for result in results if result.ranked]
    rest = [result for result in results if not result.ranked]
    groups = {"": ranked, **published_groups(published), FITTED: rest}
    for key, group in groups.items():
        for name in dict.fromkeys(result.predictor for result in group):
            mine = {result.label: result for result in group if result.predictor == name}
            if any(label in mine for label in labels):
                cells = [_halves(mine.get(label), group) for label in labels]
                own = {getattr(mine[label], "stands_in", None) for label in labels if label in mine}
                told = f"{name} ({own.pop()})" if len(own) == 1 and own != {None} else name
                shown = marked(told, unranked(group)[name]) if key == FITTED else f"{told} {key}"
                yield shown.rstrip(), key, cells


def _halves(result: Result | PublishedResult | None, group: Sequence[Any]) -> list[str]:
    if result is None:
        return []
    name = getattr(result, "baseline", None)
    same = (r for r in group if name and r.predictor == name and r.label == result.label)
    baseline = next(same, None)
    return [_half(result, baseline, one) for one in ("pearson", "kendall")]


def _half(result, baseline: Result | None, name: str) -> str:
    value, p = getattr(result, name), getattr(result, f"{name}_p", math.nan)
    sign = ""
    if baseline is not None:
        other = getattr(result, f"{name}_baseline_p")
        sign = f"{arrow(value, getattr(baseline, name), other):1}"
    return f"{_number(value)}{mark(p):1}{sign}"


def _number(value: float) -> str:
    return "   –  " if math.isnan(value) else f"{value:6.3f}"


def headings(results: Sequence[Result]) -> dict[str, str]:
    """Return the heading of each measure that is in the results, in the order of measures."""
    measures = (measure_of(one) for one in sort_targets({r.target: None for r in results}))
    titles = {one.name: one.title for one in measures if one}
    titles |= {"automatic": "Automatic metrics", "other": "Other targets"}
    there = {_measure_of(result) for result in results}
    return {name: title for name, title in titles.items() if name in there}


def labels_of(results: Sequence[Result], measure: str | None = None) -> list[str]:
    """Return the columns of the results in their order, which the row with most columns says.

    Args:
        results: Ours.
        measure: Only those whose true values are of this measure, a key of `headings`.
    """
    rows: dict[str, list[str]] = {}
    for result in results:
        if measure is None or _measure_of(result) == measure:
            rows.setdefault(result.predictor, []).append(result.label)
    return list(dict.fromkeys(chain(*sorted(rows.values(), key=len, reverse=True))))


def _measure_of(result: Result) -> str:
    if result.target != result.predicted and result.label.endswith("]"):
        return "automatic"
    measure = measure_of(result.target)
    return measure.name if measure else "other"


def published_groups(
    published: Sequence[PublishedResult],
) -> dict[str, list[PublishedResult]]:
    """Group published figures by where they stand, under the keys [a], [b] and so on."""
    sources = list(dict.fromkeys(result.source for result in published))
    return {
        f"[{chr(ord('a') + number)}]": [r for r in published if r.source == source]
        for number, source in enumerate(sources)
    }


def notes(results: Sequence[Result], published: Sequence[PublishedResult]) -> list[str]:
    """Return the lines that say what a table's figures are."""
    lines = []
    if any(result.generated for result in results):
        lines.append(GENERATED_NOTE)
    for data in dict.fromkeys((r.config, r.release, r.split) for r in results):
        sizes = {r.label: r.n for r in results if (r.config, r.release, r.split) == data}
        config, release, split = data
        told = f"release {release}, " if release else ""
        part = split if split == ALL_ROWS else f"{split} split"
        lines.append(f"this project's rows: {config}, {told}{part}, {_sizes(sizes)}")
    for config in dict.fromkeys(result.config for result in results):
        lines += other_releases({r.predictor: r.trained_on for r in results}, config)
    lines += fitted_notes(results)
    lines += _means([result for result in results if result.ranked])
    lines.append(MARKS_NOTE)
    for baseline in dict.fromkeys(r.baseline for r in results if r.baseline):
        lines.append(COMPARISON_NOTE.format(baseline=baseline))
    for key, group in published_groups(published).items():
        first = group[0]
        lines.append(
            f"{key} published, {first.config}, {first.split} split, n = {first.n}: {first.source}"
        )
    return lines


def _means(results: Sequence[Result]) -> list[str]:
    """Return a line of means for each set of columns that a predictor has.

    A line has all predictors that have its columns, so that every mean in it is over the same ones.
    """
    columns: dict[str, set[str]] = {}
    for result in results:
        columns.setdefault(result.predictor, set()).add(result.label)
    lines, every = [], labels_of(results)
    for some in dict.fromkeys(map(frozenset, columns.values())):
        if len(some) < 2:
            continue
        having = [r for r in results if r.label in some and some <= columns[r.predictor]]
        means = (
            f"{name} {_number(r).strip()} / {_number(tau).strip()}"
            for name, r, tau in mean_over_targets(having)
        )
        which = f"all {len(every)} columns"
        if len(some) < len(every):
            which = f"{len(some)} of {len(every)} columns ({', '.join(labels_of(having))})"
        lines.append(f"mean over {which}, Pearson / Kendall: {'; '.join(means)}")
    return lines


def _sizes(sizes: dict[str, int]) -> str:
    if len(set(sizes.values())) == 1:
        return f"n = {next(iter(sizes.values()))}"
    by_size: dict[int, list[str]] = {}
    for label, n in sizes.items():
        by_size.setdefault(n, []).append(label)
    return "; ".join(f"n = {n} ({', '.join(labels)})" for n, labels in by_size.items())


def _records(results, published) -> tuple[list[dict], list[dict]]:
    ours = [{k: _json_value(v) for k, v in asdict(result).items()} for result in results]
    return ours, [asdict(result) for result in published]


def _json_value(value):
    # JSON has no NaN; an undefined correlation is null.
    return None if isinstance(value, float) and math.isnan(value) else value


def _json(results, published) -> str:
    ours, theirs = _records(results, published)
    return json.dumps({"rows": ours, "published": theirs}, indent=1, ensure_ascii=False)


def _csv(results, published) -> str:
    import pandas as pd

    ours = pd.DataFrame([asdict(r) | {"published": False, "source": ""} for r in results])
    theirs = pd.DataFrame([asdict(r) | {"published": True} for r in published])
    table = pd.concat([ours, theirs] if len(theirs) else [ours])
    if "fitted_rows" in table:
        table["fitted_rows"] = table["fitted_rows"].astype("Int64")
    return table.to_csv(index=False)


def _latex(results, published) -> str:
    import pandas as pd

    labels = labels_of(results)
    rows = list(table_rows(labels, results, published))
    columns = pd.MultiIndex.from_product([map(_escaped, labels), ["Pearson", "Kendall"]])
    # A missing figure fills both columns with a dash.
    cells = [[_in_latex(half) for cell in row[2] for half in cell or "––"] for row in rows]
    frame = pd.DataFrame(cells, index=[_escaped(row[0]) for row in rows], columns=columns)
    layout = "l" + "rr" * len(labels)
    table = frame.to_latex(escape=False, column_format=layout, multicolumn_format="c")
    *head, body = table.partition("\\midrule\n")
    lines = body.splitlines()
    body = "\n".join([*_ruled(lines[: len(rows)], rows, "\\midrule"), *lines[len(rows) :]])
    table = "".join([*head, body, "\n"])
    comments = (f"% {_escaped(line)}" for line in notes(results, published))
    return "\n".join([*comments, table])


def _in_latex(text: str) -> str:
    text = text.strip()
    for sign, command in (("‡", "ddagger"), ("†", "dagger"), ("↑", "uparrow"), ("↓", "downarrow")):
        text = text.replace(sign, rf"$^\{command}$")
    return text.replace("–", "--")


def _escaped(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%").replace("&", r"\&").replace("→", r"$\to$")


STYLES = {
    "table": _table,
    "markdown": _markdown,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}
