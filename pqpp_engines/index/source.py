"""What an index is made of: the images of a folder, or embeddings in a file of numpy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_engines.errors import IndexingError
from pqpp_files.foreign.arrays import load_array
from pqpp_files.foreign.images import ENDINGS

if TYPE_CHECKING:
    from pqpp_engines.index.encoders import ImageTextEncoder


def embed_folder(
    folder: str, encoder: ImageTextEncoder, batch_size: int = 64
) -> tuple[Any, list[str]]:
    """Return the embeddings of a folder's images, and their paths in it as ids.

    Raises:
        IndexingError: It holds no image.
    """
    from tqdm import tqdm

    root = Path(folder)
    paths = sorted(path for path in root.rglob("*") if path.suffix.lower() in ENDINGS)
    if not paths:
        raise IndexingError(f"{root} holds no image ({', '.join(ENDINGS)})")
    shown = tqdm(paths, unit="image", disable=not sys.stderr.isatty())
    ids = [path.relative_to(root).as_posix() for path in paths]
    return encoder.images(shown, batch_size), ids


def load_embeddings(path: str, ids: str | None = None) -> tuple[Any, list[str]]:
    """Return embeddings of items, memory-mapped, and their ids, one a line of a file.

    Raises:
        IndexingError: They are no floats of shape (items, size) or (items, vectors of each, size).
    """
    form = "neither a folder of images nor embeddings in .npy"
    embeddings = load_array(path, IndexingError, form)
    if embeddings.ndim not in (2, 3) or embeddings.dtype.kind != "f":
        raise IndexingError(
            f"{path}: give floats of shape (items, size), or (items, vectors of each, size)"
        )
    if ids is None:
        return embeddings, [str(number) for number in range(len(embeddings))]
    from pqpp_files.read_table import read_table

    return embeddings, read_table(ids, plain="id").texts("id")


def load_queries(path: str, count: int) -> Any:
    """Return the embeddings of so many queries, memory-mapped.

    Raises:
        IndexingError: They are no table of numbers, or of other queries.
    """
    vectors = load_array(path, IndexingError, "no .npy of embeddings")
    if vectors.ndim != 2:
        raise IndexingError(
            f"`queries` {path}: no .npy of embeddings (no array of shape (queries, size))"
        )
    if len(vectors) != count:
        raise IndexingError(f"`queries`: {len(vectors)} embeddings for {count} queries")
    return vectors
