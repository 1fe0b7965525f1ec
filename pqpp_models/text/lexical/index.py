"""The n-grams that a lexical predictor knows: their numbers, and how often each was seen.

Of each kind, n-grams seen in at least two training prompts come first and carry weights; of words
and pairs, those seen once follow, because "seen once" and "never seen" tell rare prompts apart.
A bigram or pair is one whole number made of the numbers of its two words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.lexical.ngrams import KINDS, MOST_PAIRED, char_ngrams, is_content, split_words

Ints = NDArray[np.int64]

KEPT_ONCE = ("word", "pair")
"""The kinds of which n-grams seen in a single training prompt are kept too."""

# A memory of words, so that a word's characters are looked up once; emptied when it is this full.
_MOST_WORDS = 100_000


@dataclass(frozen=True)
class Occurrences:
    """Where the n-grams of one kind occur in some prompts.

    Attributes:
        rows: the prompt's position, rising, one an occurrence.
        ids: the n-gram's number, or -1 for one that is not known.
    """

    rows: Ints
    ids: Ints


@dataclass(frozen=True)
class Encoded:
    """Some prompts as occurrences of n-grams.

    Attributes:
        words: the words of each prompt.
        kinds: the occurrences of each kind of n-gram.
        pairs: shape ``(2, occurrences)``, the two words of each occurrence of a pair.
    """

    words: list[list[str]]
    kinds: dict[str, Occurrences]
    pairs: Ints


class NgramIndex:
    """Looks up n-grams.

    Args:
        n_prompts: how many prompts were counted.
        words: the known words, those with a frequency first.
        chars: the known character n-grams.
        keys: for ``bigram`` and ``pair``, ``first * len(words) + second`` of the known ones, those
            with a frequency first.
        frequencies: by kind, in how many prompts the first n-grams occur; the others occur in one.
    """

    def __init__(
        self,
        n_prompts: int,
        words: Sequence[str],
        chars: Sequence[str],
        keys: dict[str, Ints],
        frequencies: dict[str, Ints],
    ) -> None:
        self.n_prompts = n_prompts
        self.words, self.chars, self.keys, self.frequencies = words, chars, keys, frequencies
        self._word_ids = {word: number for number, word in enumerate(words)}
        self._char_ids = {text: number for number, text in enumerate(chars)}
        self._known: dict[str, tuple[int, bool, Ints]] = {}

    @cached_property
    def _sorted_keys(self) -> dict[str, tuple[Ints, Ints]]:
        orders = {kind: np.argsort(keys) for kind, keys in self.keys.items()}
        return {kind: (self.keys[kind][order], order) for kind, order in orders.items()}

    def n_known(self, kind: str) -> int:
        """Return how many n-grams of a kind are known, those seen once included."""
        if kind in self.keys:
            return len(self.keys[kind])
        return len(self.words if kind == "word" else self.chars)

    def n_weighted(self, kind: str) -> int:
        """Return how many n-grams of a kind carry weights: the first ones."""
        return len(self.frequencies[kind])

    def encode(self, prompts: Iterable[str]) -> Encoded:
        """Find the known n-grams in some prompts.

        Args:
            prompts: any strings.

        Returns:
            The occurrences of all four kinds.
        """
        words = [split_words(prompt) for prompt in prompts]
        ids: list[int] = []
        chars: list[Ints] = []
        pairs: list[tuple[int, int]] = []
        pair_counts: list[int] = []
        for row in words:
            entries = [self._entry(word) for word in row]
            ids += [entry[0] for entry in entries]
            chars += [entry[2] for entry in entries]
            # Different words that are not known all have the number -1, and stay different.
            content = dict.fromkeys(
                word for word, entry in zip(row, entries, strict=True) if entry[1]
            )
            numbers = sorted(self._entry(word)[0] for word in list(content)[:MOST_PAIRED])
            before = len(pairs)
            pairs += combinations(numbers, 2)
            pair_counts.append(len(pairs) - before)
        word_rows = _rows([len(row) for row in words])
        pair_words = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        char_ids = np.concatenate([*chars, np.empty(0, dtype=np.int64)])
        char_rows = np.repeat(word_rows, [len(part) for part in chars])
        word = Occurrences(word_rows, np.array(ids, dtype=np.int64))
        kinds = {
            "word": word,
            "bigram": self._bigrams(word),
            "chars": Occurrences(char_rows, char_ids),
            "pair": Occurrences(_rows(pair_counts), self._find("pair", *pair_words)),
        }
        return Encoded(words, kinds, pair_words)

    def _entry(self, word: str) -> tuple[int, bool, Ints]:
        """Return a word's number, whether it forms pairs, and its characters' numbers."""
        entry = self._known.get(word)
        if entry is None:
            if len(self._known) >= _MOST_WORDS:
                self._known = {}
            chars = [self._char_ids.get(text, -1) for text in char_ngrams(word)]
            number = self._word_ids.get(word, -1)
            entry = (number, is_content(word), np.array(chars, dtype=np.int64))
            self._known[word] = entry
        return entry

    def _bigrams(self, word: Occurrences) -> Occurrences:
        together = word.rows[:-1] == word.rows[1:]
        first, second = word.ids[:-1][together], word.ids[1:][together]
        return Occurrences(word.rows[1:][together], self._find("bigram", first, second))

    def _find(self, kind: str, first: Ints, second: Ints) -> Ints:
        keys, order = self._sorted_keys[kind]
        if len(keys) == 0 or len(first) == 0:
            return np.full(len(first), -1, dtype=np.int64)
        wanted = np.where((first < 0) | (second < 0), -1, first * len(self.words) + second)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, order[place], -1)


def build_index(prompts: Sequence[str]) -> NgramIndex:
    """Count the n-grams of some prompts.

    Args:
        prompts: the training prompts.

    Returns:
        An index of them; the same for the same prompts in the same order, on every machine.

    >>> index = build_index(["a red cat", "a red dog"])
    >>> list(index.words), index.n_weighted("word")
    (['a', 'red', 'cat', 'dog'], 2)
    """
    split = [split_words(prompt) for prompt in prompts]
    words, word_frequency = _counted(split, kept_once=True)
    numbers = {word: number for number, word in enumerate(words)}
    chars, char_frequency = _counted(
        ([text for word in row for text in char_ngrams(word)] for row in split), kept_once=False
    )
    size = len(words)
    bigrams, bigram_frequency = _counted(
        ([numbers[a] * size + numbers[b] for a, b in pairwise(row)] for row in split), False
    )
    pairs, pair_frequency = _counted((_pair_keys(row, numbers) for row in split), True)
    keys = {"bigram": np.array(bigrams, dtype=np.int64), "pair": np.array(pairs, dtype=np.int64)}
    frequencies = [word_frequency, bigram_frequency, char_frequency, pair_frequency]
    return NgramIndex(len(split), words, chars, keys, dict(zip(KINDS, frequencies, strict=True)))


def _pair_keys(row: list[str], numbers: dict[str, int]) -> list[int]:
    content = list(dict.fromkeys(word for word in row if is_content(word)))
    ids = sorted(numbers[word] for word in content[:MOST_PAIRED])
    return [first * len(numbers) + second for first, second in combinations(ids, 2)]


def _counted(rows: Iterable[list], kept_once: bool) -> tuple[list, Ints]:
    """Return what occurs, first the sorted repeated, then the single, and the former's counts."""
    counts: Counter = Counter()
    for row in rows:
        counts.update(set(row))
    repeated = sorted(key for key, count in counts.items() if count > 1)
    once = sorted(key for key, count in counts.items() if count == 1) if kept_once else []
    return repeated + once, np.array([counts[key] for key in repeated], dtype=np.int64)


def _rows(lengths: list[int]) -> Ints:
    return np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
