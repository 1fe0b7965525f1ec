"""What the ridge predictor is linear in: the network's layers, difficulty, hashed words."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.words import WordTables, difficulty_features

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

BUCKETS = 1024
"""How many columns words and pairs of neighbours are hashed into."""

_MOST_DEVIATIONS = 4.0
_WORD = re.compile(r"\w+(?:'\w+)?")


class Encoder(Protocol):
    """The predictor whose network turns prompts into numbers: `static`."""

    tables: WordTables

    def represent(self, rows: Sequence[str]) -> tuple[Singles, Singles, Singles]:
        """Return the points, the mean vectors of the word pieces, and the hidden layer."""


@dataclass(frozen=True)
class Standardisation:
    """Makes columns comparable; learned from the training prompts, without their scores.

    Attributes:
        mean: of each column but the hashed ones.
        deviation: of each; positive.
        weight: what each is multiplied by afterwards. The layers keep their columns' relative
            spreads; the layers as a whole, the difficulty features, and the hashed words weigh the
            same.
    """

    mean: Singles
    deviation: Singles
    weight: Singles

    @classmethod
    def of(cls, blocks: Sequence[Singles]) -> Standardisation:
        """Return that of some prompts, from their blocks as measured."""
        columns = np.hstack(blocks).astype(np.float64)
        deviation = columns.std(axis=0)
        varies = deviation > 1e-6
        ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
        *layers, told = np.split(np.where(varies, deviation, 0.0), ends)
        shares = np.concatenate([_share(one) for one in (*layers, np.sign(told))])
        found = (columns.mean(axis=0), np.where(varies, deviation, 1.0), shares)
        return cls(*(one.astype(np.float32) for one in found))

    def __call__(self, columns: Singles) -> Floats:
        """Return standardised columns, none more than four deviations from its mean."""
        scaled = (columns.astype(np.float64) - self.mean) / self.deviation
        return np.clip(scaled, -_MOST_DEVIATIONS, _MOST_DEVIATIONS) * self.weight


def _share(spreads: Floats) -> Floats:
    """Return what makes the squared lengths of a block's rows one on average."""
    return spreads / max(np.sqrt((spreads**2).sum()), 1e-12)


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
        words = _WORD.findall(prompt)
        pairs = map(" ".join, pairwise(words))
        for text in dict.fromkeys((*words, *pairs)):
            code = zlib.crc32(text.encode("utf-8", "surrogatepass"))
            row[code % buckets] += 1 if code >> 31 else -1
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def measure(encoder: Encoder, prompts: Sequence[str]) -> tuple[Singles, list[Singles]]:
    """Return the points of normalised prompts, and the three blocks that are standardised."""
    points, vectors, hidden = encoder.represent(prompts)
    return points, [vectors, hidden, difficulty_features(prompts, encoder.tables)]
