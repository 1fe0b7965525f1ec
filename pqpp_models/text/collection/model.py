"""Models that predict targets from prompts' vectors and a collection of captions.

This module needs only numpy; the text encoder needs torch.
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
    """A standardisation of columns, with clipping."""

    mean: Singles
    deviation: Singles

    @classmethod
    def fit(cls, rows: Singles) -> Self:
        """Fit a scaling to mean 0 and standard deviation 1."""
        return cls(rows.mean(axis=0), rows.std(axis=0) + 1e-6)

    def __call__(self, rows: Singles) -> Singles:
        """Scale and clip rows."""
        return np.clip((rows - self.mean) / self.deviation, -_LIMIT, _LIMIT).astype(np.float32)


@dataclass
class KernelRidge:
    """Kernel ridge regression with a weighted sum of Gaussian kernels.

    Attributes:
        weights: weight of each layer's kernel, and of the kernel named ``features``.
        widths: factor of the squared distance in each kernel.
        points: training rows of each kernel.
        coefficients: shape ``(training rows, targets)``.
        offset: constant added to the prediction.
    """

    weights: Mapping[str, float]
    widths: Mapping[str, float]
    points: Mapping[str, Singles]
    coefficients: Singles
    offset: Singles

    def compute_kernel(self, rows: Mapping[str, Singles]) -> Singles:
        """Return the kernel values between rows and the training rows."""
        total = 0.0
        for name, weight in self.weights.items():
            distance = square_distances(rows[name], self.points[name])
            total = total + weight * np.exp(-self.widths[name] * distance)
        return np.asarray(total, dtype=np.float32)

    def __call__(self, rows: Mapping[str, Singles]) -> Singles:
        """Return the predictions for rows."""
        return self.compute_kernel(rows) @ self.coefficients + self.offset


def apply_layers(rows: Singles, layers: Layers) -> Singles:
    """Apply linear layers with ReLU between them.

    >>> ones = np.ones((1, 1), np.float32)
    >>> apply_layers(-ones, [(ones, np.zeros(1)), (ones, np.ones(1))]).tolist()
    [[1.0]]
    """
    for number, (weight, bias) in enumerate(layers):
        rows = (np.maximum(rows, 0) if number else rows) @ weight.T + bias
    return rows


@dataclass
class CollectionModel:
    """A model that predicts standardised targets from prompts, their vectors and a collection.

    Attributes:
        labels: standardised targets of the labelled captions, for the features of neighbours.
        inputs: the scaling of each layer that the networks use.
        ridge: the kernel regression.
        networks: the networks, whose outputs are averaged.
    """

    collection: Collection
    labels: Singles
    features: Scaling
    inputs: Mapping[int, Scaling]
    ridge: KernelRidge
    networks: Sequence[Layers]

    def predict(self, prompts: Sequence[str], encoded: Mapping[int, Singles]) -> Floats:
        """Predict the standardised targets of prompts."""
        parts = []
        for start in range(0, len(prompts), _CHUNK):
            stop = start + _CHUNK
            part = {layer: array[start:stop] for layer, array in encoded.items()}
            vectors = self.collection.centre_and_normalise(part)
            features = self.collection.compute_features(
                prompts[start:stop], vectors, self.labels, list(self.inputs)
            )
            rows = build_model_inputs(vectors, self.features(features), self.inputs)
            averaged = np.mean([apply_layers(rows["all"], net) for net in self.networks], axis=0)
            parts.append((self.ridge(rows) + averaged) / 2)
        return np.concatenate(parts).astype(np.float64)

    def to_tensors(self) -> tuple[dict[str, Any], Arrays]:
        """Return the entries of the configuration, and the arrays.

        Training rows of a kernel that are vectors of the collection are not stored twice.
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
                layer_arrays = {"weight": weight, "bias": bias}
                arrays |= add_prefix(f"networks.{number}.{depth}.", layer_arrays)
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
        """Restore the model from the output of `to_tensors`.

        Raises:
            KeyError, TypeError, ValueError: an entry is missing or does not match.
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
            raise ValueError("the collection's arrays do not match")
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
    """Return the inputs of the kernels and networks by name."""
    scaled = [scaling(vectors[layer]) for layer, scaling in inputs.items()]
    return {
        **{str(layer): vectors[layer] for layer in inputs},
        "features": features / np.sqrt(features.shape[1]),
        "all": np.concatenate([features, *scaled], axis=1),
    }
