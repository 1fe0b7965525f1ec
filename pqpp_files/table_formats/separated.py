"""CSV, TSV and their relatives."""

import _csv
import contextlib
import csv
import hashlib
import io
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from pqpp_files.errors import FileError, NoHeaderError
from pqpp_files.table_formats.table_format import ROWS, Block, Format

SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'"}


class Separated(Format):
    """Cells between separators, with a header: CSV, TSV and their relatives.

    In a file of one column a blank line is an empty cell, but for the blank lines at its end; in
    others it is no row.
    """

    row_is = "line"
    is_text = True

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        with self._checked():
            header = self._header()
            with self._text("") as lines:
                reader = self._reader(lines)
                if self.has_header:
                    self._refuse_numbers(header)
                    next(reader)
                else:
                    header = list(map(str, range(1, len(header) + 1)))
                taken = self._take(header)
                yield 0, dict.fromkeys(taken, ())  # the columns of a file without rows
                for rows in self._rows(reader, len(header)):
                    if set(map(len, rows)) - {len(header)}:
                        raise csv.Error
                    cells = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else {}
                    yield len(rows), {name: cells.get(name, ()) for name in taken}

    def _rows(self, reader: Iterator[list[str]], width: int) -> Iterator[list[list[str]]]:
        """Give some rows at a time; what is blank is a cell in one column, but at the end."""
        blank: list[list[str]] = []
        while rows := list(itertools.islice(reader, ROWS)):
            if width > 1 and [] in rows:
                rows = [row for row in rows if row]
            elif blank or [] in rows:
                rows = blank + rows
                blank = list(itertools.takewhile(lambda row: not row, reversed(rows)))
                rows = [row or [""] for row in rows[: len(rows) - len(blank)]]
            yield rows

    def spans(self, size: int) -> tuple[list[str], list[tuple[int, int, int]], str]:
        """Return the columns, of every `size` rows number, first and last byte, and a hash of all.

        Args:
            size: The most rows of a span.

        Raises:
            FileError: The file is damaged; one line that names the line of the file.
        """
        digest = hashlib.sha256()
        with self._checked():
            header = self._header()
            self._refuse_numbers(header)
            self._take(header)
            records = self.records(digest.update)
            _, begin, _ = next(records)
            spans, rows, ends = [], 0, []
            for _, end, record in records:
                ends.append(end)
                if not record:
                    continue  # a row only where another one comes
                for end in ends:
                    rows += 1
                    if rows == size:
                        spans.append((rows, begin, end))
                        begin, rows = end, 0
                ends, last = [], end
            if rows:
                spans.append((rows, begin, last))
        return header, spans, digest.hexdigest()

    def rows_in(self, file: BinaryIO) -> tuple[list[str], list[list[str]]]:
        """Return the columns, and the rows that some bytes of the file hold, as `spans` cuts it."""
        with self._checked():
            header = self._header()
            lines = io.TextIOWrapper(file, "utf-8", self.errors, "")
            rows = [row or [""] for row in self._reader(lines) if row or len(header) == 1]
        return header, rows

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        """Take cells of any length, and say where a file is damaged."""
        limit = csv.field_size_limit(sys.maxsize)  # a prompt may be long
        try:
            with self._explained():
                yield
        except csv.Error:
            for _ in self.records():
                pass
            raise
        finally:
            csv.field_size_limit(limit)

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

    def _reader(self, lines: Iterable[str]) -> _csv.Reader:
        return csv.reader(lines, delimiter=self.separator, strict=True)

    def _header(self) -> list[str]:
        """Find the separator, which fits what is wanted, or gives most; return the header."""
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
        headers = {}
        for separator in SEPARATORS:
            with contextlib.suppress(csv.Error):
                headers[separator] = next(csv.reader(lines, delimiter=separator, strict=True))
        if not headers:
            raise FileError(f"{self.path}, line 1: a quote opens and never closes; correct it")

        def fitness(separator: str) -> tuple[int, int]:
            names = headers[separator]
            return sum(name in names for name in self.wanted or ()), len(names)

        is_tab = self.source.suffix == ".tsv" and "\t" in headers
        self.separator = "\t" if is_tab else max(headers, key=fitness)
        return headers[self.separator]

    def records(
        self, tell: Callable[[bytes], Any] = lambda _: None
    ) -> Iterator[tuple[int, int, list[str]]]:
        """Give each record with the line that it begins on and the byte behind it.

        Slow and sure. The header comes first; a blank line, which is given only where there is one
        column alone, is an empty record.

        Args:
            tell: Is called with the bytes that were read.

        Raises:
            FileError: A record is damaged or has another number of cells than the header.
        """
        position = 0

        def lines() -> Iterator[str]:
            nonlocal position
            with self.source.open() as file:
                for line in (part for whole in file for part in whole.splitlines(True)):
                    tell(line)
                    encoding = "utf-8" if position else "utf-8-sig"
                    position += len(line)
                    yield line.decode(encoding, self.errors)

        reader, width, line = self._reader(lines()), 0, 1
        try:
            for record in reader:
                width = width or len(record)
                if record or width == 1:
                    self._refuse_other_width(line, len(record) or 1, width)
                    yield line, position, record
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

    def place_of(self, row: int) -> str:
        """See `Format.place_of`."""
        line, *_ = next(itertools.islice(self.records(), row + self.has_header, None))
        return f"{self.path}, line {line}"
