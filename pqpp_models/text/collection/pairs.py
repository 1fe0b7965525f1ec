"""Counts of word pieces, and of pairs of word pieces, in captions.

A query whose words often occur together in captions has many matching images. Only hashed counts
are saved, so captions cannot be reconstructed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.arrays import Arrays, Singles, iterate_chunks
from pqpp_models.text.collection.model import Scaling

_BITS, _HASH = 20, np.uint64(0x9E3779B97F4A7C15)
_LOW = (1 << 32) - 1
_N_COMMON, _BATCH_SIZE = 15, 128
_PIECE_THRESHOLDS, _PAIR_THRESHOLDS = (5, 20, 80, 320, 1280), (1, 2, 4, 16, 64)


@dataclass(eq=False)
class PiecePairs:
    """Counts of captions by word piece and by hashed pair of word pieces.

    The most common pieces are excluded. A piece counts once per caption, at any position.

    Attributes:
        pieces: number of captions with each word piece.
        cells: number of captions with both pieces of a pair, by the pair's hash; 255 at most.
        size: the number of captions.
        scaling: scaling of the columns of `summarise`.

    >>> pairs = PiecePairs.build([[16, 17], [16, 17, 18], *([n] for n in range(16))] * 2, 19)
    >>> pairs([[16, 17], [17, 18, 18]]).shape
    (2, 42)
    """

    pieces: NDArray[np.uint32]
    cells: NDArray[np.uint8]
    size: int
    scaling: Scaling

    def __post_init__(self) -> None:
        """Check the arrays, and find the most common pieces."""
        is_sized = (len(self.cells), self.cells.dtype) == (1 << _BITS, np.uint8)
        if not is_sized or not (self.scaling.deviation > 0).all():
            raise ValueError("the table of piece pairs, or its scaling, is invalid")
        self._is_common = np.zeros(len(self.pieces), bool)
        self._is_common[np.argsort(-self.pieces.astype(np.int64), kind="stable")[:_N_COMMON]] = True

    @classmethod
    def build(cls, captions: Sequence[Sequence[int]], vocabulary: int) -> PiecePairs:
        """Count the pieces and pairs in captions, given the ids of word pieces."""
        counts = np.bincount(list(chain.from_iterable(map(set, captions))), minlength=vocabulary)
        unscaled, cells = Scaling(np.zeros(1, "f4"), np.ones(1, "f4")), np.zeros(1 << _BITS, "u1")
        pairs = cls(counts.astype(np.uint32), cells, len(captions), unscaled)
        counts = np.bincount(pairs._find_pairs(captions)[-1], minlength=1 << _BITS)
        pairs.cells = np.minimum(counts, 255).astype(np.uint8)
        pairs.scaling = Scaling.fit(pairs.summarise(captions, exclude_self=True))
        return pairs

    def to_tensors(self) -> Arrays:
        """Return the arrays by name."""
        return {"pieces": self.pieces, "cells": self.cells, **vars(self.scaling)}

    def __call__(self, encoded: Sequence[Sequence[int]], exclude_self: bool = False) -> Singles:
        """Return the scaled features of `summarise`."""
        chunks = iterate_chunks(encoded, _BATCH_SIZE)
        return self.scaling(np.concatenate([self.summarise(one, exclude_self) for one in chunks]))

    def summarise(self, encoded: Sequence[Sequence[int]], exclude_self: bool = False) -> Singles:
        """Return features of prompts: sums and means over their distinct pieces and over pairs.

        For pieces, the summands are 1, the log count, its square, the rarity, and whether the count
        is below each threshold. For pairs, they are 1, the log count, its square, the pointwise
        mutual information, its square and its positive part, the log share of the rarer piece's
        captions that contain both pieces, the inverse count, and whether the count reaches each
        threshold. A prompt without pieces or pairs has zeros.

        Args:
            encoded: ids of each prompt's word pieces.
            exclude_self: whether the prompts are captions of the collection; if so, each is left
                out of the counts for itself.
        """
        rows, pieces, first, second, cells = self._find_pairs(encoded)
        counts = np.maximum(self.pieces[pieces] - float(exclude_self), 0)
        together = np.maximum(self.cells[cells] - float(exclude_self), 0)
        size, logs, pair_logs = self.size - exclude_self, np.log1p(counts), np.log1p(together)
        pmi = np.log(together + 0.05) + np.log(size) - logs[first] - logs[second]
        share = np.log(together + 0.1) - np.minimum(logs[first], logs[second])
        piece_features = [np.ones(len(rows)), logs, logs**2, np.log(size + 1) - logs]
        piece_features += [counts < limit for limit in _PIECE_THRESHOLDS]
        pair_features = [np.ones(len(first)), pair_logs, pair_logs**2, pmi, pmi**2]
        pair_features += [np.maximum(pmi, 0), share, 1 / (together + 1)]
        pair_features += [together >= limit for limit in _PAIR_THRESHOLDS]
        features = []
        for places, columns in ((rows, piece_features), (rows[first], pair_features)):
            sums = [np.bincount(places, column, len(encoded)) for column in columns]
            features += [*sums, *(total / np.maximum(sums[0], 1) for total in sums[1:])]
        return np.stack(features, axis=1).astype(np.float32)

    def _find_pairs(self, encoded: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], ...]:
        """Return each piece's prompt and id, and each pair's two positions and hash."""
        rows = np.repeat(np.arange(len(encoded)), [len(pieces) for pieces in encoded])
        pieces = np.fromiter(chain.from_iterable(encoded), np.int64, len(rows))
        codes = np.unique(rows << 32 | pieces)
        codes = codes[~self._is_common[codes & _LOW]]
        rows, pieces = codes >> 32, codes & _LOW
        later = np.cumsum(np.bincount(rows, minlength=1))[rows] - 1 - np.arange(len(rows))
        first = np.repeat(np.arange(len(rows)), later)
        second = first + 1 + np.arange(len(first)) - (np.cumsum(later) - later)[first]
        hashed = (pieces[first] << 32 | pieces[second]).astype(np.uint64) * _HASH
        return rows, pieces, first, second, (hashed >> np.uint64(64 - _BITS)).astype(np.int64)
