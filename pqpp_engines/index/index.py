"""An index over embeddings in a folder: searched with exact re-ranking, added to, merged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_engines.errors import IndexingError
from pqpp_engines.index.folder import EMBEDDINGS, FILES, INDEX, open_parts, write_rest
from pqpp_engines.index.ids import ItemIds
from pqpp_engines.index.vectors import (
    Floats,
    best_cosines,
    nearest,
    shape_of,
    stored_parts,
    unit_parts,
    unit_vectors,
    write_vectors,
)
from pqpp_files.foreign.arrays import load_faiss
from pqpp_files.paths import expanded, resolved
from pqpp_files.write_beside import whole_folder

_MORE = 8  # candidates for each result that is wanted, which the exact ranking chooses from


class Index:
    """A collection that can be searched; its vectors stay on disk, memory-mapped.

    Attributes:
        folder: Where it is.
        ids: What its items are, in their order.
        config: Model and revision that the vectors come from, size, factory, recall and so on.
        embeddings: In 16 bits, (items, size), or (items, vectors of each, size).

    Raises:
        IndexingError: The folder holds no whole index; one line.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = expanded(folder)
        self.config, self.ids, self.embeddings, self._faiss = open_parts(self.folder)

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
            equal ones in the order of the collection. Of an item with several vectors the best
            counts.

        Raises:
            IndexingError: The queries have another size, k is below 1, or the index is damaged.
        """
        vectors = unit_vectors(queries, "queries")
        if vectors.shape[1] != self.config["size"]:
            raise IndexingError(
                f"queries of {vectors.shape[1]} numbers, the index has {self.config['size']}; "
                f"embed them by {self.config['model'] or 'the same model'}"
            )
        if k < 1:
            raise IndexingError(f"k is {k}; give 1 or more")
        k = min(int(k), len(self))
        if exact:
            return nearest(self.embeddings, vectors, k)
        places = np.empty((len(vectors), k), dtype=np.int64)
        cosines = np.empty((len(vectors), k), dtype=np.float32)
        candidates_of = candidates(self._faiss, vectors, k, self.config["vectors_per_id"])
        for row, (vector, some) in enumerate(zip(vectors, candidates_of, strict=True)):
            if len(some) and some[-1] >= len(self):
                raise IndexingError(f"{self.folder}: a damaged index (an id that it has not)")
            if len(some) < k:  # the cells that were looked at hold fewer
                places[row], cosines[row] = (
                    row_of[0] for row_of in nearest(self.embeddings, vector[None], k)
                )
                continue
            scores = best_cosines(self.embeddings[some], vector)
            best = np.argsort(-scores, kind="stable")[:k]
            places[row], cosines[row] = some[best], scores[best]
        return places, cosines

    def add(
        self, embeddings: Any, ids: Sequence[str], output: str | os.PathLike[str] | None = None
    ) -> Self:
        """Write an index with further vectors, by default in place of this one.

        The cells stay as they were learned; where a collection has become many times larger, or of
        another kind, build it anew.

        Raises:
            IndexingError: They have another shape, or an id is there already.
        """
        shape = shape_of(embeddings)
        if shape[1:] != self.embeddings.shape[1:]:
            raise IndexingError(
                f"embeddings of shape {shape}; the index has items of "
                f"{' x '.join(map(str, self.embeddings.shape[1:]))} numbers"
            )
        return self._grown(lambda: unit_parts(embeddings), ItemIds.of(ids, shape[0]), output)

    def merge(self, other: Index, output: str | os.PathLike[str]) -> Self:
        """Write an index with the vectors of two, which must come from one model and revision."""
        for name in ("model", "revision", "size", "vectors_per_id"):
            value, others = self.config[name], other.config[name]
            if value != others:
                raise IndexingError(f"the {name} differs: {value} and {others}; build both alike")
        if resolved(output) in (resolved(self.folder), resolved(other.folder)):
            raise IndexingError(
                f"{output} is one of the two; name another folder, or grow one by `pqpp search add`"
            )
        return self._grown(lambda: stored_parts(other.embeddings), other.ids, output)

    def _grown(
        self,
        parts: Callable[[], Iterator[NDArray]],
        ids: ItemIds,
        output: str | os.PathLike[str] | None,
    ) -> Self:
        every = self.ids.and_(ids)
        place = self.folder if output is None else expanded(output)
        per, size = self.config["vectors_per_id"], self.config["size"]
        added = {"vectors": len(every) * per, "added": len(ids) * per}
        with whole_folder(place, FILES) as beside:
            vectors = stored_parts(self.embeddings)
            shape = (len(every), *self.embeddings.shape[1:])
            kept = write_vectors(beside / EMBEDDINGS, chain(vectors, parts()), shape)
            index = load_faiss(self.folder / INDEX, in_memory=True)
            for part in stored_parts(kept[len(self) :]):
                index.add(part.reshape(-1, size).astype(np.float32))
            write_rest(beside, index, every, {**self.config, **added})
            del kept
        return type(self)(place)


def candidates(index: Any, queries: Floats, k: int, per: int) -> list[NDArray]:
    """Return for each query the places of items that an index of faiss takes for the nearest.

    Args:
        index: Of faiss, over `per` vectors an item.
        queries: Of unit length.
        k: How many results are wanted; there are more candidates, which an exact ranking chooses
            from, or fewer, where the cells that were looked at hold no more.
        per: Vectors an item.
    """
    _, neighbours = index.search(queries, min(_MORE * k * per, index.ntotal))
    return [np.unique(some[some >= 0] // per) for some in neighbours]
