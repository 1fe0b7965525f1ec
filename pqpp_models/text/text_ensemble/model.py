"""Kernel ridge regression and small networks on a prompt's vectors and on its collection.

The networks run on numpy alone; only the text encoder, which is elsewhere, needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.collection import SAME, Collection, Floats
from pqpp_models.text.collection_scope import Postings, coherence
from pqpp_models.text.words import WordTables, cue_features

_LIMIT = 5.0
_CHUNK = 2048


@dataclass
class Scaling:
    """Shifts and scales columns, and cuts what lies far outside of what was seen."""

    mean: Floats
    deviation: Floats

    @classmethod
    def fit(cls, rows: Floats) -> Scaling:
        """Return the scaling after which the columns of some rows have mean 0, deviation 1."""
        return cls(rows.mean(axis=0), rows.std(axis=0) + 1e-6)

    def __call__(self, rows: Floats) -> Floats:
        """Return the rows, scaled and cut."""
        return np.clip((rows - self.mean) / self.deviation, -_LIMIT, _LIMIT).astype(np.float32)


@dataclass
class KernelRidge:
    """A sum of Gaussian kernels over unit vectors of some layers and over features.

    Attributes:
        weights: by layer, the weight of its kernel; ``features`` is the features' one.
        widths: by the same names, what multiplies the squared distance.
        points: by the same names, the training rows.
        coefficients: shape ``(training rows, targets)``.
        offset: what the coefficients are added to.
    """

    weights: Mapping[str, float]
    widths: Mapping[str, float]
    points: Mapping[str, Floats]
    coefficients: Floats
    offset: Floats

    def kernel(self, rows: Mapping[str, Floats]) -> Floats:
        """Return the kernel between some rows and the training rows."""
        total = 0.0
        for name, weight in self.weights.items():
            distance = squared_distances(rows[name], self.points[name])
            total = total + weight * np.exp(-self.widths[name] * distance)
        return np.asarray(total, dtype=np.float32)

    def __call__(self, rows: Mapping[str, Floats]) -> Floats:
        """Return the predictions for some rows."""
        return self.kernel(rows) @ self.coefficients + self.offset


def squared_distances(rows: Floats, points: Floats) -> Floats:
    """Return the squared Euclidean distances between two sets of rows.

    >>> squared_distances(np.array([[0.0, 1.0]]), np.array([[3.0, 5.0]])).tolist()
    [[25.0]]
    """
    first, second = (rows**2).sum(axis=1), (points**2).sum(axis=1)
    return np.maximum(first[:, None] + second - 2 * rows @ points.T, 0)


def network(rows: Floats, layers: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Run a network of linear layers with ReLU between them.

    >>> ones = np.ones((1, 1), np.float32)
    >>> network(-ones, [(ones, np.zeros(1)), (ones, np.ones(1))]).tolist()
    [[1.0]]
    """
    for number, (weight, bias) in enumerate(layers):
        rows = (np.maximum(rows, 0) if number else rows) @ weight.T + bias
    return rows


class CollectionModel:
    """Predicts standardised targets from a prompt's encoded layers, its words and a collection.

    Args:
        collection: the captions' vectors.
        tables: the counts of the captions' words.
        labels: standardised targets of the labelled captions, the neighbours' part of the features.
        features: the scaling of the features.
        inputs: the scaling of the layers that the networks see, by layer.
        ridge: the kernel regression.
        networks: the layers of each network.
        postings: the captions' words, for the features of scope and coherence; without them the
            model has no such features.
    """

    def __init__(
        self,
        collection: Collection,
        tables: WordTables,
        labels: Floats,
        features: Scaling,
        inputs: Mapping[int, Scaling],
        ridge: KernelRidge,
        networks: Sequence[Sequence[tuple[Floats, Floats]]],
        postings: Postings | None = None,
    ) -> None:
        self.collection, self.tables, self.labels = collection, tables, labels
        self.postings = postings
        self.features, self.inputs = features, inputs
        self.ridge, self.networks = ridge, networks

    def predict(self, prompts: Sequence[str], encoded: Mapping[int, Floats]) -> NDArray[np.float64]:
        """Return the standardised targets of some prompts.

        Args:
            prompts: the texts.
            encoded: by layer, the encoder's mean state of each prompt.
        """
        parts = []
        for start in range(0, len(prompts), _CHUNK):
            stop = start + _CHUNK
            part = {layer: array[start:stop] for layer, array in encoded.items()}
            rows = self.rows(prompts[start:stop], part)
            averaged = np.mean([network(rows["all"], layers) for layers in self.networks], axis=0)
            parts.append((self.ridge(rows) + averaged) / 2)
        return np.concatenate(parts).astype(np.float64)

    def rows(self, prompts: Sequence[str], encoded: Mapping[int, Floats]) -> dict[str, Floats]:
        """Return what the parts of the model take: vectors by layer, ``features`` and ``all``."""
        vectors = self.collection.project(encoded)
        layers = list(self.inputs)
        raw = raw_features(
            self.collection, self.tables, self.labels, layers, prompts, vectors, self.postings
        )
        return model_rows(vectors, self.features(raw), self.inputs)


def raw_features(
    collection: Collection,
    tables: WordTables,
    labels: Floats,
    layers: Sequence[int],
    prompts: Sequence[str],
    vectors: Mapping[int, Floats],
    postings: Postings | None = None,
    own: bool = False,
) -> Floats:
    """Return the features before scaling.

    Args:
        collection: the captions' vectors.
        tables: the counts of their words.
        labels: standardised targets of the labelled captions.
        layers: in which the nearest labelled captions are looked up.
        prompts: the texts.
        vectors: what the collection's `project` returned for them.
        postings: the words of the captions, for the features of scope and coherence.
        own: whether the prompts are captions of the collection.
    """
    parts = [
        collection.density_features(vectors),
        collection.neighbour_labels(vectors, labels, layers),
        cue_features(prompts, tables, own),
    ]
    if postings is not None:
        last = max(collection.vectors)
        parts.append(postings.scope(prompts))
        parts.append(coherence(vectors[last], collection.vectors[last], SAME))
    return np.concatenate(parts, axis=1)


def model_rows(
    vectors: Mapping[int, Floats], features: Floats, inputs: Mapping[int, Scaling]
) -> dict[str, Floats]:
    """Name the inputs of the parts; the kernel has features divided by the root of their number."""
    scaled = [scaling(vectors[layer]) for layer, scaling in inputs.items()]
    return {
        **{str(layer): vectors[layer] for layer in inputs},
        "features": features / np.sqrt(features.shape[1]),
        "all": np.concatenate([features, *scaled], axis=1),
    }
