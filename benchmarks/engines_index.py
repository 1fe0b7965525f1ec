"""Index kinds beside plain calls of faiss, on the same made-up collection in one run.

The collection has topics, each with fifty concepts around it, each with twenty images around it; a
query is as far from its concept's images as a caption is from CLIP's (cosine about .3). An image is
relevant to the queries of its concept. Seconds are of one thread's CPU time, so that other
processes count little.

    OMP_NUM_THREADS=1 python benchmarks/engines_index.py [--images 100000] [--factories A B ...]
"""

import argparse
import os
import platform
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import metrics_timing
import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", "1")
FACTORIES = ("Flat", "IVF1024,Flat", "IVF1024,SQ8", "OPQ64,IVF1024,PQ64", "HNSW32")
_AN_IMAGE, _A_QUERY = 0.7, 3.0  # noise, as a share of the concept's length
_IMAGES_A_CONCEPT, _CONCEPTS_A_TOPIC, _OF_TOPIC = 20, 50, 0.8
_K = 10


@dataclass
class Collection:
    """A made-up collection.

    Attributes:
        images: float32 (images, size).
        queries: float32 (queries, size).
        concepts: The concept of each query; image n is of concept n // 20.
        true: The nearest images of each query, when they have been searched.
    """

    images: np.ndarray
    queries: np.ndarray
    concepts: np.ndarray
    true: np.ndarray | None = None


@dataclass
class Row:
    """What was measured of one way to search."""

    way: str
    bytes_a_vector: float
    build_seconds: float
    ms: float
    recall: float
    precision: float
    reciprocal_rank: float


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=100_000, help="default: %(default)s")
    parser.add_argument("--size", type=int, default=256, help="default: %(default)s")
    parser.add_argument("--queries", type=int, default=500, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--factories", nargs="*", default=FACTORIES)
    options = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in ("faiss-cpu", "numpy"))
    print(f"python {platform.python_version()}, {packages}, one thread")
    print(f"{options.images} x {options.size}, {options.queries} queries, seed {options.seed}")
    data = make_collection(options.images, options.size, options.queries, options.seed)
    rows, timed = [time_exact_search(data)], []
    print_row(rows[0], rows[0])
    for factory in options.factories:
        pair = measure_index(data, factory)
        for row in pair:
            print_row(row, rows[0])
            rows.append(row)
        timed.append(compare(*pair, data))
    print()
    metrics_timing.print_table(timed)


def compare(ours: Row, theirs: Row, data: Collection) -> metrics_timing.Row:
    """Return the searches of an index by us and by faiss alone as a row of the history."""
    size, queries = "{:,} x {}".format(*data.images.shape), len(data.queries)
    what = f"{ours.way.removeprefix('pqpp ')}, {size}, {queries} queries, CPU time"
    seconds = [row.ms / 1000 * queries for row in (theirs, ours)]
    return metrics_timing.Row(what, metrics_timing.add_version("faiss-cpu"), *seconds)


def make_collection(images: int, size: int, queries: int, seed: int) -> Collection:
    """Make a collection and queries; images lie by concept, as no index knows."""
    rng = np.random.default_rng(seed)
    count = -(-images // _IMAGES_A_CONCEPT)
    topics = rng.normal(0, size**-0.5, (-(-count // _CONCEPTS_A_TOPIC), size))
    own = rng.normal(0, size**-0.5, (count, size))
    of = np.arange(count) // _CONCEPTS_A_TOPIC
    concepts = _OF_TOPIC * topics[of] + (1 - _OF_TOPIC**2) ** 0.5 * own
    concepts = concepts.astype(np.float32)
    found = np.empty((images, size), dtype=np.float32)
    for start in range(0, images, 65_536):
        part = found[start : start + 65_536]
        of = np.arange(start, start + len(part)) // _IMAGES_A_CONCEPT
        noise = rng.standard_normal(part.shape, dtype=np.float32)
        part[:] = concepts[of] + noise * np.float32(_AN_IMAGE / np.sqrt(size))
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    asked = rng.choice(count, queries, replace=False)
    noise = rng.standard_normal((queries, size), dtype=np.float32)
    texts = concepts[asked] + noise * np.float32(_A_QUERY / np.sqrt(size))
    return Collection(found, texts / np.linalg.norm(texts, axis=1, keepdims=True), asked)


def count_hits(retrieved: np.ndarray, data: Collection) -> tuple[float, float]:
    """Return precision at 10 and the mean reciprocal rank of the places that were found."""
    hits = retrieved[:, :_K] // _IMAGES_A_CONCEPT == data.concepts[:, None]
    first = np.where(hits.any(axis=1), 1 / (hits.argmax(axis=1) + 1), 0)
    return float(hits.mean()), float(first.mean())


def measure(way, bytes_a_vector, built, search, data) -> Row:
    """Time a search and say what it found."""
    start = time.process_time()
    retrieved = search()
    ms = (time.process_time() - start) / len(data.queries) * 1000
    if data.true is None:
        data.true = retrieved
    true = data.true
    recall = np.mean([np.isin(t, f).mean() for t, f in zip(true, retrieved, strict=True)])
    return Row(way, bytes_a_vector, built, ms, float(recall), *count_hits(retrieved, data))


def time_exact_search(data: Collection) -> Row:
    """Compare all vectors, by faiss, and keep what is true."""
    import faiss

    index = faiss.IndexFlatIP(data.images.shape[1])
    index.add(data.images)
    return measure("faiss Flat", index.d * 4, 0, lambda: index.search(data.queries, _K)[1], data)


def measure_index(data: Collection, factory: str) -> list[Row]:
    """Build an index, and search it by us and by faiss alone."""
    import faiss

    from pqpp_engines.index import build_index

    with tempfile.TemporaryDirectory() as folder:
        ids = [str(one) for one in range(len(data.images))]
        start = time.process_time()
        index = build_index(data.images, ids, f"{folder}/index", factory)
        built = time.process_time() - start
        on_disk = sum(path.stat().st_size for path in Path(f"{folder}/index").iterdir())
        print(
            f"  {factory}: {built:.1f} CPU-s, {on_disk / 1e6:.4g} MB, "
            f"{index.config['probes']} cells searched, recall {index.config['recall_at_10']}"
        )
        each = on_disk / len(data.images)
        name = f"pqpp {factory}"
        ours = measure(name, each, built, lambda: index.search(data.queries, _K)[0], data)
        plain = faiss.read_index(f"{folder}/index/index.faiss")
    search = lambda: plain.search(data.queries, _K)[1]  # noqa: E731
    theirs = measure(f"faiss {factory}", each, np.nan, search, data)
    return [ours, theirs]


def print_row(row: Row, exact: Row) -> None:
    """Print a line of the table of benchmarks/engines.md."""
    print(
        f"| {row.way} | {row.bytes_a_vector:.0f} | {row.build_seconds:.1f} | {row.ms:.2f} | "
        f"{row.recall:.4f} | {row.precision:.4f} ({row.precision - exact.precision:+.4f}) | "
        f"{row.reciprocal_rank:.4f} ({row.reciprocal_rank - exact.reciprocal_rank:+.4f}) |",
        flush=True,
    )


if __name__ == "__main__":
    main()
