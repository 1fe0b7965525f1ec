"""The static predictor: word vectors and two small convolutions, in NumPy.

It is distilled from a transformer and a collection of captions (see `pqpp train static`). It
estimates the uncertainty of its predictions, and the distance of a prompt to the training prompts.

Prompts are tokenized as by BERT's uncased tokenizer, but without its library. Each word piece has
one vector. Two convolutions over three neighbouring pieces represent short phrases; their mean and
their maximum over the prompt, the mean of the vectors, and the number of pieces are the inputs of a
hidden layer. The outputs are the scores, and an embedding in which similar prompts are close. A
deeper layer over the hidden layer may add to the last scores, and so may a layer with a further
input: how often captions of a collection contain the same pieces and pairs of pieces
(`PiecePairs`).
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import Tensors
from pqpp_models import registry
from pqpp_models.targets import ALIGNMENT, TARGETS, resolve_targets
from pqpp_models.text.alignment import AlignmentModel, compute_features, compute_lengths
from pqpp_models.text.arrays import (
    INT8_SCALE,
    Floats,
    Singles,
    add_prefix,
    multiply_exactly,
    normalise_rows,
    round_to_grid,
    select_prefixed,
)
from pqpp_models.text.calibration import CalibratedPredictor, read_calibration
from pqpp_models.text.collection.model import Scaling
from pqpp_models.text.collection.pairs import PiecePairs
from pqpp_models.text.reading.simplify import simplify_prompt
from pqpp_models.text.reading.words import WordTables, strip_accents

UNKNOWN_PIECE = "[UNK]"
_MAX_WORD = 100
_MAX_CHARACTERS = 2000
_CACHE_SIZE = 1 << 16


class WordPieces:
    """A tokenizer with the word pieces of BERT, lower-cased and without accents.

    Args:
        vocabulary: the pieces in order of their ids; ``##`` marks a piece inside a word.
        max_pieces: number of pieces to which a prompt is truncated.

    >>> pieces = WordPieces(["[PAD]", "[UNK]", "surf", "##board", "!"], max_pieces=8)
    >>> pieces.encode("Surfboard! Qqq")
    [2, 3, 4, 1]
    """

    def __init__(self, vocabulary: Sequence[str], max_pieces: int) -> None:
        self.vocabulary = list(vocabulary)
        self.ids = {piece: id_ for id_, piece in enumerate(self.vocabulary)}
        self.max_pieces = max_pieces
        self._unknown = self.ids[UNKNOWN_PIECE]
        self._pieces = lru_cache(_CACHE_SIZE)(self._split_word)

    def __reduce__(self) -> tuple[Any, ...]:
        return WordPieces, (self.vocabulary, self.max_pieces)  # without the cache

    def encode(self, prompt: str) -> list[int]:
        """Return the ids of a prompt's pieces; a prompt without text has one unknown piece."""
        ids: list[int] = []
        for word in split_words(prompt):
            ids += self._pieces(word)
            if len(ids) >= self.max_pieces:
                break
        return ids[: self.max_pieces] or [self._unknown]

    def find_unread_words(self, prompt: str) -> str:
        """Return the end of a long prompt that is not read; empty if the whole prompt is read.

        >>> WordPieces(["[UNK]", "a", "cat"], max_pieces=2).find_unread_words("a cat, a cat")
        ', a cat'
        """
        count, words = 0, split_words(prompt)
        for index, word in enumerate(words):
            count += len(self._pieces(word))
            if count > self.max_pieces:
                return " ".join(words[index:])
        return ""

    def _split_word(self, word: str) -> tuple[int, ...]:
        if len(word) > _MAX_WORD:
            return (self._unknown,)
        ids, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for stop in range(len(word), start, -1):
                id_ = self.ids.get(prefix + word[start:stop])
                if id_ is not None:
                    break
            else:
                return (self._unknown,)
            ids.append(id_)
            start = stop
        return tuple(ids)


def split_words(prompt: str) -> list[str]:
    """Split a prompt into lower-case words and single punctuation marks, without accents.

    >>> split_words("Café (au lait), 2nd")
    ['cafe', '(', 'au', 'lait', ')', ',', '2nd']
    """
    text = prompt[:_MAX_CHARACTERS].lower()
    if text.isascii():
        return "".join(map(_ASCII.__getitem__, text.encode())).split()
    return "".join(map(_separate_character, strip_accents(text))).split()


def _separate_character(character: str) -> str:
    """Return a character, with spaces around it if it is a token."""
    code = ord(character)
    category = unicodedata.category(character)
    if character in "\t\n\r" or category == "Zs":
        return " "
    if code in (0, 0xFFFD) or category in ("Cc", "Cf"):
        return ""
    mark = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    ideograph = 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2FA1F
    if mark or category.startswith("P") or ideograph:
        return f" {character} "
    return character


