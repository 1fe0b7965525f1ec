"""Tables of results in the formats that people put into terminals, papers and spreadsheets."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from pqpp_models.bench.latex import latex_tables
from pqpp_models.bench.notes import notes
from pqpp_models.bench.protocol import Result
from pqpp_models.bench.published import PublishedResult
from pqpp_models.bench.rows import (
    HEADINGS,
    differences,
    halves,
    headings,
    intervals,
    labels_of,
    table_rows,
)


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

    Raises:
        KeyError: If the style is none of these.

    Example:
        >>> print(format_results("json", []))
        {
         "rows": [],
         "published": []
        }
    """
    write = STYLES[style]
    if with_intervals and style in ("table", "markdown"):
        write = partial(write, with_intervals=True)
    return write(results, published)


def _blocks(results, published, style: str, heading: str, with_intervals: bool = False) -> str:
    # A block a measure keeps the table within 80 columns.
    from tabulate import SEPARATING_LINE, tabulate

    from pqpp_files.visible import markdown_cell, visible

    shown = markdown_cell if style == "github" else visible
    blocks = []
    for measure, title in headings(results).items():
        labels = labels_of(results, measure)
        rows = list(table_rows(labels, results, published))
        lines: list[Any] = []
        for place, row in enumerate(rows):
            if style == "simple" and place and row.kind != rows[place - 1].kind:
                lines.append(SEPARATING_LINE)
            texts = (halves(row, column) for column in range(len(row.cells)))
            lines.append([shown(row.name), *(" ".join(cell) if cell else "–" for cell in texts)])
        blocks += [
            heading.format(f"{title}: Pearson Kendall"),
            tabulate(lines, ["predictor", *map(shown, labels)], style, preserve_whitespace=True),
            "",
        ]
    beside = {"95 % intervals": intervals(results) if with_intervals else []}
    if results:
        title = f"Difference from {shown(str(results[0].baseline))}, with the 95 % interval"
        beside[title] = differences(results)
    for title, found in beside.items():
        if cells := [(shown(name), shown(label), *rest) for name, label, *rest in found]:
            blocks += [heading.format(title), tabulate(cells, HEADINGS, style), ""]
    return "\n".join([*blocks, *notes(results, published)])


def _json(results, published) -> str:
    # JSON has no NaN, which alone differs from itself; an undefined correlation is null.
    ours = [{k: v if v == v else None for k, v in asdict(result).items()} for result in results]
    theirs = [asdict(row) for row in published]
    return json.dumps({"rows": ours, "published": theirs}, indent=1, ensure_ascii=False)


def _csv(results, published) -> str:
    import pandas as pd

    ours = pd.DataFrame([asdict(r) | {"published": False, "source": ""} for r in results])
    theirs = pd.DataFrame([asdict(r) | {"published": True} for r in published])
    table = pd.concat([ours, theirs] if len(theirs) else [ours])
    if "fitted_rows" in table:
        table["fitted_rows"] = table["fitted_rows"].astype("Int64")
    return table.to_csv(index=False)


STYLES: dict[str, Callable[..., str]] = {
    "table": partial(_blocks, style="simple", heading="{}"),
    "markdown": partial(_blocks, style="github", heading="**{}**\n"),
    "latex": latex_tables,
    "csv": _csv,
    "json": _json,
}
