"""A collection of captions as vectors, and how densely it lies around a prompt.

Retrieval for a query is easier, the more of the collection is like it. A collection keeps one unit
vector a caption and layer of a text encoder, never the caption's text. The first captions of a
collection may be labelled: those of the training prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.errors import PredictorError

Floats = NDArray[np.float32]

NEIGHBOURS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)
THRESHOLDS = (0.3, 0.36, 0.42, 0.48, 0.54, 0.6, 0.66, 0.72, 0.78)
WIDTHS = (0.03, 0.06, 0.12)
LABEL_NEIGHBOURS = (3, 10, 30)
LABEL_WIDTH = 0.08
SAME = 0.9999
"""A caption at least so similar to a prompt is the prompt itself and is left out."""
COUNTED = 1000
"""How many of the nearest captions enter a density."""
SEARCHES = ("auto", "numpy", "faiss")
LARGE = 40_000
"""From so many captions on, faiss finds the nearest ones faster than numpy, in less memory."""

_CHUNK = 512


class Collection:
    """Unit vectors of captions, one matrix a layer.

    Args:
        vectors: by layer, an array of shape ``(captions, size)``.
        means: by layer, what was taken off the encoder's output before scaling to length one.
        labelled: how many captions, from the first on, have labels.
        search: how the nearest captions are found, exactly in both ways: ``numpy``, ``faiss``, or
            ``auto``, which is faiss for a large collection where it is installed.

    >>> encoded = {6: np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])}
    >>> collection = Collection.build(encoded, labelled=1, centred=())
    >>> collection.vectors[6].round(2).tolist()[0]
    [1.0, 0.0]
    """

    def __init__(
        self,
        vectors: Mapping[int, Floats],
        means: Mapping[int, Floats],
        labelled: int,
        search: str = "auto",
    ) -> None:
        if search not in SEARCHES:
            raise PredictorError(f"search {search!r} is unknown; use one of {', '.join(SEARCHES)}")
        self.vectors = {layer: np.asarray(array, np.float32) for layer, array in vectors.items()}
        self.means = {layer: np.asarray(array, np.float32) for layer, array in means.items()}
        self.labelled = labelled
        self.search = search

    @classmethod
    def build(
        cls, encoded: Mapping[int, ArrayLike], labelled: int, centred: Sequence[int]
    ) -> Collection:
        """Make a collection of an encoder's outputs.

        Args:
            encoded: by layer, an array of shape ``(captions, size)``.
            labelled: how many captions, from the first on, will have labels.
            centred: layers whose mean over the captions is taken off first.
        """
        arrays = {layer: np.asarray(array, np.float32) for layer, array in encoded.items()}
        means = {
            layer: array.mean(0) if layer in centred else np.zeros(array.shape[1], np.float32)
            for layer, array in arrays.items()
        }
        collection = cls({}, means, labelled)
        collection.vectors = collection.project(arrays)
        return collection

    def __len__(self) -> int:
        return len(next(iter(self.vectors.values())))

    def project(self, encoded: Mapping[int, Floats]) -> dict[int, Floats]:
        """Return an encoder's outputs as unit vectors around the collection's means."""
        return {layer: unit(array - self.means[layer]) for layer, array in encoded.items()}

    def density_features(self, vectors: Mapping[int, Floats]) -> Floats:
        """Return how densely the collection lies around some prompts.

        For each layer, and both for the labelled captions and for all: the mean similarity to the
        nearest ones, log counts above thresholds, and logs of sums of a growing function of the
        similarity. A caption that is the prompt itself is left out.

        Args:
            vectors: what `project` returned for the prompts.

        Returns:
            An array of shape ``(prompts, features)``.
        """
        blocks = []
        for layer, known in self.vectors.items():
            rows = vectors[layer]
            parts = [
                self._density(rows[start : start + _CHUNK], known)
                for start in range(0, len(rows), _CHUNK)
            ]
            blocks.append(np.concatenate(parts) if parts else self._density(rows, known))
        return np.concatenate(blocks, axis=1)

    def _density(self, rows: Floats, known: Floats) -> Floats:
        from pqpp_models.text import collection_search

        if collection_search.uses_faiss(self.search, len(known)):
            own = similarities(rows, known[: self.labelled])
            parts = [density(own)] if self.labelled else []
            near = collection_search.nearest(rows, known, COUNTED)
            return np.concatenate([*parts, summarise(near)], axis=1)
        similarity = similarities(rows, known)
        parts = [density(similarity[:, : self.labelled])] if self.labelled else []
        return np.concatenate([*parts, density(similarity)], axis=1)

    def neighbour_labels(
        self, vectors: Mapping[int, Floats], labels: Floats, layers: Sequence[int]
    ) -> Floats:
        """Return the labels of the labelled captions nearest to some prompts, averaged.

        Args:
            vectors: what `project` returned for the prompts.
            labels: shape ``(labelled, targets)``.
            layers: the layers to measure similarity in.
        """
        blocks = []
        for layer in layers:
            rows, known = vectors[layer], self.vectors[layer][: self.labelled]
            for start in range(0, max(len(rows), 1), _CHUNK):
                blocks.append(_near_labels(rows[start : start + _CHUNK], known, labels))
        per_layer = len(blocks) // len(layers)
        joined = [
            np.concatenate(blocks[i : i + per_layer]) for i in range(0, len(blocks), per_layer)
        ]
        return np.concatenate(joined, axis=1)


def unit(array: ArrayLike) -> Floats:
    """Scale rows to length one; a row of zeros stays.

    >>> unit([[0.0, 4.0], [0.0, 0.0]]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    values = np.asarray(array, dtype=np.float32)
    return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)


