"""Tables of results in the formats that people put into terminals, papers and spreadsheets."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from pqpp_files.render_page import BarCell, bar_table
from pqpp_files.visible import markdown_cell, visible
from pqpp_models.bench.latex import latex_tables
from pqpp_models.bench.notes import notes
from pqpp_models.bench.protocol import COEFFICIENTS, PublishedResult, Result
from pqpp_models.bench.rows import HEADINGS, blocks_of, differences, intervals


class BenchTable(pd.DataFrame):
    """Results as a table, whose figures a notebook shows with bars and their intervals.

    Whatever is made of it is a plain one.

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
            cells: list[Any] = [visible(row["predictor"]), visible(row["label"]), f"{row['n']:,}"]
            for name in COEFFICIENTS:
                ends_of = (row[f"{name}_ci_{end}"] for end in ("low", "high"))
                pattern = "{:.3f}" + " [{:.2f}, {:.2f}]".format(*ends_of)
                cells.append(BarCell.of(row[name], limits, pattern))
            rows.append(cells)
        headings = ("predictor", "target", "prompts", "Pearson [95 %]", "Kendall [95 %]")
        data = "; ".join(sorted(set(self["config"] + ", " + self["split"])))
        return str(bar_table(headings, rows, visible(data)))


def format_results(
    style: str,
    results: Sequence[Result],
    published: Sequence[PublishedResult] = (),
    with_intervals: bool = False,
) -> str:
    """Return the results as a table or as data, the published figures beside them and marked so.

    Args:
        style: `table`, `markdown`, `latex`, `csv` or `json`.
        results: Ours, from one split.
        published: The published figures of the same targets.
        with_intervals: Whether a `table` or `markdown` tells the 95 % intervals; data always do.

    Example:
        >>> print(format_results("json", []))
        {
         "rows": [],
         "published": []
        }
    """
    if style == "latex":
        return latex_tables(results, published)
    if style == "json":
        # JSON has no NaN, which alone differs from itself; an undefined correlation is null.
        rows = [{k: v if v == v else None for k, v in vars(result).items()} for result in results]
        both = {"rows": rows, "published": [vars(row) for row in published]}
        return json.dumps(both, indent=1, ensure_ascii=False)
    if style == "csv":
        ours = pd.DataFrame([vars(one) | {"published": False, "source": ""} for one in results])
        theirs = pd.DataFrame([vars(one) | {"published": True} for one in published])
        table = pd.concat([ours, theirs] if len(theirs) else [ours])
        return table.astype({"fitted_rows": "Int64"} if len(ours) else {}).to_csv(index=False)
    form, heading = {"table": ("simple", "{}"), "markdown": ("github", "**{}**\n")}[style]
    return _text(results, published, form, heading, with_intervals)


def _text(results, published, style: str, heading: str, with_intervals: bool) -> str:
    # A block a measure keeps the table within 80 columns.
    from tabulate import SEPARATING_LINE, tabulate

    shown = markdown_cell if style == "github" else visible
    parts = []
    for block in blocks_of(results, published):
        lines: list[Any] = []
        for place, row in enumerate(block.rows):
            if style == "simple" and place and row.kind != block.rows[place - 1].kind:
                lines.append(SEPARATING_LINE)
            texts = (" ".join(half.text for half in cell) if cell else "–" for cell in row.cells)
            lines.append([shown(row.name), *texts])
        names = ["predictor", *map(shown, block.labels)]
        parts += [
            heading.format(f"{block.title}: Pearson Kendall"),
            tabulate(lines, names, style, preserve_whitespace=True),
            "",
        ]
    beside = {"95 % intervals": intervals(results) if with_intervals else []}
    if results:
        title = f"Difference from {shown(str(results[0].baseline))}, with the 95 % interval"
        beside[title] = differences(results)
    for title, found in beside.items():
        if cells := [(shown(name), shown(label), *rest) for name, label, *rest in found]:
            parts += [heading.format(title), tabulate(cells, HEADINGS, style), ""]
    return "\n".join([*parts, *notes(results, published)])
