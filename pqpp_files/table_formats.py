"""The formats of users' tables, each read column by column.

A new format is a class with `read` and a line in `FORMATS`.
"""

import contextlib
import csv
import io
import itertools
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, dropwhile, filterfalse
from pathlib import Path
from typing import Any

from pqpp_files.errors import FileError, reraise
from pqpp_files.extras import require_extra
from pqpp_files.foreign.json_values import BOM, parse_json, parse_user_json
from pqpp_files.foreign.packed import check_parquet, check_size
from pqpp_files.open_input import Input

Columns = dict[str, list[Any]]
ROWS = 256  # rows per batch
_BLANKS = 1_000_000  # further blank rows are not counted, to limit memory
PLACE = "the place in the list"
KEY = "the key"
ROW = "the row"
ADDED = (PLACE, KEY, ROW)
"""The columns that `read_columns` adds."""
UNNAMED = "__index_level_"  # the prefix of pandas' name for an unnamed index level
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
PROMPT_NAMES = ("prompt", "caption", "text", "instruction", "query")
"""Names of columns of prompts, in lower case."""
_SYNONYMS = {"prompt": PROMPT_NAMES, "prompt_id": ("promptid", "queryid")}
_NUMBER = re.compile(r"\s*[+-]?([0-9]*[.])?[0-9]+(e[+-]?[0-9]+)?\s*", re.IGNORECASE)
_COMMA_DECIMAL = re.compile(r"[+-]?[0-9]+(,[0-9]+)?|")


class Format(ABC):
    """A reader of a file in one format.

    Args:
        source: The file.
        requested: The columns to read; None for all.
        plain: The column of records that are not objects (None refuses them), or of lines of text.

    Attributes:
        is_text: Whether all cells are texts, as in CSV.
        header_rows: Number of header rows.
        skipped: Numbers of blank lines and rows, and of titles.
        used_bytes: Size in memory of the lines read so far; a caller that drops them resets it.
        max_bytes: Maximum value of `used_bytes`.
        has_header: Whether the first line of CSV contains the column names; otherwise they are 1,
            2, ... None if the caller has no option `no_header`.
        index: The index columns of a Parquet file, or the range of a numeric index.
        read_as: The requested name of each column that is spelled differently in the file.
        assumptions: Guesses about the file, to report to the user.
    """

    row_is = "row"
    is_text = False
    header_rows = 0
    used_bytes = 0
    max_bytes = sys.maxsize
    has_header: bool | None = None
    index: Sequence[str] | range = ()

    def __init__(self, source: Input, requested: Sequence[str] | None, plain: str | None) -> None:
        self.source, self.requested, self.plain = source, requested, plain
        self.path = source.name
        self.names: list[str] = []
        self.skipped: set[int] = set()
        self.assumptions: dict[str, None] = {}
        self.read_as: dict[str, str] = {}

    @abstractmethod
    def read(self, numbers_as_text: bool = False) -> Columns:
        """Return the requested columns, and set `names` to the names of all columns.

        Args:
            numbers_as_text: Whether to keep numbers in JSON as text.
        """

    def number_rows(self, count: int) -> list[int]:
        """Return the numbers of the first rows, as a spreadsheet or an editor shows them."""
        filled = filterfalse(self.skipped.__contains__, itertools.count(1))
        return [*itertools.islice(filled, self.header_rows, self.header_rows + count)]

    def locate(self, row: int) -> str:
        """Return the file, and the line or row number, of the row at an index, for errors."""
        return f"{self.path}, {self.row_is} {self.number_rows(row + 1)[row]}"

    def _select(self, names: Sequence[str]) -> list[str]:
        """Set `names`, and return the names of the columns to read, in the file's spelling."""
        if not names:
            raise FileError(f"{self.path} has no columns; give a table with named columns")
        requested = set(names if self.requested is None else self.requested)
        selected = [name for name in names if name in requested]
        for name in sorted(requested.difference(names)):
            similar = find_column(names, name)
            if similar and similar not in selected:
                self.read_as[similar] = name
                self.assumptions[f"column {similar} for {name}"] = None
                selected.append(similar)
        if len(set(selected)) < len(selected):
            duplicate = Counter(selected).most_common(1)[0][0]
            raise FileError(f"{self.path}: duplicate column {duplicate!r}; rename or remove one")
        self.names = list(names)
        return selected

    def _read_lines(self) -> Iterator[str]:
        encoding = "utf-8-sig"
        with self.source.open() as file:
            for number, line in enumerate(iter(partial(file.readline, self.max_bytes), b""), 1):
                self.used_bytes += sys.getsizeof(line)
                check_size(self.used_bytes, self.path, self.max_bytes)
                try:
                    text = line.decode(encoding)
                except UnicodeDecodeError:
                    remedy = self.source.remedy if line[:2] != b"PK" else "name Excel files .xlsx"
                    raise FileError(f"{self.path}, line {number}: not UTF-8; {remedy}") from None
                encoding = "utf-8"
                yield text


