"""Tables of figures as text: for a terminal, Markdown, LaTeX, CSV and JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pqpp_files.write_table import table_text

FIGURE_STYLES = ("table", "markdown", "latex", "csv", "json")
_FORMS = {"table": ("simple", "{}"), "markdown": ("github", "### {}\n"), "latex": ("latex", "% {}")}


@dataclass(frozen=True)
class Figures:
    """A table of figures.

    Attributes:
        name: For programs.
        title: For people.
        columns: Of every row; the first ones say what the row is about.
        rows: Column to a text, a number, or a triple of a rate and its interval.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


def figures_text(style: str, tables: Sequence[Figures], notes: Sequence[str] = ()) -> str:
    """Return tables as text.

    Args:
        style: One of `FIGURE_STYLES`.
        tables: What to show.
        notes: Sentences below them; a CSV has none.

    Example:
        >>> rows = [{"task": "Counting", "rate": (0.5, 0.4, 0.6)}]
        >>> print(figures_text("markdown", [Figures("r", "Rates", ["task", "rate"], rows)]))
        ### Rates
        <BLANKLINE>
        | task     | rate           |
        |----------|----------------|
        | Counting | .500 .400-.600 |
    """
    if style == "json":
        shown = {table.name: {"title": table.title, "rows": list(table.rows)} for table in tables}
        return json.dumps({"tables": shown, "notes": list(notes)}, indent=1, ensure_ascii=False)
    if style == "csv":
        cells = [
            (table.name, number, column, list(value) if isinstance(value, tuple) else value)
            for table in tables
            for number, row in enumerate(table.rows)
            for column, value in row.items()
        ]
        return csv_text(("table", "row", "column", "value"), cells)
    from tabulate import tabulate

    from pqpp_files.visible import markdown_cell, visible

    form, heading = _FORMS[style]
    readable = markdown_cell if form == "github" else visible
    blocks = []
    for table in tables:
        rows = [[readable(figure_text(row.get(n))) for n in table.columns] for row in table.rows]
        text = tabulate(rows, list(table.columns), form, disable_numparse=True)
        blocks.append(f"{heading.format(table.title)}\n{text}")
    return "\n\n".join([*blocks, *notes])


def csv_text(names: Sequence[str], cells: Sequence[Sequence[Any]]) -> str:
    r"""Return rows of cells as CSV, the names of their columns first.

    Example:
        >>> csv_text(("n", "value"), [(1, None), (2, 0.5)])
        'n,value\n1,\n2,0.5\n'
    """
    part = {name: [row[n] for row in cells] for n, name in enumerate(names)}
    return "".join(table_text("csv", [part]))


def figure_text(value: Any) -> str:
    """Return a cell as people read it: three digits, an interval behind its rate.

    Example:
        >>> figure_text(0.5), figure_text(-0.0321), figure_text((0.5, 0.4, 1.0)), figure_text(12)
        ('.500', '-.032', '.500 .400-1.000', '12')
    """
    if value is None:
        return ""
    if isinstance(value, tuple):
        rate, low, high = map(figure_text, value)
        return f"{rate} {low}-{high}"
    if isinstance(value, float):
        value = round(value, 3) + 0.0  # no -.000
        return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"
    return str(value)
