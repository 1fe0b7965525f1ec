"""Rows that hold more than a prompt."""

from __future__ import annotations

from typing import Any

from pqpp_models.errors import PredictorError


def read_mappings(rows: Any) -> list[Any]:
    """Return rows with more than a prompt as a list; images of a dataset stay undecoded.

    Example:
        >>> read_mappings([{"prompt": "a cat", "images": []}])
        [{'prompt': 'a cat', 'images': []}]
    """
    if isinstance(rows, (str, bytes)) or (isinstance(rows, dict) and "prompt" in rows):
        raise PredictorError("`rows` is one row, not a list of rows; write [row]")
    if hasattr(rows, "cast_column") and hasattr(rows, "features"):
        rows = undecoded(rows)
    try:
        return list(rows)
    except TypeError:
        raise PredictorError(
            f"`rows` is a {type(rows).__name__}; give a list of mappings or a dataset"
        ) from None


def undecoded(table: Any) -> Any:
    """Return a `datasets.Dataset` whose images are read when they are needed, not before."""
    from datasets import Image

    for name, feature in table.features.items():
        if isinstance(feature, Image):
            table = table.cast_column(name, Image(decode=False))
        elif isinstance(getattr(feature, "feature", None), Image):
            table = table.cast_column(name, type(feature)(Image(decode=False)))
    return table
