"""The numbers that the lexical predictor is linear in.

For each kind of n-gram, a vector with one entry an n-gram: ``(1 + log tf) * idf``, scaled to length
one within the kind. Beside them a few dense features: the prompt's surface, how rare its n-grams
are, and how unusual its pairs of words are given the words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.lexical.index import KEPT_ONCE, Encoded, Ints, NgramIndex, Occurrences
from pqpp_models.text.lexical.ngrams import KINDS

Floats = NDArray[np.float64]

SURFACE = ("n_words", "log_n_words", "n_chars", "log_n_chars", "mean_length", "max_length", "stop")
RARITY = ("mean", "max", "std", "sum", "unseen")
ASSOCIATION = ("mean", "max", "min", "std")
DENSE = (
    *SURFACE,
    *(f"{kind}_rarity_{name}" for kind in KINDS for name in RARITY),
    *(f"association_{name}" for name in ASSOCIATION),
)
"""The dense features by name."""

# A dense feature this many standard deviations from the training mean tells no more than that.
_MOST_DEVIATIONS = 4.0


def weighted_entries(index: NgramIndex, kind: str, found: Occurrences, n: int) -> tuple:
    """Compute the normalised entries of one kind of n-gram.

    Args:
        index: the known n-grams.
        kind: one of ``KINDS``.
        found: the occurrences in ``n`` prompts.
        n: the number of prompts.

    Returns:
        Arrays ``(rows, ids, values)``, sorted by row and then by number. Within a row the squares
        of the values add up to 1; a row without weighted n-grams has no entries.
    """
    size = index.n_weighted(kind)
    weighted = (found.ids >= 0) & (found.ids < size)
    keys, counts = np.unique(
        found.rows[weighted] * max(size, 1) + found.ids[weighted], return_counts=True
    )
    rows, ids = np.divmod(keys, max(size, 1))
    idf = np.log((1 + index.n_prompts) / (1 + index.frequencies[kind])) + 1
    values = (1 + np.log(counts)) * idf[ids]
    lengths = np.sqrt(np.bincount(rows, weights=values**2, minlength=n))
    return rows, ids, values / lengths[rows]


def dense_features(
    index: NgramIndex, prompts: list[str], encoded: Encoded, leave_one_out: bool = False
) -> Floats:
    """Compute the dense features of some prompts.

    Args:
        index: the known n-grams.
        prompts: the prompts.
        encoded: the same prompts as ``index.encode`` returned them.
        leave_one_out: whether the prompts are those that the index was built from. Each is then
            compared with the others only, as a new prompt is compared with all; without this a
            predictor learns from frequencies that contain their own row.

    Returns:
        Shape ``(prompts, len(DENSE))``; NaN where a prompt has nothing to measure (no bigram in
        one word; nothing at all in a blank prompt).
    """
    n = len(prompts)
    counts = {
        kind: _frequencies(index, kind, found.ids, leave_one_out)
        for kind, found in encoded.kinds.items()
    }
    rarity = [_rarity(index, encoded.kinds[kind].rows, counts[kind], n) for kind in KINDS]
    association = _association(index, encoded, counts["pair"], leave_one_out, n)
    return np.hstack([_surface(prompts, encoded.words), *rarity, association])


def standardise(features: Floats, mean: NDArray, deviation: NDArray) -> Floats:
    """Centre and scale dense features; what could not be measured becomes 0, the training mean.

    >>> standardise(np.array([[3.0], [np.nan], [99.0]]), np.array([1.0]), np.array([2.0])).tolist()
    [[1.0], [0.0], [4.0]]
    """
    scaled = (features - mean) / deviation
    return np.nan_to_num(np.clip(scaled, -_MOST_DEVIATIONS, _MOST_DEVIATIONS), nan=0.0)


def _frequencies(index: NgramIndex, kind: str, ids: Ints, leave_one_out: bool) -> Floats:
    """Return in how many (other) training prompts each occurring n-gram is, as far as known."""
    table = np.ones(index.n_known(kind) + 1)
    table[: index.n_weighted(kind)] = index.frequencies[kind]
    table[-1] = 0.0  # what -1, not known, points at
    if leave_one_out:
        table[:-1] -= 1
    if kind not in KEPT_ONCE:
        # A new prompt cannot know that something was seen once; then training must not either.
        table[table < 2] = 0.0
    return table[ids]


def _surface(prompts: list[str], words: list[list[str]]) -> Floats:
    features = np.full((len(prompts), len(SURFACE)), np.nan)
    for row, (prompt, split) in enumerate(zip(prompts, words, strict=True)):
        lengths = [len(word) for word in split if word[0].isalnum()]
        if not lengths:
            continue
        text = prompt.strip()
        features[row] = (
            len(lengths),
            np.log1p(len(lengths)),
            len(text),
            np.log1p(len(text)),
            sum(lengths) / len(lengths),
            max(lengths),
            text.endswith("."),
        )
    return features


def _rarity(index: NgramIndex, rows: Ints, counts: Floats, n: int) -> Floats:
    rare = np.log((index.n_prompts + 1) / (counts + 1))
    total, mean, std, high, _ = _summaries(rows, rare, n)
    unseen = _summaries(rows, (counts == 0).astype(np.float64), n)[1]
    return np.column_stack([mean, high, std, total, unseen])


def _association(
    index: NgramIndex, encoded: Encoded, pairs: Floats, leave_one_out: bool, n: int
) -> Floats:
    """Summarise the pointwise mutual information of each prompt's pairs of words."""
    first, second = (_frequencies(index, "word", ids, leave_one_out) + 0.5 for ids in encoded.pairs)
    information = np.log((pairs + 0.25) * index.n_prompts / (first * second))
    _, mean, std, high, low = _summaries(encoded.kinds["pair"].rows, information, n)
    return np.column_stack([mean, high, low, std])


def _summaries(rows: Ints, values: Floats, n: int) -> tuple[Floats, ...]:
    """Return sum, mean, standard deviation, maximum and minimum a row; NaN for rows without any."""
    count = np.bincount(rows, minlength=n).astype(np.float64)
    count[count == 0] = np.nan
    total = np.bincount(rows, weights=values, minlength=n) + 0 * count
    mean = total / count
    square = np.bincount(rows, weights=(values - mean[rows]) ** 2, minlength=n)
    high, low = np.full(n, np.nan), np.full(n, np.nan)
    if len(rows):
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        high[rows[starts]] = np.maximum.reduceat(values, starts)
        low[rows[starts]] = np.minimum.reduceat(values, starts)
    return total, mean, np.sqrt(square / count), high, low
