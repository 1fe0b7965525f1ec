"""How much of a collection speaks of what a prompt speaks of, and how much its parts agree.

Query scope counts the captions that hold a query's words (He and Ounis, 2004); coherence is how
alike the captions nearest to the query are to each other (He et al., 2008). Words are hashed: no
caption's text is kept.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.words import content_words, words_of

Floats = NDArray[np.float32]

SHARES = (0.8, 0.6, 0.4)
SCOPE_RANKS = (1, 5, 10, 20, 50)
COHERENCE_NEIGHBOURS = (5, 10, 20, 50, 100)
_CENTRE_NEIGHBOURS = 20


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
        pairs = [
            (_hash(word), number)
            for number, words in enumerate(spoken)
            for word in content_words(words)
        ]
        table = np.array(sorted(set(pairs)), dtype=np.uint32).reshape(-1, 2)
        words, counts = np.unique(table[:, 0], return_counts=True)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        keys = np.array([_key(words) for words in spoken], dtype=np.uint32)
        return cls(words, starts, table[:, 1].copy(), keys)

    def scope(self, prompts: Sequence[str]) -> Floats:
        """Return how many captions hold all, nearly all or most of each prompt's content words.

        Log counts of captions with all content words, with all but one and but two; with a share
        of at least `SHARES` of their inverse document frequency; the share that the captions of
        `SCOPE_RANKS` have; the sum and the mean of the words' inverse document frequencies. A
        caption that is the prompt itself is left out of all, a prompt without content words has
        nothing in common with any caption.

        Args:
            prompts: the texts.

        Returns:
            An array of shape ``(prompts, features)``.
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


def coherence(rows: Floats, known: Floats, same: float) -> Floats:
    """Return how alike the captions nearest to some prompts are to each other.

    For each number of neighbours, the mean cosine between two of them and the deviation of their
    cosines to the prompt; last, how far their mean is from the origin. Captions that are the
    prompt itself are left out.

    Args:
        rows: unit vectors of the prompts, of shape ``(prompts, size)``.
        known: unit vectors of the captions, of shape ``(captions, size)``.
        same: the cosine from which on a caption is the prompt itself.

    Returns:
        An array of shape ``(prompts, features)``.

    >>> known = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    >>> found = coherence(np.array([[0.6, 0.8, 0.0]], np.float32), known, 0.9999)
    >>> round(3 * float(found[0, 0]), 4)
    1.0
    """
    most = min(max(COHERENCE_NEIGHBOURS), len(known))
    result = np.empty((len(rows), 2 * len(COHERENCE_NEIGHBOURS) + 1), dtype=np.float32)
    for start in range(0, len(rows), 256):
        similarity = rows[start : start + 256] @ known.T
        similarity[similarity >= same] = -1
        index = np.argpartition(-similarity, most - 1, axis=1)[:, :most]
        values = np.take_along_axis(similarity, index, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        values = np.take_along_axis(values, order, axis=1)
        near = known[np.take_along_axis(index, order, axis=1)]
        result[start : start + 256] = _agreement(near, values)
    return result


def _agreement(near: Floats, values: Floats) -> Floats:
    # What was left out as the prompt itself has the least value, so it comes last.
    present = np.maximum((values > -1).sum(axis=1), 1)
    rows = np.arange(len(values))
    # The sum over all pairs is the squared length of the sum of the vectors.
    sums = np.cumsum(near, axis=1)
    columns = []
    for k in COHERENCE_NEIGHBOURS:
        count = np.minimum(k, present)
        total = sums[rows, count - 1]
        pairs = np.einsum("nd,nd->n", total, total) - count
        counted = np.arange(values.shape[1]) < count[:, None]
        columns += [pairs / np.maximum(count * (count - 1), 1), values.std(axis=1, where=counted)]
    centre = np.minimum(_CENTRE_NEIGHBOURS, present)
    columns.append(np.linalg.norm(sums[rows, centre - 1] / centre[:, None], axis=1))
    return np.stack(columns, axis=1)


def _hash(word: str) -> int:
    return zlib.crc32(word.encode())


def _key(words: Sequence[str]) -> int:
    return _hash(" ".join(words))
