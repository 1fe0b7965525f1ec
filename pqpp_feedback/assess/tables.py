"""Tables of figures as text: for a terminal, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FIGURE_STYLES = ("table", "markdown", "latex", "csv", "json")
_FORMS = {
    "table": ("simple", "{}"),
    "markdown": ("github", "### {}\n"),
    "latex": ("latex", "% {}"),
}


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
        found = {one.name: {"title": one.title, "rows": list(one.rows)} for one in tables}
        return json.dumps({"tables": found, "notes": list(notes)}, indent=1, ensure_ascii=False)
    if style == "csv":
        from pqpp_files.write_table import table_text

        cells = [
            (one.name, number, column, value)
            for one in tables
            for number, row in enumerate(one.rows)
            for column, value in row.items()
        ]
        names = ("table", "row", "column", "value")
        columns = list(zip(*cells, strict=True)) or [()] * len(names)
        part = {name: list(column) for name, column in zip(names, columns, strict=True)}
        part["value"] = [list(v) if isinstance(v, tuple) else v for v in part["value"]]
        return "".join(table_text("csv", [part]))
    from tabulate import tabulate

    from pqpp_files.visible import markdown_cell, visible

    form, heading = _FORMS[style]
    readable = markdown_cell if form == "github" else visible
    blocks = [
        heading.format(one.title)
        + "\n"
        + tabulate(
            [[readable(figure_text(row.get(name))) for name in one.columns] for row in one.rows],
            list(one.columns),
            form,
            disable_numparse=True,
        )
        for one in tables
    ]
    return "\n\n".join([*blocks, *notes])


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
