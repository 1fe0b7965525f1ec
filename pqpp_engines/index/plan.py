"""Which index of faiss a collection gets, and what it needs."""

import math
import re
from dataclasses import dataclass

from pqpp_engines.errors import IndexingError
from pqpp_engines.index.vectors import AT_ONCE
from pqpp_files.options.option import shown

_MOST = 10**15
_FLAT_UP_TO = 50_000
_SCALAR_UP_TO = 50_000_000
_PQ_BYTES = 64
_TRAIN_PER_CELL = 64  # of vectors; faiss wants 39 at least
_ROUNDS = 10  # of k-means over the cells, as faiss does them
# Measured by benchmarks/engines_index.py on one core of a server (benchmarks/engines.md): seconds
# of a floating-point operation of k-means and of finding cells, of one of learning and giving the
# codes of PQ, of a number that is normalised, written and compared for tuning, and of each link of
# a vector in a graph.
_A_FLOP, _A_CODE_FLOP, _A_NUMBER, _A_LINK = 1.1e-11, 4.6e-10, 1.4e-7, 3.8e-6
_CODES, _CODE_ROUNDS = 256, 25  # of a piece of a vector in PQ, and of k-means over them
_RANGE = 2  # other processors take half of it to double
# Of a build, besides the index and its training sample.
_PARTS, _BESIDE = 3, 100_000_000


@dataclass(frozen=True)
class Plan:
    """An index before it is built.

    Attributes:
        factory: As `faiss.index_factory` reads it.
        cells: Of the inverted file; 0 where there is none.
        train: Vectors that it is trained on.
        bytes_a_vector: Of the index, with the ids of faiss.
        memory: Bytes that a build takes, about; a search maps the index and takes next to nothing.
        disk: Bytes of the folder, with the embeddings in 16 bits for exact re-ranking.
        seconds: Time to build on one core of the machine that it was measured on.
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
        from tqdm import tqdm

        memory, disk = (
            re.sub(r"([kMGTP]?B)$", r" \1", tqdm.format_sizeof(size, "B"))
            for size in (self.memory, self.disk)
        )
        return (
            f"{self.factory}: about {memory} in memory to build it, {disk} on disk, "
            f"{_time(self.seconds)} on one core, as measured on a server"
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
        IndexingError: There are no vectors, or more than any machine holds.

    Example:
        >>> plan_for(1_000, 512).factory, plan_for(1_000_000, 512).factory
        ('Flat', 'IVF4096,SQ8')
    """
    if vectors < 1 or size < 1:
        raise IndexingError(f"{vectors} vectors of {size} numbers: there is nothing to index")
    if max(vectors, size) > _MOST:
        raise IndexingError(f"{shown(vectors)} vectors of {shown(size)} numbers: {_MOST:,} at most")
    vectors, size = int(vectors), int(size)  # numpy's may be too narrow for a product
    if factory is None:
        factory = _chosen(vectors)
    match = re.search(r"IVF(\d+)", factory)
    cells = int(match[1]) if match else 0
    train = min(vectors, cells * _TRAIN_PER_CELL)
    each = _bytes_of(factory, size) + (8 if cells else 0)
    own = round(vectors * each + cells * size * 4)
    memory = own + train * size * 4 + _PARTS * AT_ONCE * size * 4 + _BESIDE
    flops = 2 * cells * size * (_ROUNDS * train + vectors)
    seconds = flops * _A_FLOP + vectors * (size * _A_NUMBER + _links(factory) * _A_LINK)
    if "PQ" in factory:
        learned = _CODE_ROUNDS * min(train, _CODES * 256)
        seconds += 2 * _CODES * size * (learned + vectors) * _A_CODE_FLOP
    return Plan(factory, cells, train, each, memory, own + vectors * size * 2, seconds)


def _links(factory: str) -> int:
    match = re.search(r"HNSW(\d+)", factory)
    return int(match[1]) if match else 0


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
    return size * 4 + _links(factory) * 8


def _time(seconds: float) -> str:
    """Say a range, as other processors are faster or slower.

    >>> _time(120), _time(60_000)
    ('60 to 240 s', '8 to 34 h')
    """
    unit, each = ("h", 3600) if seconds > 3600 else ("s", 1)
    least, most = seconds / each / _RANGE, seconds / each * _RANGE
    return f"{math.floor(least)} to {math.ceil(most)} {unit}"
