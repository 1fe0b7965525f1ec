"""A folder of Parquet files laid out so that plain `load_dataset` takes it, here and on the Hub."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from pqpp_datasets.errors import OptionError
from pqpp_files.check_output import check_output_folder
from pqpp_files.errors import FileError
from pqpp_files.write_beside import whole_folder

# Its presence tells a folder that was written by us, which may be replaced, from any other. It
# lists the files that were written, a path a line; what else lies there is somebody's own.
MARK = ".pqpp-export"
# What an export holds; the only files of ours in a folder whose mark is from before the list.
PATTERNS = ("data/*.parquet", "data/*/*.parquet", "croissant.json", "report.html")
CARD = "README.md"
_SHARD_BYTES = 300_000_000
# As small as zstd here, and its checksum lets every reader notice a page that arrived damaged; with
# snappy or zstd a third of all flipped bits come out as other values.
_COMPRESSION = "gzip"


@contextlib.contextmanager
def export_folder(folder: Path, inputs: Iterable[Path] = ()) -> Iterator[Path]:
    """Give a new folder that takes the place of `folder` when all went well, with the mark in it.

    Args:
        folder: The folder to write. One that was written so before, and holds nothing else, is
            replaced as a whole.
        inputs: Files that are read for it, which must not lie in it.

    Raises:
        OptionError: It is there, not empty, and was not written so, or holds other files too.
    """
    try:
        check_output_folder(folder, inputs=inputs)
    except FileError as error:
        raise OptionError(str(error)) from None
    with whole_folder(folder, check=_refuse_files_of_others) as new:
        yield new
        (new / MARK).write_text("".join(f"{name}\n" for name in sorted(_files_in(new))), "utf-8")


def _refuse_files_of_others(folder: Path) -> None:
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    others = _files_in(folder)
    if (folder / MARK).exists():
        others = sorted(set(others) - set(files_listed(folder)))
    elif not others:
        others = [path.name for path in folder.iterdir()]
    if others:
        raise OptionError(
            f"{folder}: holds other files, such as {others[0]!r:.60}; name a new or an empty folder"
        )


def _files_in(folder: Path) -> list[str]:
    """Return the paths of all files but the mark; a link is a file, wherever it leads."""
    found = (p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())
    return sorted(n for n in (p.relative_to(folder).as_posix() for p in found) if n != MARK)


def files_of_ours(folder: Path) -> list[str]:
    """Return the paths of the files that are named as an export names them."""
    found = (path for pattern in (*PATTERNS, CARD) for path in folder.glob(pattern))
    return sorted(path.relative_to(folder).as_posix() for path in found)


def files_listed(folder: Path) -> list[str]:
    """Return the paths that a folder's mark lists: what was written there.

    Args:
        folder: A folder with a mark; an empty one, from before the list, stands for the files that
            are named as an export names them.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "README.md").write_text(""), (folder / MARK).write_text("")
        >>> files_listed(folder)
        ['README.md']
    """
    listed = (folder / MARK).read_text("utf-8", "replace").splitlines()
    return listed or files_of_ours(folder)


def write_split(
    folder: Path, split: str, tables: Iterable[pa.Table], shard_bytes: int = _SHARD_BYTES
) -> list[Path]:
    """Write a split as Parquet shards named as the Hub's viewer expects.

    Args:
        folder: Where the shards go.
        split: Its name; a dot in it becomes a hyphen in the files' names, where no dot may stand.
        tables: The rows, a table at a time; the schema's metadata are kept.
        shard_bytes: A new shard begins when the one at hand holds so many bytes.
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
