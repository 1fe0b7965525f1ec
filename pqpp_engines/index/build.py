"""Building an index: embeddings to a folder, with as many cells looked at as it needs."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_engines.errors import IndexingError
from pqpp_engines.index.folder import EMBEDDINGS, FILES, set_probes, write_rest
from pqpp_engines.index.ids import ItemIds
from pqpp_engines.index.index import Index, candidates
from pqpp_engines.index.plan import Plan, plan_for
from pqpp_engines.index.vectors import (
    SHAPES,
    nearest,
    overlap,
    shape_of,
    stored_parts,
    strangers,
    unit_parts,
    vectors_of_each,
    write_vectors,
)
from pqpp_files.errors import in_a_line
from pqpp_files.extras import needing
from pqpp_files.paths import expanded
from pqpp_files.write_beside import whole_folder

_SAMPLE = 200
_RECALL = 0.99


def build_index(
    embeddings: Any,
    ids: Sequence[str],
    output: str | os.PathLike[str],
    factory: str | None = None,
    model: str = "",
    revision: str | None = None,
    seed: int = 0,
) -> Index:
    """Build an index over embeddings and write it as a folder, whole or not at all.

    The number of cells that a search looks at is the least power of two with a recall@10 of .99 on
    a sample.

    Args:
        embeddings: Shape (items, size), or (items, vectors of each, size) as BLIP-2 gives them; a
            memory-mapped array is read in parts. They are normalised, so that inner products are
            cosines, and kept in 16 bits.
        ids: What they are of, one an item, each once, without line breaks.
        output: The folder.
        factory: As for `plan_for`.
        model: That made them: name, for those who search.
        revision: Of the model.
        seed: Of the training sample.

    Raises:
        IndexingError: The ids do not fit, a vector is zero or not finite, or faiss refuses the
            factory.
        OSError: The disk has no room for it; one line.

    Example:
        >>> import tempfile
        >>> vectors = np.eye(4, 8)
        >>> index = build_index(vectors, list("abcd"), tempfile.mkdtemp())
        >>> places, cosines = index.search(vectors[2:3], k=1)
        >>> index.ids[places[0, 0]], float(cosines[0, 0])
        ('c', 1.0)
    """
    with needing("pqpp search", "engines"):
        import faiss

    shape = shape_of(embeddings)
    if len(shape) not in (2, 3):
        raise IndexingError(f"embeddings of shape {shape}: give {SHAPES}")
    names = ItemIds.of(ids, shape[0])
    per, size = vectors_of_each(shape), shape[-1]
    plan = plan_for(shape[0] * per, size, factory)
    try:
        if re.search(r"(?<!\d)0+(?!\d)", plan.factory):  # faiss would end the process
            raise RuntimeError
        index = faiss.index_factory(size, plan.factory, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, MemoryError):
        raise IndexingError(
            f"factory {plan.factory!r}: faiss knows no such index; write IVF1024,SQ8 or the like"
        ) from None
    place = expanded(output)
    with whole_folder(place, FILES) as beside:
        kept = write_vectors(beside / EMBEDDINGS, unit_parts(embeddings), shape)
        try:
            _train(index, kept.reshape(-1, size), plan, seed)
            for part in stored_parts(kept):
                index.add(part.reshape(-1, size).astype(np.float32))
            probes, recall = _tuned(index, kept, seed)
        except (RuntimeError, MemoryError) as error:
            reason = in_a_line(error, named=False)[-150:]
            raise IndexingError(
                f"{plan.factory}: faiss cannot use it here ({reason}); take another one"
            ) from None
        config = {
            "model": model,
            "revision": revision,
            "size": size,
            "vectors": shape[0] * per,
            "vectors_per_id": per,
            "factory": plan.factory,
            "probes": probes,
            "recall_at_10": round(recall, 4),
            "bytes_a_vector": plan.bytes_a_vector,
            "normalised": True,
            "added": 0,
        }
        write_rest(beside, index, names, config)
        del kept
    return Index(place)


def _train(index: Any, vectors: NDArray, plan: Plan, seed: int) -> None:
    if index.is_trained:
        return
    wanted = max(plan.train, min(len(vectors), 10_000))
    at = np.random.default_rng(seed).choice(len(vectors), wanted, replace=False)
    for owner in _clustering(index):
        owner.cp.min_points_per_centroid = 1  # faiss would print; the recall is measured and told
    index.train(np.asarray(vectors[np.sort(at)], dtype=np.float32))


def _clustering(index: Any) -> Iterator[Any]:
    """Give the parts of an index that cluster vectors when it is trained."""
    import faiss

    index = faiss.downcast_index(index)
    with contextlib.suppress(RuntimeError):
        index = faiss.downcast_index(faiss.extract_index_ivf(index))
        yield index
    if hasattr(index, "pq"):
        yield index.pq


def _tuned(index: Any, kept: NDArray, seed: int) -> tuple[int, float]:
    """Set how many cells a search looks at, and return that and the recall."""
    queries = strangers(kept, _SAMPLE, seed)
    k = min(10, len(kept))
    true, _ = nearest(kept, queries, k)
    probes, recall = 1, 0.0
    while True:
        cells = set_probes(index, probes)
        recall = overlap(candidates(index, queries, k, vectors_of_each(kept.shape)), true)
        if recall >= _RECALL or probes >= cells:
            return probes, recall
        probes = min(2 * probes, cells)
