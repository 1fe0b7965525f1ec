"""Reading prompts from a file of any of the usual formats, or from standard input."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from pqpp_cli.errors import CommandError


def read_prompts(path: str, column: str = "prompt") -> list[str]:
    r"""Read the prompts of a file, in order.

    Args:
        path: A text file (`.txt` or no suffix: a prompt a line, blank lines left out), `.csv`,
            `.tsv`, `.json` (a list), `.jsonl` or `.parquet`; `-` is text on standard input.
        column: The column, or the key of each object, that holds the prompt.

    Raises:
        CommandError: If the format is unknown, or the file has no such column or is damaged.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("id,prompt\n1,a red cat\n")
        >>> read_prompts(str(path))
        ['a red cat']
    """
    if path == "-":
        return _standard_input()
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise CommandError(
            f"{path}: files of type {file.suffix!r} are not read; use one of "
            f"{', '.join(suffix or 'no suffix' for suffix in _READERS)}"
        )
    if file.is_dir():
        raise CommandError(f"{path}: this is a folder; give a file")
    try:
        prompts = list(reader(file, column))
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not UTF-8 at byte {error.start}; convert the file") from None
    for number, prompt in enumerate(prompts, 1):
        if not isinstance(prompt, str):
            raise CommandError(
                f"{path}, record {number}: {column} is {prompt!r}, a text is needed; correct it"
            )
    return prompts


def _standard_input() -> list[str]:
    # The bytes themselves: the terminal's encoding says nothing of a file that is piped in.
    try:
        prompts = _lines(sys.stdin.buffer.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CommandError(f"standard input: not UTF-8 at byte {error.start}; convert it") from None
    if not prompts:
        raise CommandError("standard input: no prompt came; pipe in one a line, or name a --file")
    return prompts


def _lines(text: str) -> list[str]:
    # Only a newline ends a prompt; form feeds and the like may stand in one.
    return [line.rstrip("\r") for line in text.split("\n") if line.strip()]


def _text(file: Path, column: str) -> list[str]:
    return _lines(file.read_text("utf-8-sig"))


def _separated_by(delimiter: str) -> Callable[[Path, str], Iterator[str]]:
    def read(file: Path, column: str) -> Iterator[str]:
        reader = csv.DictReader(
            io.StringIO(file.read_text("utf-8-sig"), newline=""), delimiter=delimiter, strict=True
        )
        _require(file, column, reader.fieldnames or ())
        try:
            for row in reader:
                if None in row or None in row.values():
                    raise CommandError(
                        f"{file}, line {reader.line_num}: another number of cells than the header "
                        "has; quote prompts that hold the separator"
                    )
                yield row[column]
        except csv.Error as error:
            raise CommandError(f"{file}, line {reader.line_num}: {error}; correct it") from None

    return read


def _json(file: Path, column: str) -> Iterator[str]:
    try:
        records = json.loads(file.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{file}: not JSON ({error}); correct it") from None
    if not isinstance(records, list):
        raise CommandError(f"{file}: a list is needed, of texts or of objects with {column!r}")
    for number, record in enumerate(records, 1):
        yield _of_record(f"{file}, record {number}", record, column)


def _jsonl(file: Path, column: str) -> Iterator[str]:
    for number, line in enumerate(file.read_text("utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CommandError(f"{file}, line {number}: not JSON ({error}); correct it") from None
        yield _of_record(f"{file}, line {number}", record, column)


def _of_record(where: str, record: object, column: str):
    if isinstance(record, dict):
        if column not in record:
            raise CommandError(f"{where}: no key {column!r}; name it with --column")
        return record[column]
    return record


def _parquet(file: Path, column: str) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet

    if not file.is_file():
        raise CommandError(f"{file}: no such file")
    try:
        _require(file, column, pa.parquet.read_schema(file).names)
        return pa.parquet.read_table(file, columns=[column])[column].to_pylist()
    except pa.ArrowInvalid as error:
        raise CommandError(f"{file}: not Parquet ({str(error).splitlines()[0]})") from None


def _require(file: Path, column: str, columns) -> None:
    if column not in columns:
        raise CommandError(
            f"{file}: no column {column!r} among {', '.join(columns)[:200]}; name it with --column"
        )


_READERS = {
    ".txt": _text,
    "": _text,
    ".csv": _separated_by(","),
    ".tsv": _separated_by("\t"),
    ".json": _json,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
