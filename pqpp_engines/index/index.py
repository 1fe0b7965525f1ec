"""An index over embeddings in a folder: built, searched with exact re-ranking, added to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pqpp_engines.errors import IndexingError
from pqpp_engines.index.plan import Plan, plan_for
from pqpp_files.errors import in_a_line
from pqpp_files.extras import needing
from pqpp_files.write_beside import whole_folder
from pqpp_hub.card import render_card
from pqpp_models.foreign import read_foreign_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

CONFIG, INDEX, IDS, EMBEDDINGS, CARD = (
    "index.json",
    "index.faiss",
    "ids.txt",
    "embeddings.npy",
    "README.md",
)
FILES = (CONFIG, INDEX, IDS, EMBEDDINGS, CARD)
_AT_ONCE = 65_536
_SAMPLE = 200
_RECALL = 0.99
_CANDIDATES = 256  # that a graph keeps in mind
_MORE = 8  # candidates for each result that is wanted, which the exact ranking chooses from


class Index:
    """A collection that can be searched.

    Attributes:
        folder: Where it is.
        ids: What its vectors are of, in their order.
        config: Model and revision that the vectors come from, size, factory, recall and so on.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        if not (self.folder / CONFIG).is_file():
            raise IndexingError(f"{folder}: no {CONFIG}; name a folder that pqpp index has built")
        with needing("pqpp index", "engines"):
            import faiss
        try:
            self.config: dict[str, Any] = read_foreign_json(self.folder / CONFIG)
            self.ids = (self.folder / IDS).read_text("utf-8").split("\n")[:-1]
            self.embeddings = np.load(self.folder / EMBEDDINGS, mmap_mode="r", allow_pickle=False)
            self._faiss = faiss.read_index(str(self.folder / INDEX), faiss.IO_FLAG_MMAP)
            shape = (len(self.ids), int(self.config["size"]))
            _set_probes(self._faiss, int(self.config["probes"]))
            if not all(isinstance(self.config[name], str | None) for name in ("model", "revision")):
                raise ValueError("model and revision are no texts")
            if self.embeddings.dtype.kind != "f":
                raise ValueError(f"embeddings of {self.embeddings.dtype}")
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            RuntimeError,
            EOFError,
            AttributeError,
            OverflowError,
        ) as error:
            reason = in_a_line(error, named=False)[:200]
            raise IndexingError(f"{folder}: a damaged index ({reason}); build it again") from None
        found = (self._faiss.ntotal, self._faiss.d)
        if shape != self.embeddings.shape or shape != found:
            raise IndexingError(
                f"{folder}: {shape[0]} ids, {self.embeddings.shape} embeddings and {found[0]} "
                "vectors do not belong together; build it again"
            )

    def __len__(self) -> int:
        return len(self.ids)

    def search(self, queries: Any, k: int = 10, exact: bool = False) -> tuple[NDArray, Floats]:
        """Return the best of the collection for each query.

        Args:
            queries: Embeddings by the same model, shape (queries, size); they are normalised.
            k: How many results; fewer where the collection is smaller.
            exact: Whether all vectors are compared, without the index.

        Returns:
            int64 (queries, k), places in `ids`, and float32 (queries, k), cosines, best first;
            equal ones in the order of the collection.

        Raises:
            IndexingError: The queries have another size, or k is below 1.
        """
        vectors = unit_vectors(queries, "queries")
        if vectors.shape[1] != self.config["size"]:
            raise IndexingError(
                f"queries of {vectors.shape[1]} numbers, the index has {self.config['size']}; "
                f"embed them by {self.config['model'] or 'the same model'}"
            )
        if k < 1:
            raise IndexingError(f"k {k}: give a number from 1")
        k = min(k, len(self))
        if exact:
            return _exact(self.embeddings, vectors, k)
        _, found = self._faiss.search(vectors, min(_MORE * k, len(self)))
        places = np.empty((len(vectors), k), dtype=np.int64)
        cosines = np.full((len(vectors), k), -np.inf, dtype=np.float32)
        for row, (vector, some) in enumerate(zip(vectors, found, strict=True)):
            some = np.sort(some[some >= 0])
            if len(some) < k:  # the cells that were looked at hold fewer
                places[row], cosines[row] = (
                    one[0] for one in _exact(self.embeddings, vector[None], k)
                )
                continue
            scores = np.asarray(self.embeddings[some], dtype=np.float32) @ vector
            best = np.argsort(-scores, kind="stable")[:k]
            places[row], cosines[row] = some[best], scores[best]
        return places, cosines

    def recall(self, k: int = 10, sample: int = 200, seed: int = 0) -> float:
        """Return the share of the true k nearest that a search finds, as far off as texts are."""
        queries = _strangers(self.embeddings, sample, seed)
        found, _ = self.search(queries, k)
        true, _ = self.search(queries, k, exact=True)
        return _overlap(found, true)

    def add(
        self, embeddings: Any, ids: Sequence[str], output: str | os.PathLike[str] | None = None
    ) -> Self:
        """Write an index with further vectors, by default in place of this one.

        The cells stay as they were learned; where a collection has become many times larger, or of
        another kind, build it anew.
        """
        import faiss

        vectors = unit_vectors(embeddings, "embeddings")
        if vectors.shape[1] != self.config["size"]:
            raise IndexingError(
                f"embeddings of {vectors.shape[1]} numbers, the index has {self.config['size']}"
            )
        every = [*self.ids, *_checked_ids(ids, len(vectors))]
        _refuse_twice(every)
        grown = faiss.clone_index(faiss.read_index(str(self.folder / INDEX)))
        grown.add(vectors)
        together = np.concatenate([self.embeddings, vectors.astype(np.float16)])
        place = self.folder if output is None else Path(output).expanduser()
        config = {**self.config, "vectors": len(every), "added": len(vectors)}
        _write(place, grown, every, together, config)
        return type(self)(place)

    def merge(self, other: Index, output: str | os.PathLike[str]) -> Self:
        """Write an index with the vectors of two, which must come from one model and revision."""
        for name in ("model", "revision", "size"):
            one, two = self.config[name], other.config[name]
            if one != two:
                raise IndexingError(f"the {name} differs: {one} and {two}; build both alike")
        return self.add(np.asarray(other.embeddings, dtype=np.float32), other.ids, output)


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
        embeddings: Shape (vectors, size); a memory-mapped array is read in parts. They are
            normalised, so that inner products are cosines, and kept in 16 bits.
        ids: What they are of, one a vector, each once, without line breaks.
        output: The folder.
        factory: As for `plan_for`.
        model: That made them: name, for those who search.
        revision: Of the model.
        seed: Of the training sample.

    Raises:
        IndexingError: The ids do not fit, a vector is zero or not finite, or faiss refuses the
            factory.

    Example:
        >>> import tempfile
        >>> vectors = np.eye(4, 8)
        >>> index = build_index(vectors, list("abcd"), tempfile.mkdtemp())
        >>> places, cosines = index.search(vectors[2:3], k=1)
        >>> index.ids[places[0, 0]], float(cosines[0, 0])
        ('c', 1.0)
    """
    with needing("pqpp index", "engines"):
        import faiss

    shape = np.shape(embeddings)
    if len(shape) != 2:
        raise IndexingError(f"embeddings of shape {shape}: give (vectors, size)")
    names = _checked_ids(ids, shape[0])
    _refuse_twice(names)
    plan = plan_for(*shape, factory)
    kept = np.empty(shape, dtype=np.float16)
    for start, part in _parts(embeddings):
        kept[start : start + len(part)] = part
    try:
        index = faiss.index_factory(shape[1], plan.factory, faiss.METRIC_INNER_PRODUCT)
    except RuntimeError:
        raise IndexingError(
            f"factory {plan.factory!r}: faiss knows no such index; write IVF1024,SQ8 or the like"
        ) from None
    _train(index, kept, plan, seed)
    for start in range(0, len(kept), _AT_ONCE):
        index.add(np.asarray(kept[start : start + _AT_ONCE], dtype=np.float32))
    probes, recall = _tuned(index, kept, seed)
    config = {
        "model": model,
        "revision": revision,
        "size": shape[1],
        "vectors": shape[0],
        "factory": plan.factory,
        "probes": probes,
        "recall_at_10": round(recall, 4),
        "bytes_a_vector": plan.bytes_a_vector,
        "normalised": True,
        "added": 0,
    }
    _write(Path(output).expanduser(), index, names, kept, config)
    return Index(output)


def unit_vectors(values: Any, what: str) -> Floats:
    """Return vectors of length 1 as float32.

    Raises:
        IndexingError: They are no table of finite numbers, or one is zero.
    """
    try:
        vectors = np.array(values, dtype=np.float32)
    except (TypeError, ValueError):
        raise IndexingError(f"{what}: give numbers of shape (vectors, size)") from None
    if vectors.ndim != 2:
        raise IndexingError(f"{what} of shape {vectors.shape}: give (vectors, size)")
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(wrong):
        raise IndexingError(f"{what}: row {wrong[0] + 1} is zero or not finite; leave it out")
    return np.ascontiguousarray(vectors / lengths[:, None])


def _parts(embeddings: Any) -> Iterator[tuple[int, Floats]]:
    for start in range(0, len(embeddings), _AT_ONCE):
        yield start, unit_vectors(embeddings[start : start + _AT_ONCE], "embeddings")


def _checked_ids(ids: Sequence[str], vectors: int) -> list[str]:
    names = [str(one) for one in ids]
    if len(names) != vectors:
        raise IndexingError(f"{len(names)} ids for {vectors} vectors; give one each")
    wrong = next((one for one in names if not one or "\n" in one or "\r" in one), None)
    if wrong is not None:
        raise IndexingError(f"id {wrong!r:.80}: give ids of one line that are not empty")
    return names


def _refuse_twice(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        seen: set[str] = set()
        twice = next(one for one in names if one in seen or seen.add(one))
        raise IndexingError(f"id {twice!r:.80} stands twice; keep one of them")


def _train(index: Any, kept: NDArray, plan: Plan, seed: int) -> None:
    if index.is_trained:
        return
    wanted = max(plan.train, min(len(kept), 10_000))
    at = np.random.default_rng(seed).choice(len(kept), wanted, replace=False)
    try:
        index.train(np.asarray(kept[np.sort(at)], dtype=np.float32))
    except RuntimeError as error:
        reason = in_a_line(error, named=False)[-150:]
        raise IndexingError(
            f"{plan.factory}: {len(kept)} vectors are too few for it ({reason}); take a smaller one"
        ) from None


def _tuned(index: Any, kept: NDArray, seed: int) -> tuple[int, float]:
    """Set how many cells a search looks at, and return that and the recall."""
    queries = _strangers(kept, _SAMPLE, seed)
    k = min(10, len(kept))
    true, _ = _exact(kept, queries, k)
    probes, recall = 1, 0.0
    while True:
        cells = _set_probes(index, probes)
        _, found = index.search(queries, min(_MORE * k, len(kept)))
        recall = float(
            np.mean([np.isin(one, other).mean() for one, other in zip(true, found, strict=True)])
        )
        if recall >= _RECALL or probes >= cells:
            return probes, recall
        probes = min(2 * probes, cells)


def _strangers(embeddings: Any, sample: int, seed: int) -> Floats:
    """Return vectors of a collection with so much noise that they are as far off as a text is.

    A text is no member of a collection of images: CLIP's cosine of a caption and its image is about
    .3. An index that is tuned by its own members looks at too few cells.
    """
    rng = np.random.default_rng(seed)
    at = np.sort(rng.choice(len(embeddings), min(sample, len(embeddings)), replace=False))
    vectors = np.asarray(embeddings[at], dtype=np.float32)
    return unit_vectors(vectors + rng.normal(0, 3 / np.sqrt(vectors.shape[1]), vectors.shape), "")


def _set_probes(index: Any, probes: int) -> int:
    """Set how many cells are looked at, and return how many there are, 1 where there are none."""
    import faiss

    index = faiss.downcast_index(index)
    if hasattr(index, "hnsw"):
        index.hnsw.efSearch = _CANDIDATES
    try:
        inverted = faiss.extract_index_ivf(index)
    except RuntimeError:
        return 1
    inverted.nprobe = probes
    return int(inverted.nlist)


def _exact(embeddings: Any, queries: Floats, k: int) -> tuple[NDArray, Floats]:
    """Return the k nearest of all vectors, equal ones in their order."""
    places = np.zeros((len(queries), 0), dtype=np.int64)
    scores = np.zeros((len(queries), 0), dtype=np.float32)
    for start in range(0, len(embeddings), _AT_ONCE):
        part = np.asarray(embeddings[start : start + _AT_ONCE], dtype=np.float32)
        here = np.broadcast_to(np.arange(start, start + len(part)), (len(queries), len(part)))
        places = np.concatenate([places, here], axis=1)
        scores = np.concatenate([scores, queries @ part.T], axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        places = np.take_along_axis(places, best, axis=1)
        scores = np.take_along_axis(scores, best, axis=1)
    return places, scores


def _overlap(found: NDArray, true: NDArray) -> float:
    return float(np.mean([np.isin(t, f).mean() for f, t in zip(found, true, strict=True)]))


def _write(
    place: Path, index: Any, ids: Sequence[str], kept: NDArray, config: dict[str, Any]
) -> None:
    import faiss

    with whole_folder(place, FILES) as beside:
        faiss.write_index(index, str(beside / INDEX))
        (beside / IDS).write_text("".join(f"{one}\n" for one in ids), "utf-8")
        np.save(beside / EMBEDDINGS, kept)
        (beside / CONFIG).write_text(json.dumps(config, indent=1) + "\n", "utf-8")
        (beside / CARD).write_text(render_card("engines/index", **config), "utf-8")
