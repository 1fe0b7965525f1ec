"""RichHF's four tables: measured figures beside the published ones, in five formats."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from pqpp_models.errors import PredictorError

TABLES = ("scores", "implausibility_heatmap", "misalignment_heatmap", "keywords")


def published() -> dict[str, Any]:
    """Return the published figures: their source, and each table with its columns and rows.

    Example:
        >>> published()["tables"]["keywords"]["columns"]
        ['precision', 'recall', 'f1']
    """
    file = resources.files("pqpp_feedback.rahf.bench") / "published.json"
    return json.loads(file.read_text(encoding="utf-8"))


def tables(
    found: Mapping[str, Mapping[str, Mapping[str, float]]],
    with_published: bool = True,
    data: str | None = None,
) -> dict[str, dict[str, Any]]:
    """Put measured figures beside the published ones.

    Args:
        found: Name of a model to what `evaluation.evaluate` returned for it.
        with_published: Whether the published rows are wanted.
        data: What the figures were measured on.

    Returns:
        A table by its name in `TABLES`: `title`, `columns`, and `rows`, each with `name`,
        `published` and `values` (None where there is no figure); also `data` where it is told.
    """
    known = published()["tables"]
    result = {}
    for name in TABLES:
        columns = known[name]["columns"]
        rows = [
            {"name": row["name"], "published": True, "values": row["values"]}
            for row in known[name]["rows"]
            if with_published
        ]
        rows += [
            {
                "name": model,
                "published": False,
                "values": [_or_none(figures[name].get(column)) for column in columns],
            }
            for model, figures in found.items()
            if name in figures
        ]
        result[name] = {"title": known[name]["title"], "columns": columns, "rows": rows}
        if data is not None:
            result[name]["data"] = data
    return result


def _or_none(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def format_tables(style: str, result: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the four tables as text.

    Args:
        style: `table`, `markdown`, `latex`, `csv` or `json`.
        result: From `tables`.

    Raises:
        PredictorError: The style is none of these.

    Example:
        >>> print(format_tables("markdown", tables({})).splitlines()[0])
        ### Scores: Pearson (PLCC) and Spearman (SRCC)
    """
    if style not in _STYLES:
        raise PredictorError(f"`style` is {style!r}; choose among {', '.join(_STYLES)}")
    return _STYLES[style](result)


def _plain(result: Mapping[str, Mapping[str, Any]]) -> str:
    # The two correlations of a score share a column, which keeps the lines short.
    return _blocks(result, "simple", "{}", _paired)


def _markdown(result: Mapping[str, Mapping[str, Any]]) -> str:
    return _blocks(result, "github", "### {}\n", _single)


def _latex(result: Mapping[str, Mapping[str, Any]]) -> str:
    return _blocks(result, "latex", "% {}", _single)


def _blocks(result, style: str, heading: str, columns_of: Any) -> str:
    from tabulate import tabulate

    blocks = []
    for table in result.values():
        columns = columns_of(table["columns"])
        rows = [
            [_named(row), *(_cell(row["values"], at) for at in columns.values())]
            for row in table["rows"]
        ]
        text = tabulate(rows, ["model", *columns], style, disable_numparse=True)
        blocks.append(f"{heading.format(table['title'])}\n{text}")
    return "\n\n".join(blocks) + "\n"


def _single(columns: Sequence[str]) -> dict[str, list[int]]:
    """Return the columns to show, each with the numbers of the values in it."""
    return {name: [number] for number, name in enumerate(columns)}


def _paired(columns: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, name in enumerate(columns):
        found.setdefault(name.removesuffix("_plcc").removesuffix("_srcc"), []).append(number)
    return found


def _named(row: Mapping[str, Any]) -> str:
    return f"{row['name']} (published)" if row["published"] else row["name"]


def _cell(values: Sequence[float | None], at: Sequence[int]) -> str:
    return " ".join(_number(values[number]) for number in at).strip()


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


def _json(result: Mapping[str, Mapping[str, Any]]) -> str:
    return json.dumps({"source": published()["source"], "tables": result}, indent=1) + "\n"


_STYLES = {
    "table": _plain,
    "markdown": _markdown,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}
STYLES = tuple(_STYLES)
