"""A set of words as bits: it tells whether a word is in it, and no word can be read back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_BITS, _HASHES = 21, 4
LEXICON_SHAPE = (1 << (_BITS - 3),)
"""The shape of the array of bytes that holds a lexicon."""


def lexicon_of(words: Iterable[str]) -> NDArray[np.uint8]:
    """Return the bits of some words: a Bloom filter (Bloom, 1970).

    Of 80,000 words, it takes one in 2,500 others for one of them.

    >>> bits = lexicon_of(["inertia", "capybara"])
    >>> is_in_lexicon("capybara", bits), is_in_lexicon("capybra", bits)
    (True, False)
    """
    bits = np.zeros(LEXICON_SHAPE[0] * 8, np.uint8)
    for word in words:
        bits[_places(word)] = 1
    return np.packbits(bits, bitorder="little")


def is_in_lexicon(word: str, bits: NDArray[np.uint8]) -> bool:
    """Tell whether a word is among those of some bits."""
    return all(bits[place >> 3] >> (place & 7) & 1 for place in _places(word))


def _places(word: str) -> list[int]:
    digest = hashlib.blake2b(word.encode("utf-8"), digest_size=4 * _HASHES, person=b"lexicon")
    parts = np.frombuffer(digest.digest(), "<u4")
    return [int(part) & ((1 << _BITS) - 1) for part in parts]
