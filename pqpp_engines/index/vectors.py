"""Embeddings of a collection: of unit length, in 16 bits on disk, compared in parts.

An item has one vector, or several (BLIP-2 gives 32 for an image); the similarity of a query is then
that of the item's best vector.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_engines.errors import IndexingError
from pqpp_files.foreign.arrays import load_array

Floats = NDArray[np.float32]
AT_ONCE = 16_384
"""Vectors that are held in 32 bits at a time."""
SHAPES = "(items, size), or (items, vectors of each, size)"


def unit_vectors(values: Any, what: str, dimensions: Sequence[int] = (2,)) -> Floats:
    """Return vectors of length 1 as float32.

    Args:
        values: Numbers of shape (vectors, size) or more; the last axis is the vector.
        what: What they are, for errors.
        dimensions: How many axes are allowed.

    Raises:
        IndexingError: They are no table of finite numbers, or one is zero.

    Example:
        >>> unit_vectors([[3, 4]], "queries").tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    try:
        with np.errstate(over="ignore"):  # what is too large is infinite, and refused below
            vectors = np.array(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise IndexingError(f"{what}: give numbers of shape (vectors, size)") from None
    if vectors.ndim not in dimensions:
        shapes = "(vectors, size)" if 3 not in dimensions else SHAPES
        raise IndexingError(f"{what} of shape {vectors.shape}: give {shapes}")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(vectors, axis=-1)
    wrong = np.argwhere(~(np.isfinite(lengths) & (lengths > 0)))
    if len(wrong):
        raise IndexingError(f"{what}: row {wrong[0][0] + 1} is zero or not finite; leave it out")
    return np.ascontiguousarray(vectors / lengths[..., None])


def shape_of(embeddings: Any) -> tuple[int, ...]:
    """Return the shape of embeddings.

    Raises:
        IndexingError: Some have more numbers than others.
    """
    try:
        return np.shape(embeddings)
    except ValueError:
        raise IndexingError("embeddings of unequal lengths; give as many numbers each") from None


def unit_parts(embeddings: Any) -> Iterator[Floats]:
    """Give embeddings part by part, of unit length; a memory-mapped array is read in parts."""
    return (unit_vectors(part, "embeddings", (2, 3)) for part in stored_parts(embeddings))


def stored_parts(embeddings: Any) -> Iterator[NDArray]:
    """Give embeddings as they are stored, part by part."""
    step = max(1, AT_ONCE // vectors_of_each(np.shape(embeddings)))
    for start in range(0, len(embeddings), step):
        yield np.asarray(embeddings[start : start + step])


def vectors_of_each(shape: Sequence[int]) -> int:
    """Return how many vectors an item has.

    Example:
        >>> vectors_of_each((10, 512)), vectors_of_each((10, 32, 256))
        (1, 32)
    """
    return 1 if len(shape) == 2 else shape[1]


def write_vectors(path: Path, parts: Iterable[NDArray], shape: Sequence[int]) -> NDArray:
    """Write vectors in 16 bits as a file of numpy, and return it memory-mapped.

    They are written, not mapped: a mapped file on a full disk would end the process.
    """
    header = {"descr": "<f2", "fortran_order": False, "shape": tuple(map(int, shape))}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            file.write(part.astype("<f2", copy=False).tobytes())
    return load_array(path)


def best_cosines(embeddings: NDArray, query: Floats) -> Floats:
    """Return the cosine of each item's best vector and a query, (items,)."""
    cosines = np.asarray(embeddings, dtype=np.float32) @ query
    return cosines if cosines.ndim == 1 else cosines.max(axis=1)


def nearest(embeddings: NDArray, queries: Floats, k: int) -> tuple[NDArray, Floats]:
    """Return the k nearest of all items, int64 and float32 (queries, k), equal ones in order."""
    places = np.zeros((len(queries), 0), dtype=np.int64)
    scores = np.zeros((len(queries), 0), dtype=np.float32)
    per = vectors_of_each(embeddings.shape)
    start = 0
    for part in stored_parts(embeddings):
        flat = part.reshape(-1, part.shape[-1]).astype(np.float32)
        cosines = (queries @ flat.T).reshape(len(queries), len(part), per).max(axis=2)
        here = np.broadcast_to(np.arange(start, start + len(part)), cosines.shape)
        places = np.concatenate([places, here], axis=1)
        scores = np.concatenate([scores, cosines], axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        places = np.take_along_axis(places, best, axis=1)
        scores = np.take_along_axis(scores, best, axis=1)
        start += len(part)
    return places, scores


def strangers(embeddings: NDArray, sample: int, seed: int) -> Floats:
    """Return vectors of a collection with so much noise that they are as far off as a text is.

    A text is no member of a collection of images: CLIP's cosine of a caption and its image is about
    .3. An index that is tuned by its own members looks at too few cells.
    """
    rng = np.random.default_rng(seed)
    flat = embeddings.reshape(-1, embeddings.shape[-1])
    at = np.sort(rng.choice(len(flat), min(sample, len(flat)), replace=False))
    vectors = np.asarray(flat[at], dtype=np.float32)
    return unit_vectors(vectors + rng.normal(0, 3 / np.sqrt(vectors.shape[1]), vectors.shape), "")


def overlap(retrieved: Iterable[NDArray], true: Iterable[NDArray]) -> float:
    """Return the mean share of the true ones among those that were found."""
    return float(np.mean([np.isin(t, f).mean() for f, t in zip(retrieved, true, strict=True)]))
