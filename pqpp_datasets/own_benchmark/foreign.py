"""A file of another tool, opened: what it holds, as the columns of one of our kinds of file."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.flat_rows import FlatRows
from pqpp_datasets.own_benchmark.formats import converter
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_files.errors import FileError
from pqpp_files.open_input import Input
from pqpp_files.read_table import Codes
from pqpp_files.table_formats import source_of
from pqpp_files.table_formats.table_format import ROW, ROWS

_TABLES = (".json", ".jsonl", ".csv", ".tsv", ".parquet")


class ForeignFile:
    """A file of the format `options.from_format`.

    Args:
        path: The file.
        options: The format, the encoding, and what the user calls columns.

    Attributes:
        flat: What it holds.

    Raises:
        DataFileError: It is not of that format.
    """

    def __init__(self, path: Path, options: BuildOptions) -> None:
        assert options.from_format is not None
        self.path, self._format = path, options.from_format
        convert, columns = converter(options.from_format)
        if columns is not None:  # what else the user names is read, too
            columns = (*columns, *options.columns.values())
        with self._told():
            source = self._source = source_of(
                Input(path, False, options.encoding), columns, None, _TABLES
            )
            self.flat: FlatRows = convert(_records(source), options, str(path))

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """What it is called in its folder."""
        return self.path.name

    def codes(
        self, columns: Sequence[str], tell: Callable[[int], Any]
    ) -> tuple[dict[str, Codes], list[str]]:
        """Return some columns and the names of all, as `read_codes` does."""
        codes = {name: Codes() for name in dict.fromkeys((*columns, ROW))}
        names: dict[str, None] = {}
        rows: Iterator[Mapping[str, Any]] = iter(self.flat.rows)
        with self._told():
            while block := list(itertools.islice(rows, ROWS)):
                tell(len(block))
                names |= dict.fromkeys(name for row in block for name in row)
                for name, column in codes.items():
                    column.extend(row.get(name) for row in block)
        names.pop(ROW, None)
        names |= dict.fromkeys(self._source.names if self._source.wanted else ())
        kept = {name: column for name, column in codes.items() if name in names or name == ROW}
        return kept, list(names)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Tell a file that is of another form than its tool publishes in one line."""
        try:
            yield
        except DataFileError:
            raise
        except FileError as error:
            raise DataFileError(str(error)) from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error!s:.80}"
            raise DataFileError(
                f"{self.path}: not a file of {self._format} as it is published ({reason}); export "
                "it again, or build from a plain table"
            ) from None


def _records(source: Any) -> Iterator[dict[str, Any]]:
    """Give the records of a table, numbers of JSON as the texts that they are."""
    for rows, columns in source.blocks(as_written=True):
        cells = zip(*columns.values(), strict=True) if columns else itertools.repeat((), rows)
        yield from (dict(zip(columns, row, strict=True)) for row in cells)