class Text(Format):
    """One value per line; a blank line is an empty value, except at the end."""

    row_is = "line"

    def read(self, numbers_as_text: bool = False) -> Columns:
        """Return the columns; see `Format.read`."""
        column = self.plain or "text"
        self._select([column])
        lines = [line.rstrip("\r\n") if line.strip() else "" for line in self._read_lines()]
        while lines and not lines[-1]:
            lines.pop()
        if not lines:
            raise FileError(f"{self.path} is empty; write one text per line")
        return {column: lines}


class SeparatedValues(Format):
    """Cells between separators, with a header: CSV, TSV and similar files.

    In a file with one column, a blank line is an empty cell, except at the end; in others it is
    skipped.
    """

    is_text = True
    header_rows = 1

    def read(self, numbers_as_text: bool = False) -> Columns:
        """Return the columns; see `Format.read`."""
        header, records = self.read_header_and_rows()
        selected = {*self._select(header)}
        columns = [*zip(*records, strict=True)] or [()] * len(header)
        cells = {n: [*one] for n, one in zip(header, columns, strict=True) if n in selected}
        if self._dialect[0] == ";":
            for name, column in cells.items():
                if "," in "".join(column) and all(map(_COMMA_DECIMAL.fullmatch, column)):
                    cells[name] = [cell.replace(",", ".") for cell in column]
                    self.assumptions["decimal commas"] = None
        return cells

    def read_header_and_rows(self) -> tuple[list[str], Iterator[list[str]]]:
        """Return the column names and an iterator of rows.

        Raises:
            FileError: All names are numbers, or a row is damaged or has another number of cells
                than the header.
        """
        records = (record for _, record in self._iterate_lines())
        if (header := next(records, None)) is None:
            raise FileError(f"{self.path} has only one line; add a header and rows")
        if self.has_header is False:
            self.header_rows, names = 0, list(map(str, range(1, len(header) + 1)))
            return names, chain([header], records)
        # TREC's topics: a line has the id and the text of a query.
        is_topic = len(header) == 2 and header[0].isdecimal() and not header[1].isdecimal()
        if is_topic and self.has_header is None and self.source.suffix == ".tsv":
            self.assumptions["topics without a header"] = None
            self.header_rows = 0
            return ["prompt_id", "prompt"], chain([header], records)
        names = [name for name in header if name.strip()]
        if names and all(map(_NUMBER.fullmatch, names)):
            fault = f"expected column names, got {', '.join(names)[:60]}; add a header"
            otherwise = ", or give `no_header`" if self.has_header else ""
            raise FileError(f"{self.path}, line 1: {fault}{otherwise}")

        def rows() -> Iterator[list[str]]:
            top_rows = list(itertools.islice(records, 2))
            if len(top_rows) == 2 and all(cell.startswith('{"ImportId"') for cell in top_rows[1]):
                self.assumptions["Qualtrics with three header lines"] = None
                self.header_rows = 3
            else:
                yield from top_rows
            yield from records

        return header, rows()

    def locate(self, row: int) -> str:
        """Return the file and the first line of the row at an index, for errors."""
        lines = itertools.islice(self._iterate_lines(), row + self.header_rows, None)
        return f"{self.path}, line {next(lines)[0]}"

    def _iterate_lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the first line and the cells of each record, header included."""
        separator, quoting, line = self._dialect
        # Lines end where Python's csv module ends them, not at other line breaks of text.
        parts = (
            part
            for text in itertools.islice(self._read_lines(), line - 1, None)
            for part in (io.StringIO(text, newline="") if "\r" in text else (text,))
        )
        reader, width, skipped_lines = _read_csv(parts, separator, quoting), 0, line - 1
        blank_rows: list[tuple[int, list[str]]] = []  # blank lines, rows if another follows
        try:
            for row, record in enumerate(reader, 1):
                is_header = not width
                width = width or len(record)
                if record and len(record) != width:
                    fault = f"expected {width} cell{'s' * (width > 1)}, got {len(record)}"
                    hint = f"put cells that contain a {SEPARATORS[separator]} in quotes"
                    remedy = hint if len(record) > width else "complete the row"
                    raise FileError(f"{self.path}, line {line}: {fault}; {remedy}")
                if any(record) or is_header:
                    yield from blank_rows
                    blank_rows.clear()
                    yield line, record
                elif record or width == 1:
                    blank_rows.append((line, record or [""]))
                elif len(self.skipped) <= _BLANKS:
                    self.skipped.add(row)
                line = reader.line_num + skipped_lines + 1
        except csv.Error as error:
            reason = "unclosed quote" if "end of data" in str(error) else error
            raise FileError(f"{self.path}, line {line}: {reason}; correct this line") from None

    @cached_property
    def _dialect(self) -> tuple[str, int, int]:
        """The separator, the `csv` module's treatment of quotes, and the header's line number."""
        # The separator is the one that gives the header the most requested names, then the most
        # names. In files with tabs, quotes are literal if the rows would otherwise differ in
        # length.
        lines: list[str] = []
        quotes = 0
        for line in self._read_lines():
            if not lines and (match := re.fullmatch("sep=(.)", line.strip("\r\n"), re.IGNORECASE)):
                return match[1] if match[1] in SEPARATORS else ",", csv.QUOTE_MINIMAL, 2
            lines.append(line)
            quotes += line.count('"')
            if quotes % 2 == 0:
                break
        if not "".join(lines).strip():
            raise FileError(f"{self.path} is empty or begins with a blank line; add a header")
        headers = {}
        for separator in SEPARATORS:
            with contextlib.suppress(csv.Error):
                headers[separator] = next(_read_csv(lines, separator))

        def rate_separator(separator: str) -> tuple[bool, int, int]:
            names = {*headers[separator]}
            is_tab = separator == "\t" and self.source.suffix == ".tsv"
            return is_tab, len(names.intersection(self.requested or ())), len(names)

        separator = max(headers, key=rate_separator, default=",")
        if separator != ("\t" if self.source.suffix == ".tsv" else ","):
            self.assumptions[f"{SEPARATORS[separator]}-separated"] = None
        is_quoted = separator != "\t" or self._is_table(csv.QUOTE_MINIMAL)
        if is_quoted or not self._is_table(csv.QUOTE_NONE):
            return separator, csv.QUOTE_MINIMAL, 1
        self.assumptions["unquoted"] = None
        return separator, csv.QUOTE_NONE, 1

    def _is_table(self, quoting: int) -> bool:
        """Return whether all lines, split at tabs, have the same number of cells."""
        widths = set()
        try:
            for record in _read_csv(self._read_lines(), "\t", quoting):
                self.used_bytes = 0
                widths.add(len(record))
        except csv.Error:
            return False
        return len(widths - {0}) == 1


def _read_csv(lines: Iterable[str], separator: str, quoting: int = csv.QUOTE_MINIMAL) -> Any:
    csv.field_size_limit(sys.maxsize)  # a prompt may be long
    return csv.reader(lines, delimiter=separator, strict=True, quoting=quoting)  # type: ignore[arg-type]


class JsonLines(Format):
    """One JSON value per line; blank lines are skipped."""

    row_is = "line"

    def read(self, numbers_as_text: bool = False) -> Columns:
        """Return the columns; see `Format.read`."""
        records = []
        with self.source.open() as file:
            for number, line in enumerate(file, 1):
                text = line.removeprefix(BOM if number == 1 else b"").strip()
                if text:
                    records.append(parse_user_json(text, self.path, number, numbers_as_text))
                elif len(self.skipped) <= _BLANKS:
                    self.skipped.add(number)
        return self._to_columns(records)

    def _to_columns(self, records: list[Any]) -> Columns:
        """Return records as columns, with None for missing keys."""
        # A record that is not an object goes to the column `plain`, if it is set.
        if self.plain and records and not any(isinstance(one, dict) for one in records):
            return {name: records for name in self._select([self.plain])}  # an object is larger
        for row, record in enumerate(records):
            if not isinstance(record, dict):
                if self.plain is None:
                    raise FileError(f"{self.locate(row)}: not a JSON object; correct it")
                records[row] = {self.plain: record}
        selected = self._select(list(dict.fromkeys(name for record in records for name in record)))
        check_size(8 * len(selected) * len(records), self.path, self.source.get_limit())
        return {name: [record.get(name) for record in records] for name in selected}


class Json(JsonLines):
    """A list of records, alone or under a key, an object of records or columns, or JSON Lines."""

    row_is = "record"

    def read(self, numbers_as_text: bool = False) -> Columns:
        """Return the columns; see `Format.read`."""
        content = self.source.read()
        try:
            records = parse_user_json(content, self.path, 1, numbers_as_text)
        except FileError:
            if _guess_suffix(content) != ".jsonl":
                raise
            return super().read(numbers_as_text)
        if isinstance(records, dict) and records:
            is_named = not {*map(str.lower, records)}.isdisjoint(PROMPT_NAMES)
            if is_named and all(isinstance(cells, dict) for cells in records.values()):
                # As `DataFrame.to_json` has it.
                records = {name: [*cells.values()] for name, cells in records.items()}
            lists = [key for key, value in records.items() if isinstance(value, list)]
            if len(lists) == len(records) > 1 and len({*map(len, records.values())}) == 1:
                return {name: records[name] for name in self._select(lists)}
            if all(isinstance(record, dict) for record in records.values()):
                records = [{"key": key, **record} for key, record in records.items()]
            elif len(lists) == 1 and not (set(records) - set(lists)).intersection(PROMPT_NAMES):
                self.assumptions[f"the list {lists[0]!r}"] = None
                records = records[lists[0]]
            else:
                records = [records]
        if not isinstance(records, list) or not records:
            raise FileError(f"{self.path} has no rows; write a JSON list with one object per row")
        return self._to_columns(records)


class Parquet(Format):
    """A Parquet file; an unnamed pandas index is not a column."""

    def read(self, numbers_as_text: bool = False) -> Columns:
        """Return the columns; see `Format.read`."""
        import pyarrow.parquet

        what = f"{self.path} is not a Parquet file"
        with reraise(what, "copy the file again"), self.source.open() as stream:
            file = pyarrow.parquet.ParquetFile(stream)
            names = file.schema_arrow.names
            levels = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
            if len(levels) == 1 and isinstance(levels[0], dict):
                rows = range(file.metadata.num_rows)
                index = range(levels[0]["start"], levels[0]["stop"], levels[0]["step"])
                # A tool that selects rows may keep the index of all rows.
                self.index = index if len(index[: len(rows) + 1]) == len(rows) else rows
            else:
                self.index = [level for level in levels if level in names]
            if self.requested:
                names = [name for name in names if not name.startswith(UNNAMED)]
            selected = self._select(names)
            check_parquet(stream, selected, self.path, self.source.get_limit())
            return file.read(selected, use_threads=False).select(selected).to_pydict()


class Excel(Format):
    """A sheet of an Excel file: the first one with prompts, else the first one.

    Blank rows are skipped, and so are titles: rows with a single cell above the header.
    """

    def read(self, numbers_as_text: bool = False) -> Columns:
        """Return the columns; see `Format.read`."""
        with require_extra(f"reading {self.path}", "excel"):
            import zipfile

            from openpyxl import load_workbook
        with reraise(f"{self.path} is not an Excel file", "save the table as CSV"):
            content, limit = self.source.read(), self.source.get_limit()
            with zipfile.ZipFile(io.BytesIO(content)) as parts:
                check_size(sum(part.file_size for part in parts.infolist()), self.path, limit)
                tags = sum(parts.read(part).count(b"<") for part in parts.infolist())
                check_size(32 * tags, self.path, limit)  # openpyxl keeps all elements of a row
            book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)

            def iterate_rows(sheet: Any) -> Iterator[tuple[int, Sequence[Any]]]:
                for number, cells in enumerate(sheet.values, 1):
                    self.used_bytes += 32 + 8 * len(cells)
                    check_size(self.used_bytes, self.path, limit)
                    if {*cells} - {None}:  # blank rows would fill the memory
                        yield number, cells

            tables = {
                one.title: skip_title_rows(dict(iterate_rows(one))) for one in book.worksheets
            }
        sheets = {name: rows for name, rows in tables.items() if rows}
        if not sheets:
            raise FileError(f"{self.path} has only empty sheets; add a header and rows")
        headers = {
            name: ["" if cell is None else str(cell) for cell in next(iter(rows.values()))]
            for name, rows in sheets.items()
        }
        with_prompts = (name for name, header in headers.items() if find_column(header, "prompt"))
        sheet = next(with_prompts, next(iter(sheets)))
        self.assumptions |= {f"sheet {sheet!r} of {len(tables)}": None} if len(tables) > 1 else {}
        numbers, rows = list(sheets[sheet]), [*sheets[sheet].values()][1:]
        self.skipped = {*range(1, numbers[-1])}.difference(numbers[1:])
        positions = {name: n for n, name in enumerate(headers[sheet])}
        selected = self._select([*filter(None, headers[sheet])])
        return {name: [row[positions[name]] for row in rows] for name in selected}


def skip_title_rows(rows: Mapping[int, Sequence[Any]]) -> dict[int, Sequence[Any]]:
    """Return the rows of a sheet from its header on, by their numbers.

    Example:
        >>> skip_title_rows({1: ("Votes", None), 3: ("prompt", 7), 4: ("a cat", 1)})
        {3: ('prompt', 7), 4: ('a cat', 1)}
    """
    counts = {n: sum(cell is not None for cell in cells) for n, cells in rows.items()}
    width = min(2, max(counts.values(), default=0))
    return dict(dropwhile(lambda item: counts[item[0]] < width, rows.items()))


FORMATS: dict[str, type[Format]] = {".txt": Text, "": Text, ".csv": SeparatedValues}
FORMATS |= {".tsv": SeparatedValues, ".json": Json, ".jsonl": JsonLines}
FORMATS |= {".parquet": Parquet, ".xlsx": Excel}


def locate_row(path: str, row: int) -> str:
    """Return a file and the number of a row, as in `Format.number_rows`, for errors.

    Example:
        >>> locate_row("votes.csv.gz", 2), locate_row("votes.jsonl", 1)
        ('votes.csv.gz, row 2', 'votes.jsonl, line 1')
    """
    form = FORMATS.get(Path(path.lower().removesuffix(".gz")).suffix or ".csv", Format)
    return f"{path}, {form.row_is} {row}"


def open_format(
    source: str | Path | Input,
    requested: Sequence[str] | None,
    plain: str | None,
    kinds: Sequence[str] | None = None,
) -> Format:
    """Return a reader for the format of an input, by its suffix or else by its content.

    Args:
        kinds: The allowed suffixes; None for all.

    Raises:
        FileError: The file does not exist or is a folder, or its format is not allowed.
    """
    kinds = kinds or list(FORMATS)
    source = source if isinstance(source, Input) else Input(source)
    suffix = source.suffix
    if not suffix or (suffix == ".txt" and ".txt" not in kinds):
        guess = _guess_suffix(source.read())
        suffix = guess if guess in kinds else ".csv"
    if suffix not in kinds:
        known = ", ".join(filter(None, kinds))
        raise FileError(f"{source.name}: {suffix!r} is not supported; use one of {known}")
    form = FORMATS[suffix](source, requested, plain)
    if not (source.suffix or source.is_standard or suffix == ""):
        form.assumptions[suffix] = None
    return form


def _guess_suffix(content: bytes) -> str:
    """Return the suffix for the format of a file's content; empty for plain text."""
    if content.startswith(b"PAR1"):
        return ".parquet"
    text = content.removeprefix(BOM).lstrip()
    first = text.partition(b"\n")[0]
    if text.startswith((b"[", b"{")):
        for part, suffix in ((text, ".json"), (first, ".jsonl")):
            with contextlib.suppress(ValueError):
                parse_json(part)
                return suffix
    return ".csv" if is_header(first.decode("utf-8", "replace")) else ""


