"""The convolutional network of the static predictor, on numpy: word pieces in, scores out.

Each word piece has one vector. Two convolutions over three neighbouring pieces see short phrases;
their mean and their maximum over the prompt, the mean of the vectors, and the number of pieces go
into a hidden layer. From that come the scores, and a point in a space where prompts of like
meaning are near each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pqpp_models.encoder.tokens import length_sorted
from pqpp_models.text.collection.neighbours import Floats, unit

LINEAR = ("first", "second", "hidden", "scores", "point")
"""Layers with a ``.weight`` and a ``.bias``; the two convolutions come first."""

SCALE = 127.0
_REACH = 3
_TOKENS_A_BATCH = 2048


class StaticNetwork:
    """The network.

    Args:
        pieces: int8 vectors of the word pieces, shape ``(vocabulary, size)``.
        scales: by piece, what a vector is multiplied by.
        weights: ``<layer>.weight`` and ``<layer>.bias`` for the layers of `LINEAR`; a
            convolution's weight has shape ``(outputs, 3, inputs)``.
    """

    def __init__(
        self,
        pieces: NDArray[np.int8],
        scales: NDArray[np.floating],
        weights: Mapping[str, NDArray[np.floating]],
    ) -> None:
        self.pieces, self.scales = pieces, scales.astype(np.float32)
        self.weights = {name: np.asarray(value, np.float32) for name, value in weights.items()}
        for layer in LINEAR[:2]:
            weight = self.weights[f"{layer}.weight"]
            self.weights[f"{layer}.weight"] = weight.reshape(len(weight), -1)

    def __call__(self, encoded: Sequence[Sequence[int]]) -> tuple[Floats, Floats]:
        """Return the scores and the points of prompts given as numbers of word pieces."""
        scores, points, *_ = self.layers(encoded)
        return scores, points

    def layers(self, encoded: Sequence[Sequence[int]]) -> tuple[Floats, ...]:
        """Return scores, points, the mean vectors of the pieces, and the hidden layer."""
        lengths = np.array([len(row) for row in encoded])
        sizes = [len(self.weights[f"{name}.bias"]) for name in ("scores", "point", "hidden")]
        sizes.insert(2, self.pieces.shape[1])
        layers = tuple(np.empty((len(encoded), size), dtype=np.float32) for size in sizes)
        for batch in length_sorted(lengths, len(lengths), _TOKENS_A_BATCH):
            rows = np.zeros((len(batch), lengths[batch].max()), dtype=np.int64)
            for place, index in enumerate(batch):
                rows[place, : lengths[index]] = encoded[index]
            for layer, found in zip(layers, self._run(rows, lengths[batch]), strict=True):
                layer[batch] = found
        scores, points, vectors, hidden = layers
        return scores, unit(points), vectors, hidden

    def _run(self, rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[Floats, ...]:
        inside = np.arange(rows.shape[1]) < lengths[:, None]
        mask = inside[..., None].astype(np.float32)
        vectors = self.pieces[rows] * self.scales[rows][..., None] * mask
        phrases = np.maximum(self._convolve("first", vectors), 0) * mask
        phrases += np.maximum(self._convolve("second", phrases), 0) * mask
        count = lengths[:, None].astype(np.float32)
        # After the ReLU nothing is negative, so the zeros outside a prompt never win.
        parts = [phrases.sum(axis=1) / count, phrases.max(axis=1), vectors.sum(axis=1) / count]
        pooled = np.concatenate([*parts, np.log(count)], axis=1)
        hidden = np.maximum(self._linear("hidden", pooled), 0)
        scores, points = self._linear("scores", hidden), self._linear("point", hidden)
        return scores, points, parts[2], hidden

    def _linear(self, layer: str, rows: Floats) -> Floats:
        weight, bias = self.weights[f"{layer}.weight"], self.weights[f"{layer}.bias"]
        # Of three dimensions numpy would make a small product a prompt, each on all cores.
        flat = rows.reshape(-1, rows.shape[-1]) @ weight.T
        return flat.reshape(*rows.shape[:-1], -1) + bias

    def _convolve(self, layer: str, rows: Floats) -> Floats:
        padded = np.pad(rows, ((0, 0), (1, 1), (0, 0)))
        width = rows.shape[1]
        around = [padded[:, shift : shift + width] for shift in range(_REACH)]
        return self._linear(layer, np.concatenate(around, axis=2))


def quantise(vectors: Floats) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Round vectors to eight bits, each with its own scale.

    >>> codes, scales = quantise(np.array([[0.5, -1.0]], np.float32))
    >>> (codes * scales[:, None]).round(2).tolist()
    [[0.5, -1.0]]
    """
    scales = (np.abs(vectors).max(axis=1) / SCALE).astype(np.float16)
    safe = np.where(scales > 0, scales, 1).astype(np.float32)
    codes = np.clip(np.round(vectors / safe[:, None]), -SCALE, SCALE)
    return codes.astype(np.int8), scales
