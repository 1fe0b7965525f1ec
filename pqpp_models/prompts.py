"""Reading prompts out of whatever a user has: strings, rows, a table or a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pqpp_models.errors import PredictorError

COLUMN = "prompt"


def read_prompts(rows: Any) -> list[str]:
    """Return the prompts of some rows as a list of strings, unchanged.

    Args:
        rows: an iterable of strings, or of mappings that hold ``"prompt"``; or a table with a
            column ``"prompt"``: a mapping of columns, a ``datasets.Dataset`` (streamed ones too)
            or a pandas ``DataFrame``. An empty or blank prompt is allowed: it is a prompt without
            words, so that one blank line does not stop a million others.

    Returns:
        The prompts in their order; an empty list when there are no rows.

    Raises:
        PredictorError: a single string was given, there is no column ``"prompt"``, or a prompt is
            not a string (its index is in the message).

    >>> read_prompts(["a cat", "a dog"])
    ['a cat', 'a dog']
    >>> read_prompts([{"prompt": "a cat", "score": 1}])
    ['a cat']
    >>> read_prompts(["a cat", None])
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: the prompt at index 1 is a NoneType, not a string; ...
    """
    if isinstance(rows, (str, bytes)):
        raise PredictorError(
            f"`rows` is one {type(rows).__name__}, not a list; write [{rows[:20]!r}]"
        )
    columns = _column_names(rows)
    values: Iterable[Any]
    if columns is None:
        try:
            values = iter(rows)
        except TypeError:
            raise PredictorError(
                f"`rows` is a {type(rows).__name__}; give a list of strings, a list of rows with "
                f"'{COLUMN}', or a dataset with a column '{COLUMN}'"
            ) from None
    else:
        values = _column(rows, columns)
    return [_prompt(value, index) for index, value in enumerate(values)]


def _column_names(rows: Any) -> list[str] | None:
    """Return the columns of a table that can be asked for one column, or None for other rows."""
    if isinstance(rows, Mapping):
        return list(rows)
    # A streamed dataset also has column_names, but only yields rows: it has no length.
    if hasattr(rows, "column_names") and hasattr(rows, "__len__"):
        return list(rows.column_names)
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):
        return list(rows.columns)
    return None


def _column(rows: Any, columns: list[str]) -> Iterable[Any]:
    if COLUMN not in columns:
        named = ", ".join(map(str, columns)) or "none"
        raise PredictorError(
            f"`rows` has no column '{COLUMN}' (columns: {named}); rename the column with the texts"
        )
    values = rows[COLUMN]
    if isinstance(values, str):
        raise PredictorError("`rows` is one row, not a list of rows; write [row]")
    return values


def _prompt(value: Any, index: int) -> str:
    if isinstance(value, Mapping):
        if COLUMN not in value:
            named = ", ".join(map(str, value)) or "none"
            raise PredictorError(
                f"the row at index {index} has no '{COLUMN}' (keys: {named}); "
                "rename the key with the text"
            )
        value = value[COLUMN]
    if not isinstance(value, str):
        raise PredictorError(
            f"the prompt at index {index} is a {type(value).__name__}, not a string; "
            "drop the row or turn it into text"
        )
    return value
