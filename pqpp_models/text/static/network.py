"""The static predictor's network, on numpy: a prompt's word pieces in, scores out.

Prompts are split as BERT's uncased vocabulary does, without its library. Each word piece has one
vector. Two convolutions over three neighbouring pieces see short phrases; their mean and their
maximum over the prompt, the mean of the vectors, and the number of pieces go into a hidden layer.
From that come the scores, and a point in a space where prompts of like meaning are near each other.
A deeper layer over the hidden one may add to the last scores.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.arrays import INT8_SCALE, Singles, unit
from pqpp_models.text.reading.words import without_accents

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
    return "".join(map(_spaced, without_accents(text))).split()


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
DEEPER = ("deeper", "added")
"""Layers that a network may have beside: one over the hidden one, and what it adds to scores."""

_REACH = 3
_TOKENS_A_BATCH = 1024


class StaticNetwork:
    """The network.

    Args:
        pieces: int8 vectors of the word pieces, shape ``(vocabulary, size)``.
        scales: by piece, what a vector is multiplied by.
        weights: ``<layer>.weight`` and ``<layer>.bias`` for the layers of `LINEAR`, and of
            `DEEPER` where there are some; a convolution's weight has shape
            ``(outputs, 3, inputs)``. What is added has as many outputs as scores change, the last.
    """

    def __init__(
        self,
        pieces: NDArray[np.int8],
        scales: NDArray[np.floating],
        weights: Mapping[str, NDArray[np.floating]],
    ) -> None:
        self.pieces, self.scales = pieces, scales.astype(np.float32)
        layers = LINEAR + (DEEPER if "added.weight" in weights else ())
        names = [f"{layer}.{part}" for layer in layers for part in ("weight", "bias")]
        self.weights = {name: np.asarray(weights[name], np.float32) for name in names}
        self._kernels = {}
        for layer in LINEAR[:2]:
            weight = self.weights[f"{layer}.weight"]
            kernel = weight.reshape(len(weight), _REACH, -1).transpose(2, 1, 0)
            self._kernels[layer] = kernel.reshape(len(kernel), -1)
            self.weights[f"{layer}.weight"] = weight.reshape(len(weight), -1)

    def __call__(self, encoded: Sequence[Sequence[int]]) -> tuple[Singles, Singles]:
        """Return the scores and the points of prompts given as numbers of word pieces."""
        scores, points, *_ = self.layers(encoded)
        return scores, points

    def layers(self, encoded: Sequence[Sequence[int]]) -> tuple[Singles, ...]:
        """Return scores, points, the mean vectors of the pieces, and the hidden layer."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(encoded):
            by_length[len(row)].append(place)
        sizes = [len(self.weights[f"{name}.bias"]) for name in ("scores", "point", "hidden")]
        sizes.insert(2, self.pieces.shape[1])
        layers = tuple(np.empty((len(encoded), size), dtype=np.float32) for size in sizes)
        # Most pieces stand in many prompts: what the first layer makes of one is computed once.
        flat = np.fromiter(chain.from_iterable(encoded), np.int64)
        distinct, flat = np.unique(flat, return_inverse=True)
        scales = self.scales[distinct][:, None]
        vectors: Singles = np.multiply(self.pieces[distinct], scales, dtype=np.float32)
        products: Singles = vectors @ self._kernels["first"]
        ends = np.cumsum([0, *map(len, encoded)])
        for length, places in by_length.items():
            size = max(1, _TOKENS_A_BATCH // length)
            for start in range(0, len(places), size):
                batch = places[start : start + size]
                rows = flat[ends[batch][:, None] + np.arange(length)]
                values = self._run(vectors[rows], products[rows])
                for layer, part in zip(layers, values, strict=True):
                    layer[batch] = part
        scores, points, vectors, hidden = layers
        return scores, unit(points), vectors, hidden

    def _run(self, vectors: Singles, products: Singles) -> tuple[Singles, ...]:
        """Run prompts of one length, from the vectors and first products of their pieces."""
        phrases = np.maximum(self._convolved("first", products), 0)
        # Of three dimensions numpy would make a small product a prompt, each on all cores.
        second = phrases.reshape(-1, phrases.shape[2]) @ self._kernels["second"]
        phrases += np.maximum(self._convolved("second", second.reshape(products.shape)), 0)
        count = np.full((len(vectors), 1), vectors.shape[1], np.float32)
        parts = [phrases.sum(axis=1) / count, phrases.max(axis=1), vectors.sum(axis=1) / count]
        pooled = np.concatenate([*parts, np.log(count)], axis=1)
        hidden = np.maximum(self._linear("hidden", pooled), 0)
        scores, points = self._linear("scores", hidden), self._linear("point", hidden)
        if "added.bias" in self.weights:
            added = self._linear("added", np.maximum(self._linear("deeper", hidden), 0))
            scores[:, -added.shape[1] :] += added
        return scores, points, parts[2], hidden

    def _linear(self, layer: str, rows: Singles) -> Singles:
        return rows @ self.weights[f"{layer}.weight"].T + self.weights[f"{layer}.bias"]

    def _convolved(self, layer: str, products: Singles) -> Singles:
        """Add up what each piece, the one before and the one after make of the layer's kernel."""
        before, own, after = np.split(products, _REACH, axis=2)
        sums = own + self.weights[f"{layer}.bias"]
        sums[:, 1:] += before[:, :-1]
        sums[:, :-1] += after[:, 1:]
        return sums


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
