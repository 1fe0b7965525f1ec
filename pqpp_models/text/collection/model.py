"""Kernel ridge regression and small networks on a prompt's vectors and on its collection.

The networks run on numpy alone; only the text encoder, which is elsewhere, needs torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pqpp_models.text.arrays import Arrays, Floats, Singles, add_prefix, square_distances
from pqpp_models.text.collection.collection import Collection, read_word_tables

Layers = list[tuple[Singles, Singles]]
"""The weights and biases of a network's linear layers."""
_LIMIT = 5.0
_CHUNK = 2048


@dataclass
class Scaling:
    """Shifts and scales columns, and cuts what lies far outside of what was seen."""

    mean: Singles
    deviation: Singles

    @classmethod
    def fit(cls, rows: Singles) -> Self:
        """Return the scaling after which the columns of some rows have mean 0, deviation 1."""
        return cls(rows.mean(axis=0), rows.std(axis=0) + 1e-6)

    def __call__(self, rows: Singles) -> Singles:
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
    points: Mapping[str, Singles]
    coefficients: Singles
    offset: Singles

    def kernel(self, rows: Mapping[str, Singles]) -> Singles:
        """Return the kernel between some rows and the training rows."""
        total = 0.0
        for name, weight in self.weights.items():
            distance = square_distances(rows[name], self.points[name])
            total = total + weight * np.exp(-self.widths[name] * distance)
        return np.asarray(total, dtype=np.float32)

    def __call__(self, rows: Mapping[str, Singles]) -> Singles:
        """Return the predictions for some rows."""
        return self.kernel(rows) @ self.coefficients + self.offset


def network(rows: Singles, layers: Layers) -> Singles:
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
    labels: Singles
    features: Scaling
    inputs: Mapping[int, Scaling]
    ridge: KernelRidge
    networks: Sequence[Layers]

    def predict(self, prompts: Sequence[str], encoded: Mapping[int, Singles]) -> Floats:
        """Return the standardised targets of some prompts, whose mean states are given by layer."""
        parts = []
        for start in range(0, len(prompts), _CHUNK):
            stop = start + _CHUNK
            part = {layer: array[start:stop] for layer, array in encoded.items()}
            vectors = self.collection.project(part)
            features = self.collection.features(
                prompts[start:stop], vectors, self.labels, list(self.inputs)
            )
            rows = build_model_inputs(vectors, self.features(features), self.inputs)
            averaged = np.mean([network(rows["all"], layers) for layers in self.networks], axis=0)
            parts.append((self.ridge(rows) + averaged) / 2)
        return np.concatenate(parts).astype(np.float64)

    def to_tensors(self) -> tuple[dict[str, Any], Arrays]:
        """Return the model as a small description and named arrays.

        The kernel's points are not stored where they are vectors of the collection anyway.
        """
        arrays = self.collection.to_tensors() | {
            "labels": self.labels,
            "ridge.points": self.ridge.points["features"].astype(np.float16),
            "ridge.coefficients": self.ridge.coefficients,
            "ridge.offset": self.ridge.offset,
            **add_prefix("features.", vars(self.features)),
        }
        for layer, scaling in self.inputs.items():
            arrays |= add_prefix(f"inputs.{layer}.", vars(scaling))
        for number, layers in enumerate(self.networks):
            for depth, (weight, bias) in enumerate(layers):
                both = {"weight": weight, "bias": bias}
                arrays |= add_prefix(f"networks.{number}.{depth}.", both)
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
    def from_tensors(cls, description: Mapping[str, Any], arrays: Arrays) -> Self:
        """Return the model that `to_tensors` gave.

        Raises:
            KeyError, TypeError, ValueError: something is missing or does not fit.
        """

        def pair(name: str, first: str, second: str) -> tuple[Singles, Singles]:
            return arrays[f"{name}.{first}"], arrays[f"{name}.{second}"]

        labelled, inputs = description["labelled"], description["input_layers"]
        layers, depth = description["layers"], description["depth"]
        collection = Collection(
            {layer: arrays[f"collection.{layer}"] for layer in layers},
            {layer: arrays[f"collection.{layer}.mean"] for layer in layers},
            labelled,
            *read_word_tables(arrays, description["captions"]),
        )
        points = {str(layer): collection.vectors[layer][:labelled] for layer in inputs}
        points["features"] = arrays["ridge.points"].astype(np.float32)
        sizes = len(arrays["features.mean"]), len(arrays["labels"])
        if sizes != (points["features"].shape[1], labelled):
            raise ValueError("the arrays of the collection do not match")
        kernels = description["kernel_weights"], description["kernel_widths"]
        return cls(
            collection,
            arrays["labels"],
            Scaling(*pair("features", "mean", "deviation")),
            {layer: Scaling(*pair(f"inputs.{layer}", "mean", "deviation")) for layer in inputs},
            KernelRidge(*kernels, points, *pair("ridge", "coefficients", "offset")),
            [
                [pair(f"networks.{number}.{at}", "weight", "bias") for at in range(depth)]
                for number in range(description["networks"])
            ],
        )


def build_model_inputs(
    vectors: Mapping[int, Singles], features: Singles, inputs: Mapping[int, Scaling]
) -> dict[str, Singles]:
    """Name the inputs of the parts; the kernel has features divided by the root of their number."""
    scaled = [scaling(vectors[layer]) for layer, scaling in inputs.items()]
    return {
        **{str(layer): vectors[layer] for layer in inputs},
        "features": features / np.sqrt(features.shape[1]),
        "all": np.concatenate([features, *scaled], axis=1),
    }
