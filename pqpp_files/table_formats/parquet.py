"""Parquet, with the index that pandas may have written."""

from collections.abc import Iterator
from typing import Any

from pqpp_files.errors import FileError, in_a_line
from pqpp_files.table_formats.table_format import Block, Format

UNNAMED = "__index_level_"  # how pandas calls a level of an index that has no name


class Parquet(Format):
    """A Parquet file; an index of pandas that has no name is no column."""

    def blocks(self, as_written: bool = False) -> Iterator[Block]:
        """See `Format.blocks`."""
        import pyarrow as pa
        import pyarrow.parquet

        try:
            with self.source.open() as opened, pa.parquet.ParquetFile(opened) as file:
                levels = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
                if len(levels) == 1 and isinstance(levels[0], dict):
                    self.index = range(levels[0]["start"], levels[0]["stop"], levels[0]["step"])
                else:
                    self.index = [level for level in levels if isinstance(level, str)]
                names = file.schema_arrow.names
                taken = self._take(
                    [n for n in names if self.with_index or not n.startswith(UNNAMED)]
                )
                yield 0, {name: [] for name in taken}
                for batch in file.iter_batches(16_384, columns=taken):
                    columns = map(_cells_of, batch.columns)
                    yield len(batch), dict(zip(batch.schema.names, columns, strict=True))
        except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
            reason = in_a_line(error, named=False)
            raise FileError(f"{self.path}: not Parquet ({reason}); copy it again") from None


def _cells_of(column: Any) -> list[Any]:
    """Return the cells of a pyarrow array; of texts each distinct one is made once."""
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column.to_pylist()
    column = column.dictionary_encode()
    known = column.dictionary.to_pylist()
    return [None if code is None else known[code] for code in column.indices.to_pylist()]
