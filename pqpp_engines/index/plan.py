"""Which index of faiss a collection gets."""

import math
import re
from typing import NamedTuple

from pqpp_engines.errors import IndexingError

_FLAT_UP_TO = 50_000
_SCALAR_UP_TO = 50_000_000
_PQ_BYTES = 64
_TRAIN_PER_CELL = 64  # of vectors; faiss wants 39 at least


class Plan(NamedTuple):
    """An index before it is built.

    Attributes:
        factory: As `faiss.index_factory` reads it.
        train: Number of vectors that it is trained on.
        bytes_a_vector: Size of a vector in the index, with faiss's id.
    """

    factory: str
    train: int
    bytes_a_vector: float


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
    factory = factory or _chosen(vectors)
    match = re.search(r"IVF(\d+)", factory)
    cells = int(match[1]) if match else 0
    each = _bytes_of(factory, size) + (8 if cells else 0)
    return Plan(factory, min(vectors, cells * _TRAIN_PER_CELL), each)


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
    if match := re.search(r"PQ(\d+)$", factory):
        return float(match[1])
    links = re.search(r"HNSW(\d+)", factory)
    return size * 4 + (int(links[1]) * 8 if links else 0)
