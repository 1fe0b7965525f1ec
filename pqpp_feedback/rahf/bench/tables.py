"""RichHF's four tables: measured figures beside the published ones, in five formats."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pqpp_feedback.rahf.outputs import check_choice

TABLES = ("scores", "implausibility_heatmap", "misalignment_heatmap", "keywords")
STYLES = ("table", "markdown", "latex", "csv", "json")
_HEADINGS = {
    "table": ("simple", "{}"),
    "markdown": ("github", "### {}\n"),
    "latex": ("latex", "% {}"),
}


def published() -> dict[str, Any]:
    """Return the published figures: their source, and each table with its columns and rows.

    Example:
        >>> published()["tables"]["keywords"]["columns"]
        ['precision', 'recall', 'f1']
    """
    return json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))


def tables(
    found: Mapping[str, Mapping[str, Mapping[str, float]]],
    with_published: bool = True,
    data: str | None = None,
) -> dict[str, dict[str, Any]]:
    """Put measured figures beside the published ones.

    Args:
        found: Name of a model to what `evaluation.feedback_figures` returned for it.
        with_published: Whether the published rows are wanted.
        data: What the figures were measured on.

    Returns:
        A table by its name in `TABLES`: `title`, `columns`, and `rows`, each with `name`,
        `published` and `values` (None where there is no figure); also `data` where it is told.
    """
    result = {}
    for name, known in published()["tables"].items():
        columns = known["columns"]
        rows = [{**row, "published": True} for row in known["rows"] if with_published]
        for model, figures in found.items():
            if name in figures:
                values = [_or_none(figures[name].get(column)) for column in columns]
                rows.append({"name": model, "values": values, "published": False})
        result[name] = {"title": known["title"], "columns": columns, "rows": rows}
        if data is not None:
            result[name]["data"] = data
    return result


def _or_none(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def format_tables(style: str, result: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the four tables as text.

    Args:
        style: One of `STYLES`.
        result: From `tables`.

    Raises:
        PredictorError: The style is none of these.

    Example:
        >>> print(format_tables("markdown", tables({})).splitlines()[0])
        ### Scores: Pearson (PLCC) and Spearman (SRCC)
    """
    check_choice("style", style, STYLES)
    if style == "json":
        return json.dumps({"source": published()["source"], "tables": result}, indent=1) + "\n"
    if style == "csv":
        return _csv(result)
    form, heading = _HEADINGS[style]
    # In a terminal the two correlations of a score share a column, which keeps the lines short.
    blocks = [
        f"{heading.format(one['title'])}\n{_block(one, form, style == 'table')}"
        for one in result.values()
    ]
    return "\n\n".join(blocks) + "\n"


def _block(table: Mapping[str, Any], form: str, paired: bool) -> str:
    from tabulate import tabulate

    from pqpp_files.visible import markdown_cell, visible

    readable = markdown_cell if form == "github" else visible
    shown: dict[str, list[int]] = {}
    for number, name in enumerate(table["columns"]):
        name = name.removesuffix("_plcc").removesuffix("_srcc") if paired else name
        shown.setdefault(name, []).append(number)
    rows = [
        [
            readable(row["name"]) + " (published)" * row["published"],
            *(_cell(row["values"], numbers) for numbers in shown.values()),
        ]
        for row in table["rows"]
    ]
    return tabulate(rows, ["model", *shown], form, disable_numparse=True)


def _cell(values: Sequence[float | None], numbers: Sequence[int]) -> str:
    return " ".join(_number(values[number]) for number in numbers).strip()


def _number(value: float | None) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}"
    return f"{value:.5f}" if "e" in text else text


def _csv(result: Mapping[str, Mapping[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["table", "model", "published", "figure", "value"])
    for name, table in result.items():
        for row in table["rows"]:
            for column, value in zip(table["columns"], row["values"], strict=True):
                cell = "" if value is None else value
                writer.writerow([name, row["name"], row["published"], column, cell])
    return buffer.getvalue()