def is_header(line: str) -> bool:
    """Return whether a line is probably a table's header, with a column of prompts.

    Example:
        >>> is_header('id,"Prompt"'), is_header("a prompt, a caption")
        (True, False)
    """
    return bool({*map(normalize_column_name, re.split(r"[,;\t|]", line))} & {*PROMPT_NAMES, "sep"})


def find_column(names: Iterable[str], name: str) -> str | None:
    """Return the column with this name, ignoring case, spaces and punctuation.

    If there is none, the last components of dotted names are compared. For `prompt` and
    `prompt_id`, synonyms match too. The result is None if no column or several match.

    Example:
        >>> find_column(["Model A", "model b"], "model_a"), find_column(["id", "Text"], "prompt")
        ('Model A', 'Text')
        >>> find_column(["text", "query"], "prompt"), find_column(["meta.prompt"], "prompt")
        (None, 'meta.prompt')
    """
    accepted = _SYNONYMS.get(name) or (normalize_column_name(name) or None,)
    hits = [n for n in names if normalize_column_name(n) in accepted]
    hits = hits or [n for n in names if normalize_column_name(n.rpartition(".")[2]) in accepted]
    return hits[0] if len(hits) == 1 else None


def normalize_column_name(name: str) -> str:
    """Return a column name in lower case, without spaces and punctuation.

    Example:
        >>> normalize_column_name(" Model_A")
        'modela'
    """
    return re.sub(r"[\W_]+", "", name.lower())


