"""CSV, TSV and their relatives."""

from __future__ import annotations

import _csv
import contextlib
import csv
import hashlib
import io
import itertools
import math
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from pqpp_files.errors import FileError, NoHeaderError
from pqpp_files.table_formats.table_format import ROWS, Block, Format

SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'"}


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
        with self._checked():
            self.separator, header = self._header()
            with self._text("") as lines:
                yield from self._blocks(header, self._reader(lines))

    def spans(self, size: int) -> tuple[list[str], list[tuple[int, int, int]], str]:
        """Return the columns, of every `size` rows number, first and last byte, and a hash of all.

        Args:
            size: The most rows of a span.

        Raises:
            FileError: The file is damaged; one line that names the line of the file.
        """
        with self._checked():
            self.separator, header = self._header()
            self._refuse_numbers(header)
            self._take(header)
            digest, position = hashlib.sha256(), 0

            def lines() -> Iterator[str]:
                nonlocal position
                with self.source.open() as file:
                    for line in (part for whole in file for part in whole.splitlines(True)):
                        digest.update(line)
                        position += len(line)
                        is_first = position == len(line)
                        yield line.decode("utf-8-sig" if is_first else "utf-8", self.errors)

            reader = self._reader(lines())
            next(reader)
            spans, rows, begin, ends = [], 0, position, []
            for record in reader:
                ends.append(position)
                if not record:
                    ends = ends if len(header) == 1 else []
                    continue  # a row only where another one comes
                if len(record) != len(header):
                    raise csv.Error
                for end in ends:
                    rows += 1
                    if rows == size:
                        spans.append((rows, begin, end))
                        begin, rows = end, 0
                ends = []
                last = position
            if rows:
                spans.append((rows, begin, last))
        return header, spans, digest.hexdigest()

    def rows_in(self, file: BinaryIO) -> tuple[list[str], list[list[str]]]:
        """Return the columns, and the rows that some bytes of the file hold, as `spans` cuts it."""
        with self._checked():
            self.separator, header = self._header()
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
        while rows := list(itertools.islice(reader, ROWS)):
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

    def _reader(self, lines: Iterable[str]) -> _csv.Reader:
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
        if self.source.suffix == ".tsv" and "\t" in found:
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
