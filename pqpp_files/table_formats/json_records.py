"""JSON, and JSON Lines."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from pqpp_files.errors import FileError
from pqpp_files.foreign.json_values import BOM, value_parser
from pqpp_files.table_formats.table_format import Block, Format, batches


class JsonLines(Format):
    """A JSON value a line; blank lines are no rows."""

    row_is = "line"
    _rows = 0

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        parse = value_parser(as_written)
        with self._explained():
            for lines in batches(line for _, line in self._numbered()):
                # All at once is quick; a line that is no value of its own changes their number.
                try:
                    records = parse(b"[" + b",".join(lines) + b"]", "", 0)
                except FileError:
                    records = []
                if len(records) != len(lines):
                    raise self._first_fault(parse)
                yield self._columns(records)
        if not self._rows:
            raise FileError(f"{self.path}: the file is empty; write one record on each line")

    def _numbered(self) -> Iterator[tuple[int, bytes]]:
        """Give the lines that are not blank, each with its number."""
        with self.source.open() as file:
            for number, line in enumerate(file, 1):
                text = line.removeprefix(BOM if number == 1 else b"").strip()
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
            records = [self._object(row, record) for row, record in enumerate(records)]
        names: dict[str, None] = dict.fromkeys(self.names)
        for record in records:
            if not record.keys() <= names.keys():
                names.update(dict.fromkeys(record))
        taken = self._take(list(names))
        self._rows += len(records)
        return len(records), {name: [record.get(name) for record in records] for name in taken}

    def _object(self, row: int, record: Any) -> dict[str, Any]:
        """Put a record that is no object into the column that is for such, if there is one."""
        if isinstance(record, dict):
            return record
        if self.plain is None:
            raise FileError(
                f"{self.place_of(self._rows + row)}: no JSON object, an object with a key a "
                "column is needed"
            )
        return {self.plain: record}

    def place_of(self, row: int) -> str:
        """See `Format.place_of`."""
        number, _ = next(itertools.islice(self._numbered(), row, None))
        return f"{self.path}, line {number}"


class Json(JsonLines):
    """A JSON list of records."""

    row_is = "record"
    is_whole = True
    place_of = Format.place_of

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        with self._explained(), self.source.open() as file:
            content = file.read()
        if not content.removeprefix(BOM).strip():
            raise FileError(f"{self.path}: the file is empty; give a JSON list")
        records = value_parser(as_written)(content, str(self.path), 1)
        if (
            self.keyed
            and isinstance(records, dict)
            and all(isinstance(record, dict) for record in records.values())
        ):
            records = [{"key": key, **record} for key, record in records.items()]
        if not isinstance(records, list) or not records:
            raise FileError(f"{self.path}: a list of values or of objects is needed")
        yield from map(self._columns, batches(iter(records)))
