"""Tables of results for a terminal, as Markdown, LaTeX, CSV or JSON, or as an HTML page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pqpp_files.escape import escape_cell, escape_controls
from pqpp_files.render_page import PARTS, BarCell, render_page, render_table
from pqpp_files.write_table import format_table

_FORMS = {"table": ("simple", "{}"), "markdown": ("github", "### {}\n"), "latex": ("latex", "% {}")}


@dataclass(frozen=True)
class ResultTable:
    """A table of results.

    Attributes:
        name: The table's name in JSON and CSV.
        title: The title of the displayed table.
        columns: Names of the columns; the first ones describe the row.
        rows: Each maps columns to a string, a number, or a tuple (rate, low, high).
        digits: Decimal places of displayed numbers; rates and their intervals have 3.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    digits: int = 3


def format_tables(style: str, tables: Sequence[ResultTable], notes: Sequence[str] = ()) -> str:
    """Return tables of results as text.

    Args:
        style: table, markdown, latex, csv or json.
        notes: Sentences below the tables; omitted in CSV.

    Example:
        >>> rows = [{"task": "Counting", "rate": (0.5, 0.4, 0.6)}]
        >>> print(format_tables("markdown", [ResultTable("r", "Rates", ["task", "rate"], rows)]))
        ### Rates
        <BLANKLINE>
        | task     | rate              |
        |----------|-------------------|
        | Counting | .500 [.400, .600] |
    """
    if style == "json":
        content = {table.name: {"title": table.title, "rows": list(table.rows)} for table in tables}
        return json.dumps({"tables": content, "notes": list(notes)}, indent=1, ensure_ascii=False)
    if style == "csv":
        flat = [{"table": table.name, **row} for table in tables for row in table.rows]
        names = dict.fromkeys(name for row in flat for name in row)
        return format_table("csv", {name: [row.get(name) for row in flat] for name in names})
    from tabulate import tabulate

    form, heading = _FORMS[style]
    escape = escape_cell if form == "github" else escape_controls
    blocks = []
    for table in tables:
        cells = ([row.get(name) for name in table.columns] for row in table.rows)
        rows = [[escape(format_cell(cell, table.digits)) for cell in row] for row in cells]
        text = tabulate(rows, [*map(escape, table.columns)], form, disable_numparse=True)
        if form == "latex":  # after the end of a row, these would be its options
            text = text.replace("\n [", "\n {}[").replace("\n *", "\n {}*")
        blocks.append(f"{heading.format(escape(table.title))}\n{text}")
    return "\n\n".join([*blocks, *("% " * (form == "latex") + escape(line) for line in notes)])


def render_tables(title: str, tables: Sequence[ResultTable], notes: Sequence[str] = ()) -> str:
    """Return tables of results as a self-contained HTML page, with a bar for each rate.

    Args:
        tables: The tables; empty ones are left out.
        notes: Sentences below the tables.

    Example:
        >>> rows = [{"task": "Counting", "rate": (0.5, 0.4, 0.6)}]
        >>> table = ResultTable("r", "Rates", ["task", "rate"], rows)
        >>> "[.400, .600]" in render_tables("G", [table])
        True
    """
    sections = []
    for table in filter(lambda table: table.rows, tables):
        rows = zip(*(_to_cells(table, name) for name in table.columns), strict=True)
        html = render_table(table.columns, rows)
        sections.append({"head": (table.name, table.title), "html": html})
    return render_page(PARTS / "figures.html", title=title, tables=sections, notes=notes)


def _to_cells(table: ResultTable, column: str) -> list[str | BarCell]:
    """Return the cells of a column; the bars' scale includes 0 and all intervals."""
    values = [row.get(column) for row in table.rows]
    rates = [value for value in values if isinstance(value, tuple)]
    ends = [0.0, *(end for rate in rates for end in rate if end is not None and end == end)]
    limits = (min(ends), max(ends)) if max(ends) > min(ends) else None
    return [
        BarCell.make(value[0], limits, format_cell(value))
        if isinstance(value, tuple)
        else format_cell(value, table.digits)
        for value in values
    ]


def format_cell(value: Any, digits: int = 3) -> str:
    """Return a cell as text: a number is rounded, and the interval follows a rate.

    Example:
        >>> tuple(format_cell(value) for value in (0.5, -0.0321, (0.5, 0.4, 1.0), 12))
        ('.500', '-.032', '.500 [.400, 1.000]', '12')
        >>> format_cell(0.00093, 5)
        '.00093'
    """
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "{} [{}, {}]".format(*map(format_cell, value))
    if isinstance(value, float):
        text = f"{round(value, digits) + 0.0:.{digits}f}"  # no -.000
        text = text[: len(text) - digits + 3] + text[len(text) - digits + 3 :].rstrip("0")
        return text.replace("0.", ".", 1) if abs(value) < 1 else text
    return str(value)
