"""Read prompts from strings, rows, tables and datasets."""

from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_backbones.prompt.prompt import Prompt
from pqpp_datasets.prompt_text import normalise as normalise
from pqpp_files.paths import is_file_name
from pqpp_models.errors import PredictorError

COLUMN, ID = "prompt", "prompt_id"


def read_prompts(rows: Any) -> list[str]:
    """Return the prompts of rows as a list of strings.

    Args:
        rows: an iterable of strings, of `Prompt`, or of mappings that contain ``"prompt"``; or a
            table with a column ``"prompt"``: a mapping of columns, a ``datasets.Dataset`` (streamed
            ones too) or a pandas ``DataFrame``. Blank prompts are allowed.

    Raises:
        PredictorError: the rows are a single string, have no column ``"prompt"``, or have a prompt
            that is not a string.

    >>> read_prompts(["a cat", "a dog"])
    ['a cat', 'a dog']
    >>> read_prompts([{"prompt": "a cat", "score": 1}])
    ['a cat']
    >>> read_prompts(["a cat", None])
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: the prompt at index 1 is missing; ...
    """
    single = rows.get(COLUMN) if isinstance(rows, Mapping) else rows
    if isinstance(single, str):
        raise PredictorError("`rows` is a single string; put it in a list")
    columns, values = _find_column_names(rows), rows
    if columns is None:
        values = [row.get(COLUMN) if isinstance(row, Mapping) else row for row in rows]
        values = [str(value) if isinstance(value, Prompt) else value for value in values]
    elif COLUMN in columns:
        # `[:]` reads a dataset's column at once, which is a thousand times faster than by cell.
        values = rows[COLUMN][:] if hasattr(rows, "column_names") else rows[COLUMN]
        values = values.to_pylist() if hasattr(values, "to_pylist") else values  # Arrow's
    else:
        names = ", ".join(map(str, columns)) or "none"
        raise PredictorError(
            f"`rows` has no column '{COLUMN}' (columns: {names}); rename the prompt column"
        )
    for index, value in enumerate(values):
        if not isinstance(value, str):
            problem = "missing" if value is None else f"{value!r:.40}, not a string"
            raise PredictorError(f"the prompt at index {index} is {problem}; correct the row")
    return list(values)


def to_prompt_list(prompts: Any) -> Any:
    """Return a single prompt as a list, and anything else unchanged.

    Raises:
        PredictorError: The prompt is the name of a file.

    >>> to_prompt_list("a cat"), to_prompt_list(["a dog"])
    (['a cat'], ['a dog'])
    """
    if isinstance(prompts, str) and is_file_name(prompts):
        remedy = f"pass a list of prompts, or run pqpp predict --file {prompts}"
        raise PredictorError(f"{prompts!r} is the name of a file, not a prompt; {remedy}")
    return [prompts] if isinstance(prompts, str) else prompts


def parse_prompts(rows: Any) -> list[Prompt]:
    """Parse prompts to `Prompt` objects, each distinct prompt once.

    Args:
        rows: the rows, as for ``read_prompts``.

    >>> [prompt.content for prompt in parse_prompts(["a cat, 4k", Prompt.read("a dog")])]
    ['a cat', 'a dog']
    """
    candidates = rows if isinstance(rows, list) else ()
    parsed = {row.text: row for row in candidates if isinstance(row, Prompt)}
    texts = read_prompts(rows)
    for text in texts:
        if text not in parsed:
            parsed[text] = Prompt.read(text)
    return [parsed[text] for text in texts]


def to_mappings(rows: Any) -> list[Any]:
    """Return rows as a list: those of a table as mappings, others unchanged.

    Missing cells of a pandas ``DataFrame`` become None.

    Args:
        rows: rows, a mapping of columns, a pandas ``DataFrame`` or a ``datasets.Dataset``.

    >>> to_mappings({"prompt": ["a cat"], "scores": [[0.5]]})
    [{'prompt': 'a cat', 'scores': [0.5]}]
    """
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        cells = rows.astype(object).where(rows.notna(), None)
        rows = {name: [*map(_unwrap_cell, column)] for name, column in cells.items()}
    if isinstance(rows, Mapping):
        return [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    return list(rows)


def _unwrap_cell(cell: Any) -> Any:
    """Return a list instead of the array that pandas reads from a Parquet file."""
    return cell.tolist() if getattr(cell, "ndim", 0) == 1 else cell


def read_rows(rows: Any, columns: Sequence[str], reader: str) -> list[Mapping[str, Any]]:
    """Return rows as a list of mappings with some required columns.

    Args:
        rows: mappings, a mapping of columns, a pandas ``DataFrame`` or a ``datasets.Dataset``.
        reader: the name of the predictor in messages.

    Raises:
        PredictorError: a row has no value in one of the columns.

    >>> read_rows({"prompt": ["a cat"], "scores": [[0.5]]}, ["prompt", "scores"], "nqc")
    [{'prompt': 'a cat', 'scores': [0.5]}]
    """
    mappings = to_mappings(rows)
    for index, row in enumerate(mappings):
        for name in columns:
            if not isinstance(row, Mapping) or row.get(name) is None:
                raise PredictorError(
                    f"the row at index {index} has no {name!r}; {reader} needs {', '.join(columns)}"
                )
    read_prompts(mappings)
    return mappings


def read_ids(rows: Any) -> list[str | None]:
    """Return the ids of rows as strings, None for rows without an id.

    Args:
        rows: the rows, as for ``read_prompts``, but not a stream.

    >>> read_ids([{"prompt": "a cat", "prompt_id": 7}, "a dog"])
    ['7', None]
    """
    columns = _find_column_names(rows)
    if columns is None:
        values = [row.get(ID) if isinstance(row, Mapping) else None for row in rows]
    else:
        values = rows[ID][:] if ID in columns else [None] * len(rows[COLUMN])
    return [None if value is None else str(value) for value in values]


def _find_column_names(rows: Any) -> list[str] | None:
    """Return the column names of a table, None for other rows."""
    if isinstance(rows, Mapping):
        return list(rows)
    # A streamed dataset also has column_names, but only yields rows: it has no length.
    if hasattr(rows, "column_names") and hasattr(rows, "__len__"):
        return list(rows.column_names)
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):
        return list(rows.columns)
    return None
