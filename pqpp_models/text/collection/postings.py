"""Which captions hold which words, and how much of a collection speaks of what a prompt says.

Query scope counts the captions that hold a query's words (He and Ounis, 2004). Words are hashed: no
caption's text is kept.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.words import content_words, words_of

SHARES = (0.8, 0.6, 0.4)
SCOPE_RANKS = (1, 5, 10, 20, 50)
_ARRAYS = ("words", "starts", "captions", "keys")


class Postings:
    """Which captions hold which hashed word.

    Args:
        words: the distinct hashes of content words, sorted.
        starts: where each word's captions begin in ``captions``; one more for the end.
        captions: numbers of captions, a run a word.
        keys: one hash a caption of all its words in order, by which a prompt knows itself.

    >>> postings = Postings.build(["a red cat", "two cats on a mat", "a dog"])
    >>> np.expm1(postings.scope(["A cat on a red mat"])[0, :3]).round().tolist()
    [0.0, 2.0, 2.0]
    """

    def __init__(
        self,
        words: NDArray[np.uint32],
        starts: NDArray[np.int64],
        captions: NDArray[np.uint32],
        keys: NDArray[np.uint32],
    ) -> None:
        if len(starts) != len(words) + 1 or starts[-1] != len(captions):
            raise ValueError("the postings' arrays do not fit each other")
        if len(captions) and captions.max() >= len(keys):
            raise ValueError("the postings name a caption that is not there")
        self.words, self.starts, self.captions, self.keys = words, starts, captions, keys

    @classmethod
    def build(cls, captions: Sequence[str]) -> Postings:
        """Note the content words of some captions."""
        spoken = [words_of(caption) for caption in captions]
        pairs = {
            (_hash(word), number)
            for number, words in enumerate(spoken)
            for word in content_words(words)
        }
        keys = np.array([_key(words) for words in spoken], dtype=np.uint32)
        return cls._of_pairs(np.array(sorted(pairs), dtype=np.uint32).reshape(-1, 2), keys)

    @classmethod
    def _of_pairs(cls, pairs: NDArray[np.uint32], keys: NDArray[np.uint32]) -> Postings:
        """Return the postings of sorted pairs of a word and a caption."""
        words, counts = np.unique(pairs[:, 0], return_counts=True)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(words, starts, pairs[:, 1].copy(), keys)

    def replaced(self, kept: int, others: Postings) -> Postings:
        """Return the postings of the first captions, with those of others behind them."""
        first, second = self._pairs(), others._pairs()
        second[:, 1] += np.uint32(kept)
        pairs = np.concatenate([first[first[:, 1] < kept], second])
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        return self._of_pairs(pairs, np.concatenate([self.keys[:kept], others.keys]))

    def _pairs(self) -> NDArray[np.uint32]:
        return np.column_stack([np.repeat(self.words, np.diff(self.starts)), self.captions])

    def scope(self, prompts: Sequence[str]) -> NDArray[np.float32]:
        """Return how many captions hold all, nearly all or most of each prompt's content words.

        Log counts of captions with all content words, with all but one and but two; with a share
        of at least `SHARES` of their inverse document frequency; the share that the captions of
        `SCOPE_RANKS` have; the sum and the mean of the words' inverse document frequencies. A
        caption that is the prompt itself is left out of all, a prompt without content words has
        nothing in common with any caption.
        """
        rows = [self._scope(words_of(prompt)) for prompt in prompts]
        width = len(SHARES) + len(SCOPE_RANKS) + 5
        return np.array(rows, dtype=np.float32).reshape(len(prompts), width)

    def _scope(self, words: list[str]) -> list[float]:
        content = content_words(words)
        same = np.flatnonzero(self.keys == _key(words))
        hits = np.zeros(len(self.keys), dtype=np.int16)
        weight = np.zeros(len(self.keys))
        total = 0.0
        for word in content:
            found = self._captions_with(word)
            own = np.isin(same, found).sum() if len(same) else 0
            rarity = np.log((len(self.keys) - len(same) + 1) / (len(found) - own + 1))
            hits[found] += 1
            weight[found] += rarity
            total += rarity
        hits[same], weight[same] = -1, 0
        share = weight / max(total, 1e-6)
        most = min(max(SCOPE_RANKS), len(share))
        top = np.zeros(max(SCOPE_RANKS))
        top[:most] = np.sort(np.partition(share, -most)[-most:])[::-1] if most else 0
        wanted = [max(len(content) - missing, 1) for missing in range(3)]
        return [
            *(np.log1p((hits >= least).sum()) for least in wanted),
            *(np.log1p((share > least).sum()) for least in SHARES),
            *(top[rank - 1] for rank in SCOPE_RANKS),
            *(total, total / max(len(content), 1)),
        ]

    def _captions_with(self, word: str) -> NDArray[np.uint32]:
        key = _hash(word)
        place = int(np.searchsorted(self.words, key))
        if place == len(self.words) or self.words[place] != key:
            return self.captions[:0]
        return self.captions[self.starts[place] : self.starts[place + 1]]

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the postings as named arrays."""
        return {f"postings.{name}": getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_tensors(cls, arrays: Mapping[str, NDArray[Any]]) -> Postings | None:
        """Return the postings among named arrays, if they are there.

        Raises:
            KeyError, ValueError: some are missing, or they do not fit each other.
        """
        if f"postings.{_ARRAYS[0]}" not in arrays:
            return None
        return cls(*(arrays[f"postings.{name}"] for name in _ARRAYS))


def _hash(word: str) -> int:
    return zlib.crc32(word.encode())


def _key(words: Sequence[str]) -> int:
    return _hash(" ".join(words))
