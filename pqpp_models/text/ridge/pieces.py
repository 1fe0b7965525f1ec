"""Words, pairs of words and pieces of words of prompts as numbers, in any language."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_models.text.arrays import Singles

if TYPE_CHECKING:
    from scipy.sparse import csr_array

HALF = 1 << 15
"""How many columns words and pairs are hashed into, and as many the pieces of words."""

_WORD = re.compile(r"\w+(?:'\w+)?")
_LENGTHS = range(2, 6)


def words_in(prompt: str) -> list[str]:
    """Return the words of a normalised prompt; a text without blanks between words is one.

    >>> words_in("a cat's hat")
    ['a', "cat's", 'hat']
    """
    return _WORD.findall(prompt)


def code_of(text: str) -> int:
    """Return the CRC-32 of a text, the same everywhere."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def count_pieces(prompts: Sequence[str]) -> csr_array:
    """Count the pieces of normalised prompts, in columns that their CRC-32 names.

    Words and pairs of neighbours lie in the first `HALF` columns, pieces of two to five letters,
    which do not cross a word's edge, in the second. A count of n is 1 + log n, with a sign by the
    hash, so that what falls into one column cancels out on average.

    Returns:
        A sparse float32 matrix of shape ``(prompts, 2 * HALF)``.

    >>> counts = count_pieces(["a cat", ""])
    >>> counts[:, :HALF].nnz, counts[:, HALF:].nnz  # a, cat, a cat; of " a " 3, of " cat " 10
    (3, 13)
    """
    from scipy.sparse import csr_array

    indices: list[int] = []
    counts: list[float] = []
    ends = [0]
    for prompt in prompts:
        columns: Counter[int] = Counter()
        for text, is_word in _pieces(prompt):
            code = code_of(text)
            columns[code % HALF + (0 if is_word else HALF)] += 1 if code >> 31 else -1
        indices.extend(columns)
        counts.extend(columns.values())
        ends.append(len(indices))
    signed = np.array(counts, dtype=np.float32)
    data = np.sign(signed) * (1 + np.log(np.maximum(np.abs(signed), 1)))
    return csr_array((data, indices, ends), shape=(len(prompts), 2 * HALF), dtype=np.float32)


def _pieces(prompt: str) -> Iterator[tuple[str, bool]]:
    words = words_in(prompt)
    for word in words:
        yield word, True
        edged = f" {word} "
        for length in _LENGTHS:
            for start in range(len(edged) - length + 1):
                yield edged[start : start + length], False
    for pair in pairwise(words):
        yield " ".join(pair), True


def rarity_of(counts: Any) -> Singles:
    """Return the inverse document frequency of each column, 0 where no prompt has it.

    It is ``log((1 + prompts) / (1 + prompts that have it)) + 1``, as in scikit-learn.
    """
    having = np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
    rarity = np.log((1 + counts.shape[0]) / (1 + having)) + 1
    return np.where(having > 0, rarity, 0.0).astype(np.float32)


def weigh_pieces(counts: csr_array, rarity: Singles) -> csr_array:
    """Return counts times rarity; the words of a prompt, and the pieces, have length one each."""
    from scipy.sparse import csr_array, diags_array, hstack

    weighed = csr_array(counts @ diags_array(rarity))
    halves = []
    for half in (weighed[:, :HALF], weighed[:, HALF:]):
        length = np.sqrt((half * half).sum(axis=1))
        halves.append(diags_array(1 / np.where(length > 0, length, 1.0)) @ half)
    return csr_array(hstack(halves))


class SeenPieces:
    """Whether a prompt has anything in common with those that a predictor was fitted to.

    It stands in the place of `KnownWords` where these were in no plain English.
    """

    lexicon = None

    def __init__(self, rarity: Singles) -> None:
        self.rarity = rarity

    def weights(self, prompts: Sequence[str]) -> Any:
        """Return 1 for each prompt with a piece that was seen, 0 for others."""
        return (abs(count_pieces(prompts)) @ self.rarity > 0).astype(float)

    def garbled(self, prompts: Sequence[str]) -> Any:
        """Return 0 for each prompt: nothing is known of what is no word."""
        return np.zeros(len(prompts))

    def told(self, prompt: str) -> str:
        """Return nothing."""
        return ""
