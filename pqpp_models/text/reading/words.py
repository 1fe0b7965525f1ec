"""Features of the difficulty of a prompt's words.

The rarity of words, and whether two words occur in the same caption, are looked up in hashed
tables. The tables contain no words, so captions cannot be reconstructed.
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.prompt.numbers import UNITS
from pqpp_backbones.prompt.word_lists import read_word_lists

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_QUOTED = re.compile(r'"[^"]+"|“[^”]+”|(?:^|\s)\'[^\']+\'')

_NUMBERS = {word: number for number, word in enumerate(UNITS[:13])}
_NUMBERS |= {"pair": 2, "couple": 2, "trio": 3, "several": 4, "dozen": 12, "twenty": 20}
_NUMBERS |= {"hundred": 100, "thousand": 100}

WORD_LISTS = read_word_lists(__file__, "words.txt")
"""Words by category."""
FUNCTION_WORDS = frozenset().union(
    *(WORD_LISTS[kind] for kind in ("function", "place", "negation", "comparison"))
)
_TABLE_BITS, _PAIR_BITS = 17, 21
_STEPS_PER_DOUBLING = 12
_MAX_CONTENT_WORDS = 24

_FEATURES = """
number log_number numbers negation places lettering comparisons content_words unseen_pairs
unseen_share unknown_words max_rarity mean_rarity top_rarity std_rarity commas colours log_words
long and with of on in articles ing plural people auxiliaries digits capitals mean_length max_length
distinct single full_stop
"""
DIFFICULTY_FEATURES = tuple(_FEATURES.split())
"""The columns of `compute_difficulty`."""


def to_words(prompt: str) -> list[str]:
    """Split a prompt into lower-case English words and numbers.

    >>> to_words("Two dogs: the BIG one's brown!")
    ['two', 'dogs', 'the', 'big', "one's", 'brown']
    """
    return _WORD.findall(prompt.lower())


def strip_accents(text: str) -> str:
    """Remove the accents from text.

    >>> strip_accents("Zürich")
    'Zurich'
    """
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def find_content_words(words: Sequence[str]) -> list[str]:
    """Return the distinct content words in order, without the plural ``s``.

    >>> find_content_words(["two", "dogs", "and", "a", "dog", "on", "grass"])
    ['dog', 'grass']
    """
    content = (word for word in words if word not in FUNCTION_WORDS and word not in _NUMBERS)
    stems = (w if len(w) < 4 or w.endswith("ss") else w.removesuffix("s") for w in content)
    return list(dict.fromkeys(stems))[:_MAX_CONTENT_WORDS]


def _hash_text(text: str, bits: int) -> int:
    return zlib.crc32(text.encode()) & ((1 << bits) - 1)


def _hash_pairs(content: Sequence[str]) -> list[int]:
    pairs = combinations(sorted(content), 2)
    return [_hash_text(f"{first} {second}", _PAIR_BITS) for first, second in pairs]


class WordTables:
    """Hashed counts of words and of pairs of words in a collection of captions.

    Args:
        counts: number of captions with each hashed content word, on a log scale.
        pairs: one bit per hashed pair of content words: whether a caption contains both.
        size: the number of captions.
    """

    def __init__(self, counts: NDArray[np.uint8], pairs: NDArray[np.uint8], size: int) -> None:
        if (len(counts), len(pairs)) != (1 << _TABLE_BITS, 1 << _PAIR_BITS >> 3):
            raise ValueError("the word tables have the wrong size")
        self.counts, self.pairs, self.size = counts, pairs, size
        self._has_pair = np.unpackbits(pairs, bitorder="little")
        self._captions = (np.exp2(counts / _STEPS_PER_DOUBLING) - 1).round()

    @classmethod
    def build(cls, captions: Iterable[str]) -> WordTables:
        """Count words and pairs in captions.

        >>> tables = WordTables.build(["a red cat", "a cat on a mat"])
        >>> tables.get_rarity(["cat", "dog"]).round(2).tolist()
        [0.0, 1.1]
        """
        counts = np.zeros(1 << _TABLE_BITS)
        has_pair = np.zeros(1 << _PAIR_BITS, dtype=np.uint8)
        size = 0
        for caption in captions:
            content = find_content_words(to_words(caption))
            counts[[_hash_text(word, _TABLE_BITS) for word in content]] += 1
            has_pair[_hash_pairs(content)] = 1
            size += 1
        steps = np.minimum(np.log2(counts + 1) * _STEPS_PER_DOUBLING, 255).round()
        return cls(steps.astype(np.uint8), np.packbits(has_pair, bitorder="little"), size)

    def get_rarity(self, content: Sequence[str], exclude_self: bool = False) -> NDArray[np.float64]:
        """Return the log inverse document frequencies of words.

        With ``exclude_self``, the words are those of a caption, and this caption is not counted.
        """
        counts = self._captions[[_hash_text(word, _TABLE_BITS) for word in content]]
        return np.log((self.size + 1) / (np.maximum(counts - exclude_self, 0) + 1))

    def count_unseen_pairs(self, content: Sequence[str]) -> int:
        """Return the number of pairs of words that no caption contains."""
        return int((self._has_pair[_hash_pairs(content)] == 0).sum())


def compute_difficulty(
    prompts: Sequence[str], tables: WordTables, exclude_self: bool = False
) -> NDArray[np.float32]:
    """Return the `DIFFICULTY_FEATURES` of prompts, one row per prompt.

    With ``exclude_self``, the prompts are captions of the collection, and each is left out of the
    counts for itself.

    >>> tables = WordTables.build(["a cat on a mat"])
    >>> row = compute_difficulty(["Two cats, no dog"], tables)[0]
    >>> dict(zip(DIFFICULTY_FEATURES, row.tolist()))["negation"]
    1.0
    """
    rows = [_compute_features(prompt, tables, exclude_self) for prompt in prompts]
    return np.array(rows, dtype=np.float32).reshape(len(prompts), len(DIFFICULTY_FEATURES))


def compute_error_features(prompts: Sequence[str]) -> NDArray[np.float64]:
    """Return features of prompts that predict the size of errors, shape ``(prompts, 5)``.

    These are log(1 + words), the number of spatial words, whether there is a number, log(1 +
    characters), and whether there is text to draw.

    >>> compute_error_features(["two cats left of a 'stop' sign"]).round(2).tolist()
    [[2.08, 1.0, 1.0, 3.43, 1.0]]
    """
    rows = []
    for prompt in prompts:
        words = to_words(prompt)
        row = [np.log1p(len(words)), _count(words, "place"), bool(_read_numbers(words))]
        rows.append([*row, np.log1p(len(prompt)), _has_lettering(prompt, words)])
    return np.array(rows, dtype=np.float64).reshape(len(prompts), 5)


def _compute_features(prompt: str, tables: WordTables, exclude_self: bool) -> list[float]:
    words = to_words(prompt)
    content = find_content_words(words)
    n, numbers = len(words), _read_numbers(words)
    rarity = sorted(tables.get_rarity(content, exclude_self).tolist()) if content else [0.0]
    mean, top = sum(rarity) / len(rarity), rarity[-3:]
    spread = math.sqrt(sum((one - mean) ** 2 for one in rarity) / len(rarity))
    rare = math.log(tables.size / 2 + 1)
    n_pairs = len(content) * (len(content) - 1) // 2
    # All pairs of a caption in the collection are known.
    unseen = 0 if exclude_self else tables.count_unseen_pairs(content)
    lengths = [len(word) for word in words] or [0]
    return [
        *(bool(numbers), math.log1p(max(numbers, default=0)), min(len(numbers), 4)),
        *(_count(words, "negation") > 0, _count(words, "place"), _has_lettering(prompt, words)),
        *(_count(words, "comparison"), math.log1p(len(content)), math.log1p(unseen)),
        *(unseen / max(n_pairs, 1), math.log1p(sum(one > rare for one in rarity))),
        *(rarity[-1], mean, sum(top) / len(top), spread),
        *(min(prompt.count(","), 6), _count(words, "colour"), math.log1p(n), n > 15),
        *(words.count(word) for word in ("and", "with", "of", "on", "in")),
        *(sum(word in ("a", "an", "the") for word in words), any(w.endswith("ing") for w in words)),
        *(sum(word.endswith("s") for word in words), _count(words, "person")),
        *(words.count("is") + words.count("are"), any(c.isdigit() for c in prompt)),
        *(min(sum(c.isupper() for c in prompt), 12), sum(lengths) / max(n, 1), max(lengths)),
        *(len(set(words)) / max(n, 1), len(content) <= 1, prompt.rstrip()[-1:] in ".!?"),
    ]


def _read_numbers(words: Sequence[str]) -> list[int]:
    spelled = [_NUMBERS[word] for word in words if word in _NUMBERS and word != "one"]
    return spelled + [min(int(word), 20) for word in words if word.isascii() and word.isdecimal()]


def _count(words: Sequence[str], category: str) -> int:
    """Return the number of words of a category, at most three."""
    return min(sum(map(WORD_LISTS[category].__contains__, words)), 3)


def _has_lettering(prompt: str, words: Sequence[str]) -> bool:
    return bool(_QUOTED.search(prompt)) or _count(words, "lettering") > 0