def cut_batches(items: Iterable[Any], size: int = ROWS) -> Iterator[list]:
    """Yield the items in lists of up to `size`.

    Example:
        >>> [len(batch) for batch in cut_batches(range(5), 2)]
        [2, 2, 1]
    """
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def get_inner_columns(columns: Columns, requested: Sequence[str]) -> Columns:
    """Return the requested columns; a dotted name refers to a field of a column's objects.

    A column with exactly this name takes precedence. In a list, a number is an index from 0; any
    other name selects this field of each object in the list.

    Example:
        >>> cells = {"data": [{"text": "a cat", "votes": [{"by": 7}]}, None]}
        >>> get_inner_columns(cells, ["data.text", "data.votes.by", "data.votes.0.by"])
        {'data.text': ['a cat', None], 'data.votes.by': [[7], None], 'data.votes.0.by': [7, None]}
    """
    flat: Columns = {}
    for name in requested:
        first, *path = name.split(".")
        if name in columns:
            flat[name] = columns[name]
        elif path and first in columns:
            cells = [_get_inner(cell, path) for cell in columns[first]]
            if any(cell is not None for cell in cells):
                flat[name] = cells
    return flat


def _get_inner(cell: Any, path: Sequence[str]) -> Any:
    for index, name in enumerate(path):
        if isinstance(cell, dict):
            cell = cell.get(name)
        elif isinstance(cell, list) and name.isdecimal():
            cell = cell[int(name)] if int(name) < len(cell) else None
        elif isinstance(cell, list):
            return [_get_inner(inner, path[index:]) for inner in cell]
        else:
            return None
    return cell


