"""The static predictor's network, on numpy: a prompt's word pieces in, scores out.

Prompts are split as BERT's uncased vocabulary does, without its library. Each word piece has one
vector. Two convolutions over three neighbouring pieces see short phrases; their mean and their
maximum over the prompt, the mean of the vectors, and the number of pieces go into a hidden layer.
From that come the scores, and a point in a space where prompts of like meaning are near each other.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.encoder.tokens import length_sorted, padded
from pqpp_models.text.arrays import INT8_SCALE, Singles, unit

UNKNOWN_PIECE = "[UNK]"
_MAX_WORD = 100
_MAX_CHARACTERS = 2000
_CACHE = 1 << 16


class WordPieces:
    """Greedy longest-match-first pieces of lower-cased, unaccented words.

    Args:
        vocabulary: the pieces in the order of their numbers; ``##`` begins one inside a word.
        max_pieces: pieces after which a prompt is cut.

    >>> pieces = WordPieces(["[PAD]", "[UNK]", "surf", "##board", "!"], max_pieces=8)
    >>> pieces.encode("Surfboard! Qqq")
    [2, 3, 4, 1]
    """

    def __init__(self, vocabulary: Sequence[str], max_pieces: int) -> None:
        self.vocabulary = list(vocabulary)
        self.numbers = {piece: number for number, piece in enumerate(self.vocabulary)}
        self.max_pieces = max_pieces
        self._unknown = self.numbers[UNKNOWN_PIECE]
        self._pieces = lru_cache(_CACHE)(self._split_word)

    def encode(self, prompt: str) -> list[int]:
        """Return the numbers of a prompt's pieces; of a blank prompt, those of an unknown word."""
        numbers: list[int] = []
        for word in split_words(prompt):
            numbers += self._pieces(word)
            if len(numbers) >= self.max_pieces:
                break
        return numbers[: self.max_pieces] or [self._unknown]

    def beyond(self, prompt: str) -> str:
        """Return the words of a prompt that are not read, since it is too long; empty if all are.

        >>> WordPieces(["[UNK]", "a", "cat"], max_pieces=2).beyond("a cat, a cat")
        ', a cat'
        """
        count, words = 0, split_words(prompt)
        for at, word in enumerate(words):
            count += len(self._pieces(word))
            if count > self.max_pieces:
                return " ".join(words[at:])
        return ""

    def _split_word(self, word: str) -> tuple[int, ...]:
        if len(word) > _MAX_WORD:
            return (self._unknown,)
        numbers, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for stop in range(len(word), start, -1):
                number = self.numbers.get(prefix + word[start:stop])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            numbers.append(number)
            start = stop
        return tuple(numbers)


def split_words(prompt: str) -> list[str]:
    """Split a prompt into lower-case words and single marks, without accents.

    >>> split_words("Café (au lait), 2nd")
    ['cafe', '(', 'au', 'lait', ')', ',', '2nd']
    """
    text = prompt[:_MAX_CHARACTERS].lower()
    if text.isascii():
        return "".join(map(_ASCII.__getitem__, text.encode())).split()
    text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return "".join(map(_spaced, text)).split()


def _spaced(character: str) -> str:
    """Return a character as it is, or between blanks if it is a token of its own."""
    code = ord(character)
    category = unicodedata.category(character)
    if character in "\t\n\r" or category == "Zs":
        return " "
    if code in (0, 0xFFFD) or category in ("Cc", "Cf"):
        return ""
    mark = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    if mark or category.startswith("P") or _is_ideograph(code):
        return f" {character} "
    return character


def _is_ideograph(code: int) -> bool:
    return 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2FA1F


_ASCII = [_spaced(chr(code)) for code in range(128)]


LINEAR = ("first", "second", "hidden", "scores", "point")
"""Layers with a ``.weight`` and a ``.bias``; the two convolutions come first."""

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
        names = [f"{layer}.{part}" for layer in LINEAR for part in ("weight", "bias")]
        self.weights = {name: np.asarray(weights[name], np.float32) for name in names}
        for layer in LINEAR[:2]:
            weight = self.weights[f"{layer}.weight"]
            self.weights[f"{layer}.weight"] = weight.reshape(len(weight), -1)

    def __call__(self, encoded: Sequence[Sequence[int]]) -> tuple[Singles, Singles]:
        """Return the scores and the points of prompts given as numbers of word pieces."""
        scores, points, *_ = self.layers(encoded)
        return scores, points

    def layers(self, encoded: Sequence[Sequence[int]]) -> tuple[Singles, ...]:
        """Return scores, points, the mean vectors of the pieces, and the hidden layer."""
        lengths = np.array([len(row) for row in encoded])
        sizes = [len(self.weights[f"{name}.bias"]) for name in ("scores", "point", "hidden")]
        sizes.insert(2, self.pieces.shape[1])
        layers = tuple(np.empty((len(encoded), size), dtype=np.float32) for size in sizes)
        for batch in length_sorted(lengths, len(lengths), _TOKENS_A_BATCH):
            inputs = padded([encoded[i] for i in batch], 0)
            for layer, values in zip(layers, self._run(*inputs), strict=True):
                layer[batch] = values
        scores, points, vectors, hidden = layers
        return scores, unit(points), vectors, hidden

    def _run(self, rows: NDArray[np.int64], inside: NDArray[np.int64]) -> tuple[Singles, ...]:
        mask = inside[..., None].astype(np.float32)
        vectors = self.pieces[rows] * self.scales[rows][..., None] * mask
        phrases = np.maximum(self._convolve("first", vectors), 0) * mask
        phrases += np.maximum(self._convolve("second", phrases), 0) * mask
        count = mask.sum(axis=1)
        # After the ReLU nothing is negative, so the zeros outside a prompt never win.
        parts = [phrases.sum(axis=1) / count, phrases.max(axis=1), vectors.sum(axis=1) / count]
        pooled = np.concatenate([*parts, np.log(count)], axis=1)
        hidden = np.maximum(self._linear("hidden", pooled), 0)
        scores, points = self._linear("scores", hidden), self._linear("point", hidden)
        return scores, points, parts[2], hidden

    def _linear(self, layer: str, rows: Singles) -> Singles:
        weight, bias = self.weights[f"{layer}.weight"], self.weights[f"{layer}.bias"]
        # Of three dimensions numpy would make a small product a prompt, each on all cores.
        flat = rows.reshape(-1, rows.shape[-1]) @ weight.T
        return flat.reshape(*rows.shape[:-1], -1) + bias

    def _convolve(self, layer: str, rows: Singles) -> Singles:
        padded = np.pad(rows, ((0, 0), (1, 1), (0, 0)))
        width = rows.shape[1]
        around = [padded[:, shift : shift + width] for shift in range(_REACH)]
        return self._linear(layer, np.concatenate(around, axis=2))


def quantise(vectors: Singles) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Round vectors to eight bits, each with its own scale.

    >>> codes, scales = quantise(np.array([[0.5, -1.0]], np.float32))
    >>> (codes * scales[:, None]).round(2).tolist()
    [[0.5, -1.0]]
    """
    scales = (np.abs(vectors).max(axis=1) / INT8_SCALE).astype(np.float16)
    safe = np.where(scales > 0, scales, 1).astype(np.float32)
    codes = np.clip(np.round(vectors / safe[:, None]), -INT8_SCALE, INT8_SCALE)
    return codes.astype(np.int8), scales
