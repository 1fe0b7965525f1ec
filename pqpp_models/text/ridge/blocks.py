"""What a prompt is read as, and the parts of a head that read it by kernels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from pqpp_models.text.arrays import Floats, Singles, squared_distances, unit
from pqpp_models.text.reading.words import difficulty_features
from pqpp_models.text.ridge.pieces import code_of, count_pieces, weigh_pieces, words_in

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pqpp_models.text.ridge.sentence_encoder import SentenceEncoder

BUCKETS = 1024
"""How many columns words and pairs of neighbours are hashed into."""


class ReadPrompts(NamedTuple):
    """What is read of prompts, one row each.

    Attributes:
        points: where they lie in the space of `static`, of length one.
        words: as `hashed_words` gives them.
        blocks: the mean vectors of word pieces, the hidden layer, and the features of difficulty.
        pieces: as `count_pieces` gives them; None of a head of an older release.
        sentence: what a sentence encoder makes of them, None without one.
        base: what `static` predicts of them, where a fit begins there.
    """

    points: Singles
    words: Floats
    blocks: tuple[Singles, ...]
    pieces: csr_array | None
    sentence: Singles | None
    base: Floats | None = None

    @property
    def embedding(self) -> Singles:
        """The two layers of `static`, of length one each."""
        return np.hstack([unit(layer) for layer in self.blocks[:2]])

    def take(self, rows: Any) -> Self:
        """Return that of some prompts."""
        return type(self)(
            self.points[rows],
            self.words[rows],
            tuple(block[rows] for block in self.blocks),
            None if self.pieces is None else self.pieces[rows],
            None if self.sentence is None else self.sentence[rows],
            None if self.base is None else self.base[rows],
        )


def read(
    network: Any,
    sentence_encoder: SentenceEncoder | None,
    prompts: Sequence[str],
    with_pieces: bool = True,
    base: str | None = None,
) -> ReadPrompts:
    """Read normalised prompts.

    Args:
        network: the predictor `static`, whose network turns prompts into numbers.
        sentence_encoder: one beside it.
        prompts: the prompts.
        with_pieces: whether pieces of words are counted.
        base: a target of the network's.
    """
    points, *layers = network.represent(prompts)
    return ReadPrompts(
        points,
        hashed_words(prompts),
        (*layers, difficulty_features(prompts, network.tables)),
        count_pieces(prompts) if with_pieces else None,
        None if sentence_encoder is None else sentence_encoder.embed(prompts),
        None if base is None else network.answer(list(prompts), base).values[:, 0],
    )


def join_readings(readings: Sequence[ReadPrompts]) -> ReadPrompts:
    """Return readings of several chunks as one."""
    from scipy.sparse import csr_array, vstack

    points, words, blocks, pieces, sentences, bases = zip(*readings, strict=True)
    return ReadPrompts(
        np.concatenate(points),
        np.concatenate(words),
        tuple(np.concatenate(block) for block in zip(*blocks, strict=True)),
        csr_array(vstack(pieces)),
        None if sentences[0] is None else np.concatenate(sentences),
        None if bases[0] is None else np.concatenate(bases),
    )


def hashed_words(prompts: Sequence[str], buckets: int = BUCKETS) -> Floats:
    """Return the words, and the pairs of neighbouring words, of normalised prompts as numbers.

    Each adds or subtracts one in a column that its CRC-32 names; a row has length one, or zero
    where a prompt has no word.

    >>> row = hashed_words(["a cat"])[0]
    >>> int((row != 0).sum()), round(float(row @ row), 6)
    (3, 1.0)
    """
    rows = np.zeros((len(prompts), buckets))
    for row, prompt in zip(rows, prompts, strict=True):
        words = words_in(prompt)
        pairs = map(" ".join, pairwise(words))
        for text in dict.fromkeys((*words, *pairs)):
            code = code_of(text)
            row[code % buckets] += 1 if code >> 31 else -1
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


class Pieces(NamedTuple):
    """TF-IDF with a linear head.

    Attributes:
        rarity: one a column of `count_pieces`.
        weights: shape ``(columns, targets)``.
    """

    rarity: Singles
    weights: Singles

    def score(self, reading: ReadPrompts) -> Floats:
        """Return what it adds to the standardised scores."""
        assert reading.pieces is not None
        return weigh_pieces(reading.pieces, self.rarity) @ self.weights.astype(np.float64)


class Neighbours(NamedTuple):
    """A radial kernel with a linear head.

    Attributes:
        landmarks: vectors of training prompts, one a row.
        width: shape ``(1,)``: what squared distances are divided by.
        weights: shape ``(landmarks, targets)``.
    """

    landmarks: Singles
    width: Singles
    weights: Singles

    def score(self, vectors: Singles) -> Floats:
        """Return what it adds to the standardised scores of prompts with such vectors."""
        return radial_kernel(vectors, self.landmarks, float(self.width[0])) @ self.weights


def radial_kernel(vectors: Singles, landmarks: Singles, width: float) -> Floats:
    """Return ``exp(-|vector - landmark|² / width)``, shape ``(vectors, landmarks)``.

    >>> radial_kernel(np.array([[0.0], [2.0]]), np.array([[0.0]]), 4.0).round(3).tolist()
    [[1.0], [0.368]]
    """
    squares = squared_distances(vectors.astype(np.float64), landmarks.astype(np.float64))
    return np.exp(-squares / width)
