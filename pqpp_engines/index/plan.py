"""Which index of faiss a collection gets, and what it needs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pqpp_engines.errors import IndexingError

_FLAT_UP_TO = 50_000
_SCALAR_UP_TO = 50_000_000
_PQ_BYTES = 64
# Vectors a cell that faiss wants for k-means, and centroids a second and core that it learns on one
# of today's cores; a rough guide to the time.
_TRAIN_PER_CELL, _ADDS_A_SECOND = 64, 40_000


@dataclass(frozen=True)
class Plan:
    """An index before it is built.

    Attributes:
        factory: As `faiss.index_factory` reads it.
        cells: Of the inverted file; 0 where there is none.
        train: Vectors that it is trained on.
        bytes_a_vector: Of the index, with the ids of faiss.
        memory: Bytes that the index takes when it is loaded.
        disk: Bytes of the folder, with the embeddings in 16 bits for exact re-ranking.
        seconds: Very rough time to build on one core.
    """

    factory: str
    cells: int
    train: int
    bytes_a_vector: float
    memory: int
    disk: int
    seconds: float

    def told(self) -> str:
        """Say it in a line."""
        return (
            f"{self.factory}: {_size(self.memory)} in memory, {_size(self.disk)} on disk, about "
            f"{max(1, round(self.seconds))} s on one core"
        )


def plan_for(vectors: int, size: int, factory: str | None = None) -> Plan:
    """Choose an index by the size of a collection.

    Up to 50,000 vectors all are compared (`Flat`); up to 50 million an inverted file holds them in
    8 bits a number; beyond, in 64 bytes a vector. What is found is ranked anew by the embeddings in
    16 bits, so that a coarse index costs recall only where it misses a vector altogether.

    Args:
        vectors: How many there will be.
        size: Numbers of each.
        factory: Another choice, as `faiss.index_factory` reads it.

    Raises:
        IndexingError: There are no vectors.

    Example:
        >>> plan_for(1_000, 512).factory, plan_for(1_000_000, 512).factory
        ('Flat', 'IVF4096,SQ8')
    """
    if vectors < 1 or size < 1:
        raise IndexingError(f"{vectors} vectors of {size} numbers: there is nothing to index")
    if factory is None:
        factory = _chosen(vectors)
    found = re.search(r"IVF(\d+)", factory)
    cells = int(found[1]) if found else 0
    train = min(vectors, cells * _TRAIN_PER_CELL)
    each = _bytes_of(factory, size) + (8 if cells else 0)
    memory = round(vectors * each + cells * size * 4)
    seconds = vectors / _ADDS_A_SECOND * (1 + cells / 4096) + train * cells * size / 4e9
    return Plan(factory, cells, train, each, memory, memory + vectors * size * 2, seconds)


def _chosen(vectors: int) -> str:
    if vectors <= _FLAT_UP_TO:
        return "Flat"
    cells = 2 ** round(math.log2(4 * math.sqrt(vectors)))
    if vectors <= _SCALAR_UP_TO:
        return f"IVF{cells},SQ8"
    return f"OPQ{_PQ_BYTES},IVF{cells},PQ{_PQ_BYTES}"


def _bytes_of(factory: str, size: int) -> float:
    for pattern, each in ((r"SQ8", 1.0), (r"SQfp16", 2.0), (r"SQ4", 0.5)):
        if re.search(pattern, factory):
            return size * each
    if found := re.search(r"PQ(\d+)$", factory):
        return float(found[1])
    links = re.search(r"HNSW(\d+)", factory)
    return size * 4 + (int(links[1]) * 8 if links else 0)


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