def similarities(rows: Floats, known: Floats) -> Floats:
    """Return cosines of unit vectors; -1 where a known vector is the row itself."""
    similarity = rows @ known.T
    similarity[similarity >= SAME] = -1
    return similarity


def density(similarity: Floats) -> Floats:
    """Summarise similarities, one row a prompt, by those of the nearest captions.

    >>> density(np.array([[1.0, 0.5, -1.0]], np.float32))[0, :3].tolist()
    [1.0, 0.75, 0.5]
    """
    most = min(COUNTED, similarity.shape[1])
    return summarise(-np.partition(-similarity, most - 1, axis=1)[:, :most])


def summarise(near: Floats) -> Floats:
    """Summarise the similarities of the nearest captions, one row a prompt, in any order."""
    nearest = -np.sort(-near, axis=1)[:, : max(NEIGHBOURS)]
    # In a small collection, what was left out as the prompt itself comes last and counts as 0.
    sums = np.cumsum(np.maximum(nearest, 0), axis=1)
    ranks = [min(k, nearest.shape[1]) for k in NEIGHBOURS]
    columns = [sums[:, k - 1] / k for k in ranks]
    columns += [np.log1p((near > threshold).sum(axis=1)) for threshold in THRESHOLDS]
    columns += [np.log(np.exp((near - 0.5) / width).sum(axis=1) + 1e-6) for width in WIDTHS]
    return np.stack(columns, axis=1).astype(np.float32)


def _near_labels(rows: Floats, known: Floats, labels: Floats) -> Floats:
    similarity = similarities(rows, known)
    most = min(max(LABEL_NEIGHBOURS), known.shape[0])
    index = np.argpartition(-similarity, most - 1, axis=1)[:, :most]
    values = np.take_along_axis(similarity, index, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    index, values = (np.take_along_axis(array, order, axis=1) for array in (index, values))
    blocks = []
    for k in LABEL_NEIGHBOURS:
        weights = np.exp((values[:, :k] - values[:, :1]) / LABEL_WIDTH)
        weights /= weights.sum(axis=1, keepdims=True)
        blocks.append(np.einsum("nk,nkt->nt", weights, labels[index[:, :k]]))
    return np.concatenate(blocks, axis=1).astype(np.float32)
