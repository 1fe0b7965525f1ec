"""Writing a table part by part, as CSV, JSON, JSON Lines or Parquet: what is read is written back.

`read_table` and other programs read each cell as it was, line breaks of every kind in it too.
Tables of results, whose cells are names and numbers, are written by pandas.
"""

import contextlib
import csv
import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from pqpp_files.errors import FileError

STYLES = ("csv", "json", "jsonl", "parquet")
Part = Mapping[str, Sequence[Any]]


def table_text(style: str, parts: Iterable[Part]) -> Iterator[str]:
    r"""Give the text of a table piece by piece.

    Args:
        style: csv, json or jsonl.
        parts: Columns of some rows each, with the same names in all; at least one.

    Example:
        >>> "".join(table_text("csv", [{"prompt": ["a\rcat", "a dog"], "score": [0.5, None]}]))
        'prompt,score\n"a\rcat",0.5\na dog,\n'
        >>> "".join(table_text("jsonl", [{"prompt": ["a cat"]}, {"prompt": ["a dog"]}]))
        '{"prompt": "a cat"}\n{"prompt": "a dog"}\n'
    """
    if style == "csv":
        return _csv(parts)
    if style == "json":
        return _json(parts)
    rows = map(_records, parts)
    return ("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in some) for some in rows)


def write_parquet(path: Any, parts: Iterable[Part], again: Iterable[Part]) -> None:
    """Write a Parquet file.

    Args:
        path: The file.
        parts: As for `table_text`.
        again: The same columns once more, or of those whose type a part alone does not tell:
            what a column holds is known only at the end.

    Raises:
        FileError: A column holds values of different types, or numbers beyond 64 bits.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = Path(tempfile.mkdtemp())
        >>> parts = [{"prompt": ["a cat"]}, {"prompt": ["a dog"]}]
        >>> write_parquet(folder / "p.parquet", parts, parts)
        >>> import pyarrow.parquet
        >>> pyarrow.parquet.read_table(folder / "p.parquet")["prompt"].to_pylist()
        ['a cat', 'a dog']
    """
    import pyarrow as pa
    import pyarrow.parquet

    known = functools.reduce(_unified, again, pa.schema([]))
    with contextlib.ExitStack() as stack:
        writer = None
        for part in parts:
            if writer is None:
                added = {name: cells for name, cells in part.items() if name not in known.names}
                schema = pa.schema([*known, *_unified(pa.schema([]), added)])
                writer = stack.enter_context(pa.parquet.ParquetWriter(path, schema))
            writer.write_table(pa.table(dict(part), schema=schema))


def _unified(known: Any, part: Part) -> Any:
    """Return a schema that holds what it did and the columns of a part."""
    import pyarrow as pa

    for name, cells in part.items():
        try:
            column = pa.schema([(name, pa.array(cells).type)])
            known = pa.unify_schemas([known, column], promote_options="permissive")
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:150]
            raise FileError(
                f"column {name!r} cannot be written as Parquet, which holds one type a column "
                f"({reason}); write .jsonl"
            ) from None
    return known


def _csv(parts: Iterable[Part]) -> Iterator[str]:
    # A cell with any part of the line end is quoted: with "\r\n" that is each kind of line break.
    lines: list[str] = []
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    for number, part in enumerate(parts):
        if number == 0:
            writer.writerow(list(part))
        writer.writerows(map(_csv_cell, row) for row in zip(*part.values(), strict=True))
        yield "".join(line[:-2] + "\n" for line in lines)
        lines.clear()


def _csv_cell(cell: Any) -> Any:
    """Return a list or an object as JSON, anything else as it is."""
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else cell


def _records(part: Part) -> list[dict[str, Any]]:
    return [dict(zip(part, row, strict=True)) for row in zip(*part.values(), strict=True)]


def _json(parts: Iterable[Part]) -> Iterator[str]:
    opened = False
    for records in filter(None, map(_records, parts)):
        text = json.dumps(records, ensure_ascii=False, indent=1)
        yield ("," if opened else "[") + text[1:-2]
        opened = True
    yield "\n]\n" if opened else "[]\n"
