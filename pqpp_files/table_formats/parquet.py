"""Parquet, with the index that pandas may have written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pqpp_files.errors import FileError, in_a_line
from pqpp_files.table_formats.table_format import Block, Format

UNNAMED = "__index_level_"  # how pandas calls a level of an index that has no name


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
            with self.source.open() as opened, pa.parquet.ParquetFile(opened) as file:
                self.index = _index_in(file.schema_arrow.pandas_metadata or {})
                names = file.schema_arrow.names
                shown = [n for n in names if self.with_index or not n.startswith(UNNAMED)]
                taken = self._take(shown)
                yield 0, {name: [] for name in taken}
                for batch in file.iter_batches(16_384, columns=taken):
                    columns = map(_cells_of, batch.columns)
                    yield len(batch), dict(zip(batch.schema.names, columns, strict=True))
        except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
            reason = in_a_line(error, named=False)
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
