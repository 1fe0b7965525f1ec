"""The formats that a table of a user comes in, each read as blocks of rows, column by column.

A block is a number of rows, and their cells by column. A reader says in one line what is wrong with
a file, and on which line: the quick way only notices that something is, a slow one finds where.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import math
import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pqpp_files.errors import FileError, NoHeaderError
from pqpp_files.json_values import value_parser

Block = tuple[int, dict[str, Sequence[Any]]]
SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'"}
_ROWS = 256  # few enough to stay in the cache of the processor
_BOM = b"\xef\xbb\xbf"
UNNAMED = "__index_level_"  # how pandas calls a level of an index that has no name


class Format(ABC):
    """A file of one format.

    Args:
        path: The file.
        wanted: The columns to read; all if None.
        plain: The column of a record that is no object, which is refused if None, or of a line of
            text.
    """

    row_is = "row"

    def __init__(self, path: Path, wanted: Sequence[str] | None, plain: str | None) -> None:
        self.path, self.wanted, self.plain = path, wanted, plain
        self.place = path  # where the bytes are, if the path only names them
        self.names: list[str] = []

    @abstractmethod
    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """Give the rows; afterwards `names` are all columns of the file, read or not.

        Args:
            as_written: Numbers of JSON stay the text that they are.
        """

    def place_of(self, row: int) -> str:
        """Say where a row stands, counted from 0."""
        return f"{self.path}, {self.row_is} {row + 1}"

    def _take(self, names: Sequence[str]) -> list[str]:
        """Note the names of the columns, and return those to read."""
        taken = [name for name in names if self.wanted is None or name in self.wanted]
        twice = [name for name in taken if taken.count(name) > 1]
        if twice:
            raise FileError(
                f"{self.path}: the column {twice[0]} stands twice; keep one of them, or rename one"
            )
        self.names = list(names)
        return taken

    def _bytes(self) -> io.BufferedIOBase:
        if self.path.suffix.lower() == ".gz":
            return gzip.open(self.place, "rb")
        return self.place.open("rb")

    def _text(self, newline: str) -> io.TextIOWrapper:
        return io.TextIOWrapper(self._bytes(), "utf-8-sig", newline=newline)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what is wrong with the bytes into one line."""
        try:
            yield
        except UnicodeDecodeError as error:
            raise FileError(
                f"{self.path}, line {self._line_that_is_no_text()}: not UTF-8 ({error.reason}); "
                "convert the file"
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileError(f"{self.path}: a damaged gzip file ({error}); copy it again") from None

    def _line_that_is_no_text(self) -> int:
        with self._bytes() as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return number
        return 1


class Separated(Format):
    """Cells between separators, with a header: CSV, TSV and their relatives.

    In a file of one column a blank line is an empty cell, but for the blank lines at its end; in
    others it is no row.

    Attributes:
        has_header: Whether the first line names the columns, which are called 1, 2, ... if not.
    """

    row_is = "line"
    has_header = True

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        limit = csv.field_size_limit(sys.maxsize)  # a prompt may be long
        try:
            with self._explained():
                self.separator, header = self._header()
                with self._text("") as lines:
                    yield from self._blocks(header, self._reader(lines))
        except csv.Error:
            self._raise_for_first_fault()
            raise
        finally:
            csv.field_size_limit(limit)

    def _blocks(self, header: list[str], reader: Iterator[list[str]]) -> Iterator[Block]:
        if self.has_header:
            self._refuse_numbers(header)
            next(reader)
        else:
            header = list(map(str, range(1, len(header) + 1)))
        taken = self._take(header)
        places = [header.index(name) for name in taken]
        yield 0, dict.fromkeys(taken, ())  # the columns of a file without rows
        blank: list[list[str]] = []
        while rows := list(itertools.islice(reader, _ROWS)):
            if blank or [] in rows:
                if len(header) > 1:
                    rows = [row for row in rows if row]
                else:
                    rows = blank + rows
                    blank = list(itertools.takewhile(lambda row: not row, reversed(rows)))
                    rows = [row or [""] for row in rows[: len(rows) - len(blank)]]
            if set(map(len, rows)) - {len(header)}:
                raise csv.Error
            columns = list(zip(*rows, strict=True)) or [()] * len(header)
            yield (
                len(rows),
                {name: columns[place] for name, place in zip(taken, places, strict=True)},
            )

    def _refuse_numbers(self, header: list[str]) -> None:
        """Refuse names that are all numbers: they are a row, which would be lost."""
        names = [name for name in header if name.strip()]
        try:
            are_numbers = names and all(map(math.isfinite, map(float, names)))
        except ValueError:
            return
        if are_numbers:
            raise NoHeaderError(
                f"{self.path}, line 1: numbers ({', '.join(names)[:60]}) stand where the names of "
                "the columns belong; write a line of names above them"
            )

    def _reader(self, lines: io.TextIOWrapper):
        return csv.reader(lines, delimiter=self.separator, strict=True)

    def _header(self) -> tuple[str, list[str]]:
        """Return the separator and the header: the one that fits what is wanted, or gives most."""
        lines, quotes = [], 0
        with self._text("") as file:
            for line in file:
                lines.append(line)
                quotes += line.count('"')
                if quotes % 2 == 0:
                    break
            if not "".join(lines).strip():
                empty = not any(line.strip() for line in file)
                what = "the file is empty" if empty else "line 1 is blank, the header is needed"
                raise FileError(f"{self.path}: {what}; give a file with a header and rows")
        found = {}
        for separator in SEPARATORS:
            with contextlib.suppress(csv.Error):
                found[separator] = next(csv.reader(lines, delimiter=separator, strict=True))
        if not found:
            raise FileError(f"{self.path}, line 1: a quote opens and never closes; correct it")

        def fitness(separator: str) -> tuple[int, int]:
            header = found[separator]
            return sum(name in header for name in self.wanted or ()), len(header)

        best = max(found, key=fitness)
        if self.path.name.lower().removesuffix(".gz").endswith(".tsv") and "\t" in found:
            best = "\t"
        return best, found[best]

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Give each record with the line that it begins on, the header first, slowly and surely.

        Raises:
            FileError: A record is damaged or has another number of cells than the header.
        """
        with self._text("") as lines:
            reader, width, line = self._reader(lines), 0, 1
            try:
                for record in reader:
                    width = width or len(record)
                    if record or width == 1:
                        self._refuse_other_width(line, len(record) or 1, width)
                        yield line, record or [""]
                    line = reader.line_num + 1
            except csv.Error as error:
                reason = "a quote opens and never closes"
                reason = reason if "end of data" in str(error) else str(error)
                raise FileError(f"{self.path}, line {line}: {reason}; correct it") from None

    def _refuse_other_width(self, line: int, came: int, width: int) -> None:
        if came != width:
            raise FileError(
                f"{self.path}, line {line}: {came} cells came, the header has {width} (a cut file, "
                f"or a cell that holds {SEPARATORS[self.separator]}, which separates cells: put it "
                "in quotes)"
            )

    def _raise_for_first_fault(self) -> None:
        for _ in self.records():
            pass

    def place_of(self, row: int) -> str:
        """See `Format.place_of`."""
        line, _ = next(itertools.islice(self.records(), row + self.has_header, None))
        return f"{self.path}, line {line}"


class JsonLines(Format):
    """A JSON value a line; blank lines are no rows."""

    row_is = "line"
    _rows = 0

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        parse = value_parser(as_written)
        with self._explained():
            for lines in _batches(line for _, line in self._numbered()):
                # All at once is quick; a line that is no value of its own changes their number.
                try:
                    records = parse(b"[" + b",".join(lines) + b"]", "", 0)
                except FileError:
                    records = []
                if len(records) != len(lines):
                    raise self._first_fault(parse)
                yield self._columns(records)
                self._rows += len(records)
        if not self._rows:
            raise FileError(f"{self.path}: the file is empty; write one record on each line")

    def _numbered(self) -> Iterator[tuple[int, bytes]]:
        """Give the lines that are not blank, each with its number."""
        with self._bytes() as file:
            for number, line in enumerate(file, 1):
                text = line.removeprefix(_BOM if number == 1 else b"").strip()
                if text:
                    yield number, text

    def _first_fault(self, parse: Callable) -> FileError:
        for number, line in self._numbered():
            try:
                parse(line, str(self.path), number)
            except FileError as error:
                return error
        return FileError(f"{self.path}: not JSON with one value on each line; correct it")

    def _columns(self, records: list[Any]) -> Block:
        """Turn records into columns; a key that a record lacks is None there."""
        if not all(record.__class__ is dict for record in records):
            records = self._with_plain_ones(records)
        names: dict[str, None] = dict.fromkeys(self.names)
        for record in records:
            if not record.keys() <= names.keys():
                names.update(dict.fromkeys(record))
        taken = self._take(list(names))
        return len(records), {name: [record.get(name) for record in records] for name in taken}

    def _with_plain_ones(self, records: list[Any]) -> list[dict]:
        """Put records that are no objects into the column that is for them, if there is one."""
        if self.plain is None:
            place = next(n for n, record in enumerate(records) if not isinstance(record, dict))
            raise FileError(
                f"{self.place_of(self._rows + place)}: no JSON object, an object with a key a "
                "column is needed"
            )
        return [r if isinstance(r, dict) else {self.plain: r} for r in records]

    def place_of(self, row: int) -> str:
        """See `Format.place_of`."""
        number, _ = next(itertools.islice(self._numbered(), row, None))
        return f"{self.path}, line {number}"


class Json(JsonLines):
    """A JSON list of records."""

    row_is = "record"
    place_of = Format.place_of

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        with self._explained(), self._bytes() as file:
            content = file.read()
        if not content.removeprefix(_BOM).strip():
            raise FileError(f"{self.path}: the file is empty; give a JSON list")
        records = value_parser(as_written)(content, str(self.path), 1)
        if not isinstance(records, list) or not records:
            raise FileError(f"{self.path}: a list of values or of objects is needed")
        yield self._columns(records)


class Text(Format):
    """A value a line; blank lines are left out."""

    row_is = "line"

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        self._take([self.plain])
        rows = 0
        with self._explained():
            for lines in _batches(self._numbered()):
                rows += len(lines)
                yield len(lines), {self.plain: [line for _, line in lines]}
        if not rows:
            came = "the file is empty" if self.place == self.path else "no text came"
            raise FileError(f"{self.path}: {came}; write one on each line")

    def _numbered(self) -> Iterator[tuple[int, str]]:
        with self._text("\n") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line.removesuffix("\n").rstrip("\r")

    def place_of(self, row: int) -> str:
        """See `Format.place_of`."""
        number, _ = next(itertools.islice(self._numbered(), row, None))
        return f"{self.path}, line {number}"


class Parquet(Format):
    """A Parquet file; an index of pandas that has no name is no column.

    Attributes:
        with_index: Whether such an index is given as well.
        index: The columns that are the index, or the numbers that it counts.
    """

    with_index = False
    index: Sequence[str] | range = ()

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        import pyarrow as pa
        import pyarrow.parquet

        try:
            with pa.parquet.ParquetFile(self.place) as file:
                self.index = _index_in(file.schema_arrow.pandas_metadata or {})
                names = file.schema_arrow.names
                shown = [n for n in names if self.with_index or not n.startswith(UNNAMED)]
                taken = self._take(shown)
                yield 0, {name: [] for name in taken}
                for batch in file.iter_batches(16_384, columns=taken):
                    columns = map(_cells_of, batch.columns)
                    yield len(batch), dict(zip(batch.schema.names, columns, strict=True))
        except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:150]
            raise FileError(f"{self.path}: not Parquet ({reason}); copy it again") from None


def _index_in(metadata: dict) -> list[str] | range:
    """Return what pandas noted of the index in a Parquet file: its columns, or a range."""
    levels = metadata.get("index_columns", [])
    if len(levels) == 1 and isinstance(levels[0], dict):
        return range(levels[0]["start"], levels[0]["stop"], levels[0]["step"])
    return [one for one in levels if isinstance(one, str)]


def _cells_of(column: Any) -> list[Any]:
    """Return the cells of a pyarrow array; of texts each distinct one is made once."""
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column.to_pylist()
    column = column.dictionary_encode()
    known = column.dictionary.to_pylist()
    return [None if code is None else known[code] for code in column.indices.to_pylist()]


def _batches(items: Iterator) -> Iterator[list]:
    while batch := list(itertools.islice(items, _ROWS)):
        yield batch


FORMATS: dict[str, type[Format]] = {
    ".txt": Text,
    "": Text,
    ".csv": Separated,
    ".tsv": Separated,
    ".json": Json,
    ".jsonl": JsonLines,
    ".parquet": Parquet,
}


def source_of(
    path: Path, wanted: Sequence[str] | None, plain: str | None, kinds: Sequence[str] | None = None
) -> Format:
    """Return the format that a file's name says, once it is sure that it is a file.

    Raises:
        FileError: There is no such file, it is a folder, or its name says another format.
    """
    kinds = kinds or tuple(FORMATS)
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in kinds or (name.endswith(".gz") and suffix == ".parquet"):
        raise FileError(
            f"{path}: files of type {path.suffix!r} are not read; use one of "
            f"{', '.join(one or 'no suffix' for one in kinds)}"
        )
    if path.is_dir():
        raise FileError(f"{path}: this is a folder; give a file")
    if not path.exists():
        raise FileError(f"{path}: there is no such file; check its name")
    return FORMATS[suffix](path, wanted, plain)
