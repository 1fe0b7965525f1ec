"""Kernel ridge regression and small networks on a prompt's vectors and on its collection.

The networks run on numpy alone; only the text encoder, which is elsewhere, needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.errors import CheckpointError
from pqpp_models.text.collection.collection import Arrays, Collection
from pqpp_models.text.collection.neighbours import Floats

Layers = list[tuple[Floats, Floats]]
"""The weights and biases of a network's linear layers."""
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


def network(rows: Floats, layers: Layers) -> Floats:
    """Run a network of linear layers with ReLU between them.

    >>> ones = np.ones((1, 1), np.float32)
    >>> network(-ones, [(ones, np.zeros(1)), (ones, np.ones(1))]).tolist()
    [[1.0]]
    """
    for number, (weight, bias) in enumerate(layers):
        rows = (np.maximum(rows, 0) if number else rows) @ weight.T + bias
    return rows


@dataclass
class CollectionModel:
    """Predicts standardised targets from a prompt's encoded layers, its words and a collection.

    Attributes:
        collection: the captions.
        labels: standardised targets of the labelled captions, the neighbours' part of the features.
        features: the scaling of the features.
        inputs: the scaling of the layers that the networks see, by layer.
        ridge: the kernel regression.
        networks: the networks, which are averaged.
    """

    collection: Collection
    labels: Floats
    features: Scaling
    inputs: Mapping[int, Scaling]
    ridge: KernelRidge
    networks: Sequence[Layers]

    def predict(self, prompts: Sequence[str], encoded: Mapping[int, Floats]) -> NDArray[np.float64]:
        """Return the standardised targets of some prompts, whose mean states are given by layer."""
        parts = []
        for start in range(0, len(prompts), _CHUNK):
            stop = start + _CHUNK
            part = {layer: array[start:stop] for layer, array in encoded.items()}
            rows = self._rows(prompts[start:stop], part)
            averaged = np.mean([network(rows["all"], layers) for layers in self.networks], axis=0)
            parts.append((self.ridge(rows) + averaged) / 2)
        return np.concatenate(parts).astype(np.float64)

    def _rows(self, prompts: Sequence[str], encoded: Mapping[int, Floats]) -> dict[str, Floats]:
        vectors = self.collection.project(encoded)
        features = self.collection.features(prompts, vectors, self.labels, list(self.inputs))
        return model_rows(vectors, self.features(features), self.inputs)

    def tensors(self) -> tuple[dict[str, Any], Arrays]:
        """Return the model as a small description and named arrays.

        The kernel's points are not stored where they are vectors of the collection anyway.
        """
        arrays = self.collection.tensors() | {
            "labels": self.labels,
            "features.mean": self.features.mean,
            "features.deviation": self.features.deviation,
            "ridge.points": self.ridge.points["features"].astype(np.float16),
            "ridge.coefficients": self.ridge.coefficients,
            "ridge.offset": self.ridge.offset,
        }
        for layer, scaling in self.inputs.items():
            arrays[f"inputs.{layer}.mean"] = scaling.mean
            arrays[f"inputs.{layer}.deviation"] = scaling.deviation
        for number, layers in enumerate(self.networks):
            for depth, (weight, bias) in enumerate(layers):
                arrays[f"networks.{number}.{depth}.weight"] = weight
                arrays[f"networks.{number}.{depth}.bias"] = bias
        description = {
            "captions": self.collection.tables.size,
            "labelled": self.collection.labelled,
            "layers": list(self.collection.vectors),
            "input_layers": list(self.inputs),
            "networks": len(self.networks),
            "depth": len(self.networks[0]),
            "kernel_weights": dict(self.ridge.weights),
            "kernel_widths": dict(self.ridge.widths),
        }
        return description, arrays

    @classmethod
    def from_tensors(
        cls, where: str, description: Mapping[str, Any], arrays: Arrays
    ) -> CollectionModel:
        """Return the model that `tensors` gave; ``where`` is the folder, for the message.

        Raises:
            CheckpointError: something is missing or does not fit.
        """
        try:
            model = cls._unpacked(description, arrays)
            width = model.ridge.points["features"].shape[1]
            labelled = len(model.labels) == model.collection.labelled
            fits = len(model.features.mean) == width and labelled
            finite = all(np.isfinite(one).all() for one in arrays.values() if one.dtype.kind == "f")
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(
                f"{where} holds no usable collection model ({type(error).__name__}: {error}); save "
                "or download the predictor again"
            ) from None
        if not fits or not finite:
            raise CheckpointError(
                f"{where} holds arrays that do not fit each other or are not finite; save or "
                "download the predictor again"
            )
        return model

    @classmethod
    def _unpacked(cls, description: Mapping[str, Any], arrays: Arrays) -> CollectionModel:
        labelled, inputs = description["labelled"], description["input_layers"]
        collection = Collection.from_tensors(
            arrays, description["layers"], labelled, description["captions"]
        )
        points = {str(layer): collection.vectors[layer][:labelled] for layer in inputs}
        points["features"] = arrays["ridge.points"].astype(np.float32)

        def scaling(name: str) -> Scaling:
            return Scaling(arrays[f"{name}.mean"], arrays[f"{name}.deviation"])

        def linear(name: str) -> tuple[Floats, Floats]:
            return arrays[f"{name}.weight"], arrays[f"{name}.bias"]

        return cls(
            collection,
            arrays["labels"],
            scaling("features"),
            {layer: scaling(f"inputs.{layer}") for layer in inputs},
            KernelRidge(
                description["kernel_weights"],
                description["kernel_widths"],
                points,
                arrays["ridge.coefficients"],
                arrays["ridge.offset"],
            ),
            [
                [linear(f"networks.{number}.{depth}") for depth in range(description["depth"])]
                for number in range(description["networks"])
            ],
        )


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