_ASCII = [_separate_character(chr(code)) for code in range(128)]


LINEAR = ("first", "second", "hidden", "scores", "point")
"""Layers with a ``.weight`` and a ``.bias``; the two convolutions come first."""
DEEPER = ("deeper", "added")
"""Optional layers: one over the hidden layer, and its contribution to scores."""
PAIRED = ("paired", "raised")
"""The same over the hidden layer and the features of pairs of pieces."""

_WINDOW = 3
_BATCH_SIZE, _POOLING_SIZE = 512, 32  # prompts; the arrays of 32 fit into the cache


class StaticNetwork:
    """A small convolutional network on word pieces.

    Args:
        pieces: int8 vectors of word pieces, shape ``(vocabulary, size)``.
        scales: the factor of each vector.
        weights: ``<layer>.weight`` and ``<layer>.bias`` of the layers in `LINEAR`, and optionally
            of those in `DEEPER` and `PAIRED`, whose outputs are added to the last scores.
        pairs: further input of the layers in `PAIRED`.
    """

    def __init__(
        self,
        pieces: NDArray[np.int8],
        scales: NDArray[np.floating],
        weights: Mapping[str, NDArray[np.floating]],
        pairs: PiecePairs | None = None,
    ) -> None:
        self.pieces, self.scales, self.pairs = pieces, scales.astype(np.float32), pairs
        layers = LINEAR + (DEEPER if "added.weight" in weights else ())
        layers += PAIRED if pairs is not None else ()
        names = [f"{layer}.{part}" for layer in layers for part in ("weight", "bias")]
        self.weights = {name: np.asarray(weights[name], np.float32) for name in names}
        self._kernels = {}
        for layer in LINEAR[:2]:
            weight = self.weights[f"{layer}.weight"]
            kernel = weight.reshape(len(weight), _WINDOW, -1).transpose(2, 1, 0)
            self._kernels[layer] = round_to_grid(kernel.reshape(len(kernel), -1))
            self.weights[f"{layer}.weight"] = weight.reshape(len(weight), -1)
        for layer in layers[2:]:
            self._kernels[layer] = round_to_grid(self.weights[f"{layer}.weight"].T)

    def compute_layers(self, encoded: Sequence[Sequence[int]]) -> tuple[Singles, ...]:
        """Return scores, unit vectors, mean vectors of pieces, and the hidden layer.

        A prompt's rows do not depend on the other prompts.
        """
        sizes = (2 * len(self.weights["first.bias"]), self.pieces.shape[1], 1)
        starts = range(0, len(encoded), _BATCH_SIZE)
        parts = [self._pool_pieces(encoded[start : start + _BATCH_SIZE]) for start in starts]
        pooled = np.concatenate([np.empty((0, sum(sizes)), np.float32), *parts])
        hidden = np.maximum(self._apply_linear("hidden", pooled), 0)
        scores, points = self._apply_linear("scores", hidden), self._apply_linear("point", hidden)
        deeper_inputs = {DEEPER: hidden} if "added.bias" in self.weights else {}
        if self.pairs is not None:
            deeper_inputs[PAIRED] = np.concatenate([hidden, self.pairs(encoded)], axis=1)
        for (deeper, last), rows in deeper_inputs.items():
            added = self._apply_linear(last, np.maximum(self._apply_linear(deeper, rows), 0))
            scores[:, -added.shape[1] :] += added
        return scores, normalise_rows(points), pooled[:, sizes[0] : -1].copy(), hidden

    def _pool_pieces(self, encoded: Sequence[Sequence[int]]) -> Singles:
        """Return the pooled phrases and pieces of prompts, and log counts of pieces."""
        ends = np.cumsum([0, *map(len, encoded)])
        ids = np.fromiter(chain.from_iterable(encoded), np.int64)
        distinct, indices = np.unique(ids, return_inverse=True)
        pieces = _append_zeros(self.pieces[distinct])
        scales = _append_zeros(self.scales[distinct])[:, None]
        vectors: Singles = np.multiply(pieces, scales, dtype=np.float32)
        products = multiply_exactly(pieces, self._kernels["first"]) * scales
        # Each distinct triple of pieces is computed once.
        before, after = _find_neighbours(indices, ends)
        codes = (before * (len(products) + 1) + indices) * (len(products) + 1) + after
        _, first, triples = np.unique(codes, return_index=True, return_inverse=True)
        sums = self._convolve("first", products, before[first], indices[first], after[first])
        phrases = _append_zeros(np.maximum(sums, 0))
        products = multiply_exactly(phrases, self._kernels["second"])
        before, after = _find_neighbours(triples, ends)
        count = np.diff(ends).astype(np.float32)[:, None]
        pooled = np.empty((len(encoded), 2 * phrases.shape[1] + vectors.shape[1] + 1), np.float32)
        for offset in range(0, len(encoded), _POOLING_SIZE):
            batch = slice(offset, offset + _POOLING_SIZE)
            span = slice(ends[offset], ends[min(offset + _POOLING_SIZE, len(encoded))])
            starts = ends[:-1][batch] - ends[offset]
            sums = self._convolve("second", products, before[span], triples[span], after[span])
            five_piece_phrases = phrases[triples[span]] + np.maximum(sums, 0)
            parts = (
                np.add.reduceat(five_piece_phrases, starts) / count[batch],
                np.maximum.reduceat(five_piece_phrases, starts),
                np.add.reduceat(vectors[indices[span]], starts) / count[batch],
                np.log(count[batch]),
            )
            np.concatenate(parts, axis=1, out=pooled[batch])
        return pooled

    def _apply_linear(self, layer: str, rows: Singles) -> Singles:
        return multiply_exactly(rows, self._kernels[layer]) + self.weights[f"{layer}.bias"]

    def _convolve(self, layer: str, products: Singles, *indices: NDArray[np.int64]) -> Singles:
        before, centre, after = np.split(products, _WINDOW, axis=1)
        sums: Singles = centre[indices[1]] + self.weights[f"{layer}.bias"]
        sums += before[indices[0]]
        sums += after[indices[2]]
        return sums


