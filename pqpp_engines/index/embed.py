"""Embed a folder of images, or shards of texts or images; load embeddings from a file."""

import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pqpp_engines.errors import EngineError
from pqpp_engines.index.encoders import ImageTextEncoder
from pqpp_engines.index.retrieve import EMBEDDING
from pqpp_feedback.assess.pictures import list_images
from pqpp_files.errors import FileError, describe, reraise
from pqpp_files.foreign.arrays import load_array
from pqpp_files.foreign.images import open_image
from pqpp_files.names import pluralize
from pqpp_files.open_input import list_shards
from pqpp_files.paths import expand, join_inside
from pqpp_files.shards import ERROR, find_shards, get_texts


@dataclass
class EmbeddingJob:
    """A job of `pqpp_files.shards` that adds the embedding of a text or an image to each row.

    Args:
        model: The model's name, as for `ImageTextEncoder`; it is loaded before the first shard.
        column: The column of texts or, with `image_dir`, of image paths relative to that folder.
        image_dir: The folder of the images; by default, texts are embedded.
        batch_size: Number of texts or images per batch on a GPU.

    Returns:
        All input columns; `embedding`, lists of float32 or null; and `error`, the reason why an
        embedding is missing.

    Raises:
        EngineError: The model does not compute embeddings, or the input has a column `embedding` or
            `error`.
    """

    model: str
    column: str = "prompt"
    image_dir: str | None = None
    revision: str | None = None
    batch_size: int = 64

    @cached_property
    def encoder(self) -> ImageTextEncoder:
        """The model."""
        return ImageTextEncoder(self.model, self.revision)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings on which embeddings depend besides the rows."""
        model = {"model": self.encoder.model, "revision": self.encoder.revision}
        what = "images" if self.image_dir else "texts"
        return {"job": "embed", **model, "of": what, "column": self.column}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the rows with their embeddings."""
        for name in (EMBEDDING, ERROR):
            if name in table.column_names:
                raise EngineError(f"the input already has a column {name!r}; rename the column")
        texts, faults = get_texts(table, self.column, "", "set `column` to the right one")
        valid = [row for row, fault in enumerate(faults) if fault is None]
        vectors: list[Any] = [None] * len(texts)
        if self.image_dir is None and valid:
            embedded = self.encoder.embed_texts([texts[row] for row in valid], self.batch_size)
            for row, vector in zip(valid, embedded, strict=True):
                vectors[row] = vector.tolist()
        elif valid:
            for row in valid:  # one at a time, so that an unreadable image does not stop a batch
                try:
                    path = join_inside(self.image_dir or "", texts[row])
                    vectors[row] = self.encoder.embed_images([path], 1)[0].tolist()
                except FileError as error:
                    faults[row] = f"the image cannot be read: {describe(error, named=False)}"
        vector_type = pa.list_(pa.float32())
        if self.image_dir and self.encoder.can_match:  # several vectors per image
            vector_type = pa.list_(vector_type)
        table = table.append_column(EMBEDDING, pa.array(vectors, vector_type))
        return table.append_column(ERROR, pa.array(faults, pa.string()))


def read_embedding_shards(
    folder: str | Path,
) -> tuple[NDArray[np.float32], list[str], str, str | None, int]:
    """Return the embeddings that an `EmbeddingJob` wrote.

    Returns:
        The vectors, float32 (rows, size) or (rows, vectors, size); their ids, which are the values
        of the embedded column; the model's name; the model's revision, or None; and the number of
        rows without an embedding.

    Raises:
        EngineError: The folder is from another job, shards are missing, or no row has an embedding.
        FileError: A file is damaged.
    """
    settings, paths = list_shards(expand(folder))
    column, model, revision = (settings.get(name, "") for name in ("column", "model", "revision"))
    texts = column, model, revision or ""
    if settings.get("job") != "embed" or not all(isinstance(text, str) for text in texts):
        raise EngineError(f"{folder}: not written by pqpp search embed; choose another")
    shards = [shard for path in paths for shard in find_shards(str(path))]
    parts: list[NDArray[np.float32]] = []
    ids: list[str] = []
    with reraise(f"{folder} is damaged", "write it again with pqpp search embed", EngineError):
        for shard in shards:
            table = shard.read().select([column, EMBEDDING]).drop_null()
            if len(table):
                parts.append(np.array(table[EMBEDDING].to_pylist(), dtype=np.float32))
                ids += table[column].to_pylist()
        if not ids:
            raise EngineError(f"no row of {folder} has an embedding; see the column {ERROR!r}")
        return np.concatenate(parts), ids, model, revision, sum(s.rows for s in shards) - len(ids)


def embed_folder(
    folder: str, encoder: ImageTextEncoder, batch_size: int = 64
) -> tuple[Any, list[str]]:
    """Return the embeddings of a folder's images, and the images' relative paths as ids.

    Images that cannot be read are left out, with a warning.

    Raises:
        FeedbackError: The folder has no images.
        FileError: No image can be read.
    """
    from tqdm import tqdm

    root, ids, faults = Path(folder), list[str](), dict[str, FileError]()

    def open_images() -> Iterator[Any]:
        for path in tqdm(list_images(root), unit="image", disable=not sys.stderr.isatty()):
            name = path.relative_to(root).as_posix()
            try:
                image = open_image(path)
            except FileError as error:
                faults[name] = error
                continue
            ids.append(name)
            yield image
        if not ids:
            raise next(iter(faults.values()))

    vectors = encoder.embed_images(open_images(), batch_size)
    if faults:
        what = f"left out {pluralize(len(faults), 'image')} that cannot be read"
        logging.getLogger(__name__).warning("%s: %s", what, ", ".join([*faults][:3]))
    return vectors, ids


def load_embeddings(path: str, ids: str | None = None) -> tuple[Any, list[str]]:
    """Return memory-mapped embeddings, and their ids.

    Args:
        path: The embeddings, in .npy.
        ids: A file with one id per line; by default, the ids are row indices.

    Raises:
        EngineError: The array is not of floats of shape (items, size) or (items, vectors, size).
    """
    embeddings = load_array(path, EngineError, "neither a folder of images nor embeddings in .npy")
    if embeddings.ndim not in (2, 3) or embeddings.dtype.kind != "f":
        shapes = "floats of shape (items, size) or (items, vectors, size)"
        actual = f"{embeddings.dtype} of shape {embeddings.shape}"
        raise EngineError(f"{path} must contain {shapes}; got {actual}")
    if ids is None:
        return embeddings, [str(number) for number in range(len(embeddings))]
    from pqpp_files.read_table import read_table

    return embeddings, read_table(ids, plain="id").texts("id")


def load_query_embeddings(path: str, count: int) -> Any:
    """Return memory-mapped embeddings of `count` queries.

    Raises:
        EngineError: The array does not have the shape (count, size).
    """
    vectors = load_array(path, EngineError, "not a .npy file of embeddings")
    if vectors.ndim != 2 or len(vectors) != count:
        raise EngineError(f"`queries` must have shape ({count}, size); got {vectors.shape}")
    return vectors
