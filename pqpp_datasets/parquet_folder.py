"""A folder of Parquet files laid out so that plain `load_dataset` takes it, here and on the Hub."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from pqpp_datasets.errors import OptionError

# Its presence tells a folder that was written by us, which may be replaced, from any other.
MARK = ".pqpp-export"
_SHARD_BYTES = 300_000_000
# As small as zstd here, and its checksum lets every reader notice a page that arrived damaged; with
# snappy or zstd a third of all flipped bits come out as other values.
_COMPRESSION = "gzip"


@contextlib.contextmanager
def folder_written_beside(folder: Path) -> Iterator[Path]:
    """Give a temporary folder beside and put it in the place of `folder` when all went well.

    Args:
        folder: The folder to write. One that was written so before is replaced as a whole.

    Raises:
        OptionError: If it is there, not empty, and was not written so.
    """
    folder = Path(folder).absolute()
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder}: this is a file; name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise OptionError(f"{folder}: holds other files; name a new or an empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        new, old = beside / "new", beside / "old"
        new.mkdir()
        yield new
        (new / MARK).touch()
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_split(
    folder: Path, split: str, tables: Iterable[pa.Table], shard_bytes: int = _SHARD_BYTES
) -> list[Path]:
    """Write a split as Parquet shards named as the Hub's viewer expects.

    Args:
        folder: Where the shards go.
        split: Its name; a dot in it becomes a hyphen in the files' names, where no dot may stand.
        tables: The rows, a table at a time; the schema's metadata are kept.
        shard_bytes: A new shard begins when the one at hand holds so many bytes.

    Returns:
        The files written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    writer, size = None, 0
    try:
        for table in tables:
            if writer is None or size >= shard_bytes:
                if writer is not None:
                    writer.close()
                written.append(folder / f"shard-{len(written)}")
                writer = pa.parquet.ParquetWriter(
                    written[-1], table.schema, compression=_COMPRESSION
                )
                size = 0
            # Small row groups keep streaming and the viewer quick.
            writer.write_table(table, row_group_size=1000 if table.nbytes > 10**7 else 10_000)
            size += table.nbytes
    finally:
        if writer is not None:
            writer.close()
    name = split.replace(".", "-")
    return [
        path.rename(folder / f"{name}-{number:05d}-of-{len(written):05d}.parquet")
        for number, path in enumerate(written)
    ]
