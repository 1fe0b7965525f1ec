"""Check the unpacked size of compressed data before it is unpacked."""

import io
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, BinaryIO

from pqpp_files.errors import FileError


def check_parquet(
    opened: Any, columns: list[str], name: str, max_bytes: int, groups: Sequence[int] | None = None
) -> None:
    """Refuse Parquet columns that unpack to more than `max_bytes`.

    Text that a dictionary encoding stores once counts each time it occurs.

    Args:
        columns: The columns to be read.
        name: The file's name, for the error.
        groups: The row groups to read; None for all.

    Raises:
        FileError: The columns are larger.
    """
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(opened)
    paths = [file.schema.column(n).path for n in range(file.metadata.num_columns)]
    requested, join = set(columns), "{}.{}".format
    indices = [n for n, p in enumerate(paths) if requested & {*accumulate(p.split("."), join)}]
    size = 0
    groups = range(file.num_row_groups) if groups is None else groups
    for group in map(file.metadata.row_group, groups):
        for chunk, width in ((group.column(n), file.schema.column(n).length) for n in indices):
            size += max(chunk.total_uncompressed_size, chunk.num_values * max(8, width))
    check_size(size, name, max_bytes)
    file = pyarrow.parquet.ParquetFile(opened, read_dictionary=paths)
    # A thread that frees Python's memory while the process ends would abort it.
    table = file.read_row_groups(groups, columns, use_threads=False)
    check_size(sum(map(_get_size, table.columns)), name, max_bytes)


def check_size(size: int, name: str, max_bytes: int) -> None:
    """Refuse an input that needs more memory than allowed.

    Raises:
        FileError: The size exceeds the limit.
    """
    if size > max_bytes:
        remedy = "raise --max-bytes or PQPP_MAX_BYTES"
        raise FileError(f"{name} needs more than {max_bytes:,} bytes in memory; {remedy}")


def read_limited(file: BinaryIO, max_bytes: int) -> bytes:
    """Return a file's content; of a longer file, at least one byte more than `max_bytes`.

    It is read in pieces, since Python reserves memory for the requested size. A short piece is the
    last one, since reading a terminal again would wait for more input.

    Example:
        >>> typed = iter([b"a cat", b"what is typed after the end"])
        >>> read_limited(type("Terminal", (), {"read": lambda self, size: next(typed)})(), 99)
        b'a cat'
    """
    buffer = io.BytesIO()
    while buffer.tell() <= max_bytes and buffer.write(file.read(1 << 20)) == 1 << 20:
        pass
    return buffer.getvalue()


def _get_size(array: Any) -> int:
    """Return the size of an array in bytes, as if it had no dictionary encoding."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        return sum(map(_get_size, array.chunks))
    if isinstance(array, pa.StructArray):
        return sum(map(_get_size, array.flatten()))
    if isinstance(array, pa.MapArray):
        return _get_size(array.keys) + _get_size(array.items)
    if hasattr(array, "flatten"):  # a list of any type
        return _get_size(array.flatten())
    if not isinstance(array, pa.DictionaryArray) or pa.types.is_primitive(array.type.value_type):
        return array.nbytes
    return pc.sum(pc.take(pc.binary_length(array.dictionary), array.indices)).as_py() or 0
