"""Splitting prompts into word pieces, as BERT's uncased vocabulary does, without its library."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

UNKNOWN = "[UNK]"
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
        self._unknown = self.numbers[UNKNOWN]
        self._pieces = lru_cache(_CACHE)(self._split_word)

    def encode(self, prompt: str) -> list[int]:
        """Return the numbers of a prompt's pieces; of a blank prompt, those of an unknown word."""
        numbers: list[int] = []
        for word in split_words(prompt):
            numbers += self._pieces(word)
            if len(numbers) >= self.max_pieces:
                break
        return numbers[: self.max_pieces] or [self._unknown]

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
    text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return "".join(map(_spaced, text)).split()


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


def pack_vocabulary(vocabulary: Sequence[str]) -> NDArray[np.uint8]:
    """Return a vocabulary as bytes, one piece a line.

    >>> unpack_vocabulary(pack_vocabulary(["a", "é"]))
    ['a', 'é']
    """
    return np.frombuffer("\n".join(vocabulary).encode(), dtype=np.uint8).copy()


def unpack_vocabulary(packed: NDArray[np.uint8]) -> list[str]:
    """Return the vocabulary that `pack_vocabulary` packed."""
    return packed.tobytes().decode().split("\n")