def flatten_column(columns: Columns, name: str, requested: Sequence[str]) -> Columns:
    """Return a table with one row per value in the lists and objects of a column.

    The other cells of the row are repeated. The columns `PLACE` (index in the list) and `KEY` (of
    the object) are added. The fields of an object in a list are further columns. If all cells are
    texts such as "[1, 2]", they are read as JSON. A table without lists and objects in the column
    is returned unchanged.

    Args:
        columns: The columns of a format.
        requested: The columns that objects in a list may have.

    Example:
        >>> columns = flatten_column({"id": ["i"], "label": [{"flux": [1, 0]}]}, "label", ())
        >>> columns["id"], columns["label"], columns[KEY], columns[PLACE]
        (['i', 'i'], [1, 0], ['flux', 'flux'], [0, 1])
    """
    column = columns.get(name)
    if column and all(isinstance(cell, str) and cell.lstrip().startswith("[") for cell in column):
        columns = {**columns, name: [parse_json(cell, name) for cell in column]}
    if not any(isinstance(cell, list | dict) for cell in columns.get(name, ())):
        return columns
    records: list[dict[str, Any]] = []
    for cells in zip(*columns.values(), strict=True):
        others = dict(zip(columns, cells, strict=True))
        cell = others[name]
        for key, inner in cell.items() if isinstance(cell, dict) else [(None, cell)]:
            values = enumerate(inner) if isinstance(inner, list) else [(None, inner)]
            for index, value in values:
                fields = {name: None, **value} if isinstance(value, dict) else {name: value}
                records.append({**others, **fields, KEY: key, PLACE: index})
    inner_names = {key for record in records for key in record}.intersection(requested)
    names = dict.fromkeys([*columns, *sorted(inner_names), name, *ADDED])
    return {column: [record.get(column) for record in records] for column in names}
