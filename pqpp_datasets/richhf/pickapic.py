"""Pick-a-Pic v1's prompts and images by image uid, which RichHF's records do not hold themselves.

Source: the Parquet files of the Hub dataset `yuvalkirstain/pickapic_v1` (or `..._no_images`): a row
is a prompt `caption` and two images with `image_0_uid`, `jpg_0`, `image_1_uid`, `jpg_1`.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pqpp_datasets.errors import DataFileError, MissingFileError
from pqpp_files.errors import in_a_line
from pqpp_files.hashes import sha256_of_parts

_UIDS, _IMAGES = ("image_0_uid", "image_1_uid"), ("jpg_0", "jpg_1")


def pickapic_files(folder: str | Path) -> list[Path]:
    """Return the Parquet files of a copy of Pick-a-Pic, at any depth of its folder.

    Raises:
        MissingFileError: If there are none.
    """
    root = Path(folder).expanduser().absolute()
    found = sorted(root.rglob("*.parquet")) if root.is_dir() else []
    if not found:
        raise MissingFileError(
            f"pickapic_dir={str(folder)!r}: no Parquet file is here; give the folder of a copy of "
            "Pick-a-Pic v1"
        )
    return found


def cache_key_of_pickapic(folder: object) -> str:
    """Return a digest of the names, sizes and times of a copy's files, a part of the cache key."""
    stats = [(str(path), path.stat()) for path in pickapic_files(str(folder))]
    text = "\n".join(f"{path}\0{s.st_size}\0{s.st_mtime_ns}" for path, s in stats)
    return sha256_of_parts([text])


class PickapicImages:
    """The prompts and images of some uids, found by one pass over the files.

    Images wait in a temporary file: fifteen thousand of them would fill the memory.
    """

    def __init__(self, folder: str | Path, uids: set[str]):
        self._prompts: dict[str, str] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)
        wanted = pa.array(sorted(uids), pa.string())
        for path in pickapic_files(folder):
            for uid, prompt, image in _matches(path, wanted):
                self._prompts.setdefault(uid, prompt)
                if image and uid not in self._places:
                    self._places[uid] = (self._file.tell(), len(image))
                    self._file.write(image)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def prompt(self, uid: str) -> str | None:
        """Return the prompt of an image, None where the copy lacks it."""
        return self._prompts.get(uid)

    def image(self, uid: str) -> bytes | None:
        """Return the encoded image, None where the copy lacks it."""
        if uid not in self._places:
            return None
        offset, length = self._places[uid]
        self._file.seek(offset)
        return self._file.read(length)


def _matches(path: Path, wanted: pa.Array) -> Iterator[tuple[str, str, bytes | None]]:
    try:
        yield from _matches_of(pq.ParquetFile(path), wanted)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataFileError(
            f"{path}: no readable Parquet file ({in_a_line(error, named=False)}); fetch it again"
        ) from None
    except KeyError as error:
        raise DataFileError(
            f"{path}: no column {error.args[0]}; the files of Pick-a-Pic v1 are needed"
        ) from None


def _matches_of(file: pq.ParquetFile, wanted: pa.Array):
    names = set(file.schema_arrow.names)
    for needed in ("caption", *_UIDS):
        if needed not in names:
            raise KeyError(needed)
    for group in range(file.num_row_groups):
        # The images are nearly all of the bytes: they are read where a uid is wanted, only.
        table = file.read_row_group(group, columns=["caption", *_UIDS])
        for uid_name, image_name in zip(_UIDS, _IMAGES, strict=True):
            rows = pc.indices_nonzero(pc.is_in(table[uid_name], value_set=wanted))
            if not len(rows):
                continue
            images = [None] * len(rows)
            if image_name in names:
                column = file.read_row_group(group, columns=[image_name])[image_name]
                images = column.take(rows).to_pylist()
            uids, captions = (table[name].take(rows).to_pylist() for name in (uid_name, "caption"))
            yield from zip(uids, captions, images, strict=True)
