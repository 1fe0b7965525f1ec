"""A collection of captions: vectors, counts of words, and what they say of a prompt.

Retrieval for a query is easier, the more of the collection is like it. A collection keeps one unit
vector a caption and layer of a text encoder, and hashes of its words, never its text. The first
captions of a collection may be labelled: those of the training prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.text.calibration import SAME
from pqpp_models.text.collection import neighbours
from pqpp_models.text.collection.neighbours import Floats, unit
from pqpp_models.text.collection.postings import Postings
from pqpp_models.text.words import WordTables, difficulty_features

Arrays = dict[str, NDArray[Any]]
_CHUNK = 512


class Collection:
    """Captions as unit vectors, one matrix a layer, with the counts of their words.

    Args:
        vectors: by layer, an array of shape ``(captions, size)``.
        means: by layer, what was taken off the encoder's output before scaling to length one.
        labelled: how many captions, from the first on, have labels.
        tables: the counts of the captions' words.
        postings: the words of the captions, for the features of scope and coherence; without them
            there are no such features.
    """

    def __init__(
        self,
        vectors: Mapping[int, Floats],
        means: Mapping[int, Floats],
        labelled: int,
        tables: WordTables,
        postings: Postings | None = None,
    ) -> None:
        self.vectors = {layer: np.asarray(array, np.float32) for layer, array in vectors.items()}
        self.means = {layer: np.asarray(array, np.float32) for layer, array in means.items()}
        self.labelled, self.tables, self.postings = labelled, tables, postings

    @classmethod
    def build(
        cls,
        encoded: Mapping[int, ArrayLike],
        labelled: int,
        tables: WordTables,
        postings: Postings | None = None,
    ) -> Collection:
        """Make a collection of an encoder's outputs, by layer of shape ``(captions, size)``.

        The mean over the captions is taken off every layer but the last one.

        >>> encoded = {6: np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])}
        >>> collection = Collection.build(encoded, 1, WordTables.build(["a", "b", "c"]))
        >>> collection.vectors[6].round(2).tolist()[0]
        [1.0, 0.0]
        """
        arrays = {layer: np.asarray(array, np.float32) for layer, array in encoded.items()}
        means = {layer: array.mean(0) for layer, array in arrays.items()}
        means[max(means)] = np.zeros_like(means[max(means)])
        collection = cls({}, means, labelled, tables, postings)
        collection.vectors = collection.project(arrays)
        return collection

    def __len__(self) -> int:
        return len(next(iter(self.vectors.values())))

    @property
    def last(self) -> int:
        """The last layer: distances are measured in it."""
        return max(self.vectors)

    @property
    def references(self) -> Floats:
        """The last layer's vectors of the labelled captions, one a column."""
        return np.ascontiguousarray(self.vectors[self.last][: self.labelled].T)

    def project(self, encoded: Mapping[int, Floats]) -> dict[int, Floats]:
        """Return an encoder's outputs as unit vectors around the collection's means."""
        return {layer: unit(array - self.means[layer]) for layer, array in encoded.items()}

    def features(
        self,
        prompts: Sequence[str],
        vectors: Mapping[int, Floats],
        labels: Floats,
        layers: Sequence[int],
        own: bool = False,
    ) -> Floats:
        """Return what the collection says of some prompts.

        In every layer, how densely the captions lie around a prompt; in some, the labels of the
        nearest labelled ones; the features of difficulty; scope and coherence. A caption that is
        the prompt itself is left out.

        Args:
            prompts: the texts.
            vectors: what `project` returned for them.
            labels: of the labelled captions, shape ``(labelled, targets)``.
            layers: where the nearest labelled captions are looked up.
            own: whether the prompts are captions of the collection.
        """
        parts = [
            self.density_features(vectors),
            self.neighbour_labels(vectors, labels, layers),
            difficulty_features(prompts, self.tables, own),
        ]
        if self.postings is not None:
            parts.append(self.postings.scope(prompts))
            known = self.vectors[self.last]
            parts.append(neighbours.coherence_features(vectors[self.last], known))
        return np.concatenate(parts, axis=1)

    def density_features(self, vectors: Mapping[int, Floats]) -> Floats:
        """Return how densely the labelled captions, and all, lie around prompts in each layer."""
        blocks = [
            neighbours.density_features(vectors[layer], known, self.labelled)
            for layer, known in self.vectors.items()
        ]
        return np.concatenate(blocks, axis=1)

    def neighbour_labels(
        self, vectors: Mapping[int, Floats], labels: Floats, layers: Sequence[int]
    ) -> Floats:
        """Return the labels of the labelled captions nearest to some prompts, averaged."""
        blocks = [
            neighbours.neighbour_labels(
                vectors[layer], self.vectors[layer][: self.labelled], labels
            )
            for layer in layers
        ]
        return np.concatenate(blocks, axis=1)

    def replaced(
        self, states: Mapping[int, Floats], tables: WordTables, postings: Postings
    ) -> Collection:
        """Return a collection with the labelled captions and others behind them.

        Of the others, those whose vector is a labelled one's are left out.

        Args:
            states: an encoder's outputs for the others, by layer.
            tables: the counts of their words, which take the place of the old ones.
            postings: their words.
        """
        count = self.labelled
        labelled = {layer: array[:count] for layer, array in self.vectors.items()}
        added = self.project({layer: states[layer] for layer in labelled})
        known, rows = labelled[self.last], added[self.last]
        starts = range(0, len(rows), _CHUNK)
        new = [(rows[i : i + _CHUNK] @ known.T).max(axis=1, initial=-1) < SAME for i in starts]
        kept = np.concatenate(new)
        vectors = {k: np.concatenate([labelled[k], added[k][kept]]) for k in labelled}
        words = self.postings.replaced(count, postings) if self.postings is not None else None
        return Collection(vectors, self.means, count, tables, words)

    def tensors(self) -> Arrays:
        """Return the collection as named arrays; vectors are rounded to sixteen bits."""
        arrays = word_tensors(self.tables, self.postings)
        for layer, vectors in self.vectors.items():
            arrays[f"collection.{layer}"] = vectors.astype(np.float16)
            arrays[f"collection.{layer}.mean"] = self.means[layer]
        return arrays

    @classmethod
    def from_tensors(
        cls, arrays: Arrays, layers: Sequence[int], labelled: int, captions: int
    ) -> Collection:
        """Return the collection that `tensors` gave; ``captions`` is the number of texts counted.

        Raises:
            KeyError, ValueError: an array is missing, or some do not fit each other.
        """
        return cls(
            {layer: arrays[f"collection.{layer}"] for layer in layers},
            {layer: arrays[f"collection.{layer}.mean"] for layer in layers},
            labelled,
            *words_from_tensors(arrays, captions),
        )


def word_tensors(tables: WordTables, postings: Postings | None) -> Arrays:
    """Return the counts and the postings of words as named arrays."""
    arrays: Arrays = {"words.counts": tables.counts, "words.pairs": tables.pairs}
    return arrays | (postings.tensors() if postings is not None else {})


def words_from_tensors(arrays: Arrays, captions: int) -> tuple[WordTables, Postings | None]:
    """Return what `word_tensors` gave, of so many captions.

    Raises:
        KeyError, ValueError: an array is missing, or some do not fit each other.
    """
    tables = WordTables(arrays["words.counts"], arrays["words.pairs"], captions)
    return tables, Postings.from_tensors(arrays)