def _append_zeros(rows: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([rows, np.zeros_like(rows[:1])])


def _find_neighbours(
    pieces: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of the pieces before and after each piece, or -1 if there is none."""
    before, after = np.roll(pieces, 1), np.roll(pieces, -1)
    before[ends[:-1]] = after[ends[1:] - 1] = -1
    return before, after


def quantise(vectors: Singles) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Round vectors to eight bits, and return the codes and the scale of each vector.

    >>> codes, scales = quantise(np.array([[0.5, -1.0]], np.float32))
    >>> (codes * scales[:, None]).round(2).tolist()
    [[0.5, -1.0]]
    """
    scales = (np.abs(vectors).max(axis=1) / INT8_SCALE).astype(np.float16)
    safe = np.where(scales > 0, scales, 1).astype(np.float32)
    codes = np.clip(np.round(vectors / safe[:, None]), -INT8_SCALE, INT8_SCALE)
    return codes.astype(np.int8), scales


_MONOTONIC = "no_easier_with_more"
_MAX_SHOWN_WORDS = 12


@dataclass(eq=False, repr=False)
class StaticPredictor(CalibratedPredictor):
    """A predictor with a small convolutional network on word pieces.

    Predictions are in each target's own units and range. A prompt's prediction does not depend on
    the other prompts of the call.

    Attributes:
        references: unit vectors of the training prompts as int8, for distances.
        targets: the targets, in the order of the network's first scores.
        no_easier_with_more: targets whose score is the lowest among the prompt and its simpler
            variants, so that a more demanding prompt never scores higher.
        judged: the model that predicts `alignment`.

    >>> predictor = StaticPredictor.from_shipped("static")
    >>> predictor.predict(["a man riding a wave", "a red hat"], "mean_p10").shape
    (2, 1)
    """

    tokens: WordPieces
    network: StaticNetwork
    references: NDArray[np.int8]
    tables: WordTables = field(kw_only=True)
    targets: tuple[str, ...] = TARGETS
    no_easier_with_more: tuple[str, ...] = field(default=(), kw_only=True)
    judged: AlignmentModel | None = field(default=None, kw_only=True)

    name = "static"
    chunk_size = 1024
    further_facts = (_MONOTONIC,)

    def embed(self, rows: Any) -> Singles:
        """Return the embeddings by which distances are measured, as unit vectors.

        >>> StaticPredictor.from_shipped("static").embed(["A man riding a wave."]).shape
        (1, 64)
        """
        return self.get_features(rows)[0]

    def get_features(self, rows: Any) -> tuple[Singles, ...]:
        """Return features of prompts, to which a head for other targets can be fitted.

        Returns:
            The unit vectors, the mean vectors of word pieces, and the hidden layer.

        >>> points, vectors, hidden = StaticPredictor.from_shipped("static").get_features(["A cat"])
        >>> points.shape, vectors.shape, hidden.shape
        ((1, 64), (1, 96), (1, 256))
        """
        texts = [prompt.normalised for prompt in self.read_rows(rows)]
        return self.network.compute_layers(self._encode(texts))[1:]

    def compute_raw_scores(self, prompts: Sequence[str]) -> tuple[Floats, Singles]:
        """Return the standardised scores of all targets, and the prompts' unit vectors.

        Scores of `no_easier_with_more` are the lowest among the prompt's simpler variants.
        """
        columns = [self.targets.index(name) for name in self.no_easier_with_more]
        variants = [simplify_prompt(prompt) if columns else (prompt,) for prompt in prompts]
        # Many prompts share simpler variants: "90 dogs" and "95 dogs".
        distinct = dict.fromkeys((*prompts, *chain.from_iterable(variants)))
        indices = {text: index for index, text in enumerate(distinct)}
        scores, points, vectors, _ = self.network.compute_layers(self._encode(list(indices)))
        if self.judged is not None:
            facts = compute_features([*indices], vectors, scores, self.tables)
            facts.append(np.zeros((len(indices), 2)))  # as if the text were English
            alignment = self.judged(np.concatenate(facts, axis=1), compute_lengths([*indices]))
            scores[:, self.targets.index(ALIGNMENT)] = alignment
        prompt_indices = [indices[prompt] for prompt in prompts]
        prompt_scores = scores[prompt_indices].astype(np.float64)
        if columns:
            variant_rows = [indices[text] for texts in variants for text in texts]
            starts = np.cumsum([0, *map(len, variants[:-1])])
            lowest = np.minimum.reduceat(scores[variant_rows], starts)
            prompt_scores[:, columns] = lowest[:, columns]
        return prompt_scores, points[prompt_indices]

    def _find_unread_text(self, text: str) -> str:
        words = self.tokens.find_unread_words(text).split()
        if len(words) > _MAX_SHOWN_WORDS:
            words = [*words[:_MAX_SHOWN_WORDS], "..."]
        return f"beyond {self.tokens.max_pieces} word pieces: {' '.join(words)}" if words else ""

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.tokens.encode(text) for text in texts]

    def _get_state(self) -> tuple[dict[str, Any], Tensors]:
        weights = {k: array.astype(np.float16) for k, array in self.network.weights.items()}
        pairs = self.network.pairs
        tensors: Tensors = {
            "vocabulary": np.frombuffer("\n".join(self.tokens.vocabulary).encode(), np.uint8),
            "pieces": self.network.pieces,
            "scales": self.network.scales.astype(np.float16),
            "references": self.references,
            "word_counts": self.tables.counts,
            "word_pairs": self.tables.pairs,
            **add_prefix("network.", weights),
            **({} if pairs is None else add_prefix("pairs.", pairs.to_tensors())),
            **({} if self.judged is None else add_prefix("judged.", self.judged.to_tensors())),
            **self._get_calibration_tensors(),
        }
        sizes = {"max_pieces": self.tokens.max_pieces, "captions": self.tables.size}
        rules = {_MONOTONIC: list(self.no_easier_with_more)} if self.no_easier_with_more else {}
        return {**sizes, **rules, **self.details}, tensors

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Load `static` or `static-train`."""
        return registry.load_predictor_folder(registry.SHIPPED / name)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a checkpoint, given its parsed files."""
        targets = resolve_targets(config["targets"])
        numbers = max_pieces, captions = config.get("max_pieces", 0), config.get("captions", 0)
        rule = tuple(config.get(_MONOTONIC, []))
        vocabulary = tensors["vocabulary"].tobytes().decode().split("\n")
        pair_pieces = tensors.get("pairs.pieces", vocabulary)
        lengths = {*map(len, (vocabulary, tensors["pieces"], tensors["scales"], pair_pieces))}
        if (
            not all(type(number) is int and number > 0 for number in numbers)
            or not {*rule} <= set(targets)
            or len(lengths) > 1
            or UNKNOWN_PIECE not in vocabulary
        ):
            raise ValueError(f"max_pieces, captions, {_MONOTONIC} or the vocabulary is invalid")
        network = select_prefixed("network.", tensors)
        pairs = None
        if counts := select_prefixed("pairs.", tensors):
            scaling = Scaling(counts["mean"], counts["deviation"])
            pairs = PiecePairs(counts["pieces"], counts["cells"], captions, scaling)
        judged = select_prefixed("judged.", tensors)
        return cls(
            WordPieces(vocabulary, max_pieces),
            StaticNetwork(tensors["pieces"], tensors["scales"], network, pairs),
            tensors["references"],
            targets,
            no_easier_with_more=rule,
            judged=AlignmentModel(**judged) if judged else None,
            tables=WordTables(tensors["word_counts"], tensors["word_pairs"], captions),
            **read_calibration(config, tensors, "max_pieces", "captions", _MONOTONIC),
        )
