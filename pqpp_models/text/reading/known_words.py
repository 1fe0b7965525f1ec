"""Detection of prompts that are not plain English.

A predictor trained on English cannot read gibberish, other languages, remnants of code and texts
without words. `KnownWords` detects such prompts by their words. It contains hashes of words and the
frequencies of letter trigrams, but no text.

Two files contain words of four or more letters as the output of `build_lexicon`. `wordnet.bin` has
the words of WordNet 3.0 (WordNet licence). `web.bin` has the 250,000 most frequent words of
Google's web corpus from the package wordsegment (Apache-2.0), without misspellings of much more
common words, and the words of the lists in `pqpp_backbones/prompt`; it includes names, but also
words of other languages.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.prompt.numbers import NUMBER_WORDS
from pqpp_backbones.prompt.quoted import QUOTED
from pqpp_datasets.prompt_text import ENDING
from pqpp_models.text.reading.language import detect_language
from pqpp_models.text.reading.words import FUNCTION_WORDS, WORD_LISTS, strip_accents

UNREAD_BELOW, PLAIN_FROM = 0.4, 0.5
"""The shares of English from which a prediction's weight is above 0, and is 1."""

_BITS, _MASK, _LEVELS = 18, (1 << 18) - 1, 15
_LETTERS = {letter: code for code, letter in enumerate("abcdefghijklmnopqrstuvwxyz'", 1)}
_EDGE, _OTHER, _SIZE = 0, 28, 29
_NEPERS = 10.0
KNOWN_WORDS_TENSORS = {
    "known.words": ("uint8", (1 << (_BITS - 1),)),
    "known.letters": ("uint8", (_SIZE, _SIZE, _SIZE)),
}
"""Names, types and shapes of the arrays of a `KnownWords` in a checkpoint."""
_LEXICON_HASHES = 4
_WORDNET_SCORE, _WEB_SCORE, _MIN_LEXICON_LENGTH = 0.8, 0.4, 4
_GARBLED_ABOVE, _GARBLED_FROM = 0.35, 0.5
_LIKE_WORDS, _UNLIKE_WORDS = -2.2, -2.8
"""Mean log probabilities of letters, for a likely word and for letters that are not a word."""
_MAX_DISTINCT_SHARE, _MIN_REPEATED_WORDS = 1 / 3, 4
_MAX_SHOWN = 8

_MOSTLY_ENGLISH = 0.6
_FULL_COUNT = 64
"""The number of texts from which a word is fully known; below, the log of its count matters."""
_VOCABULARY_SCORE = 0.45
_MAX_LETTER_SCORE, _UNLIKELY, _LIKELY = 0.45, -3.6, -2.2
_ODD_SCORE = -0.3
_FULL_LENGTH = 4  # the number of letters from which a word has its full weight
_MAX_LENGTH, _WORD_CACHE, _PROMPT_CACHE = 100, 200_000, 20_000
_TYPO_LEVEL, _VOCABULARY_LEVEL = 3, 7  # of a word in one text, and in the vocabulary

_ENDINGS = ("s", "es", "ed", "ing", "ly", "er", "'s", "d")
_CONTRACTION = re.compile(r"(?:n't|'(?:d|ll|m|re|s|ve))$")
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|[^\w\s.,;:!?'\"()\-“”‘&/…%–—°]|_")
_CODE = re.compile(
    r"[{}<>\[\]=_\\|@#$^*~`]|://|\w\(|[^\W\d_]{2}\.[^\W\d_]{2}|^--?\w|&\w+;|%\w"
    r"|[^\W\d_]\d+[^\W\d_]"
)
_TERM = r"[^\W_]{1,3}(?:\^\w)?"
_SUM = rf"{_TERM}(?:\s*[-+*/]\s*{_TERM})*\b"
_FORMULA = re.compile(rf"(?<!\S){_SUM}\s*=\s*{_SUM}")


class WordReport(NamedTuple):
    """A report on the words of a prompt.

    Attributes:
        share: How well the words are known on average, from about 0 to 1.
        language: The language of the prompt; None for English.
        odd_share: The share of the prompt's letters that are in unknown words unlike English.
        unknown: The words that are in no word list.
    """

    share: float
    language: str | None
    odd_share: float
    unknown: list[str]

    @property
    def is_garbled(self) -> bool:
        """Whether the prompt is garbled."""
        return self.odd_share > _GARBLED_ABOVE


class KnownWords:
    """A detector of prompts that are not English, from hashes of English words.

    Args:
        words: how well each word is known, four bits at each of its three hashes.
        letters: how unusual each letter is after the two before it, in tenths of nepers.
    """

    def __init__(self, words: NDArray[np.uint8], letters: NDArray[np.uint8]) -> None:
        self.words, self.letters = words, letters
        self._levels = np.stack([words & 15, words >> 4], axis=1).tobytes()
        log_probabilities = letters.astype(np.float64) * (-_NEPERS / 255)
        self._log_probabilities: list[float] = log_probabilities.ravel().tolist()
        # Each prompt is read several times, and words recur in many prompts.
        self.read = lru_cache(_PROMPT_CACHE)(self._make_word_report)
        self._values = lru_cache(_WORD_CACHE)(self._score_part)
        self._is_known = lru_cache(_WORD_CACHE)(self._has_known_stem)

    def __reduce__(self) -> tuple[Any, ...]:
        return KnownWords, (self.words, self.letters)  # without the caches

    @classmethod
    def fit(cls, texts: Iterable[str], vocabulary: Iterable[str] = ()) -> KnownWords:
        """Fit the detector to English texts.

        Args:
            texts: normalised captions and training prompts; each counts once.
            vocabulary: the pieces of a tokenizer. Whole words of three or more letters count
                as known, with less weight than words of the texts.

        >>> known = KnownWords.fit(["a red cat on a mat", "two cats and a red hat"] * 40)
        >>> known.rate_known(["a red cat", "un gato rojo", "wq xzv", "42"]).tolist()
        [1.0, 0.0, 0.0, 0.0]
        """
        distinct = ({w for part in text.split() for w in _tokenize(part).words} for text in texts)
        counts = Counter(chain.from_iterable(distinct))
        known = {word: np.log2(n + 1) / np.log2(_FULL_COUNT + 1) for word, n in counts.items()}
        for piece in vocabulary:
            if len(piece) > 2 and piece.isascii() and piece.isalpha():
                known[piece] = max(known.get(piece, 0.0), _VOCABULARY_SCORE)
        levels = np.zeros(1 << _BITS, np.uint8)
        for word, value in known.items():
            level = np.uint8(round(min(value, 1.0) * _LEVELS))
            np.maximum.at(levels, _hash_positions(word), level)
        low, high = levels.reshape(-1, 2).T
        # Log probabilities of a letter after two others, in words of two texts or more.
        frequency = np.full((_SIZE, _SIZE, _SIZE), 0.05)
        for word in (word for word, n in counts.items() if n > 1):
            for trigram in _encode_trigrams(word):
                frequency[trigram] += 1
        after_one = frequency.sum(axis=0)
        after_one /= after_one.sum(axis=1, keepdims=True)
        share = (frequency + 3 * after_one) / (frequency.sum(axis=2, keepdims=True) + 3)
        letters = np.clip(np.log(share) * (-255 / _NEPERS), 0, 255).round().astype(np.uint8)
        return cls(low | high << np.uint8(4), letters)

    def rate_known(self, prompts: Sequence[str]) -> NDArray[np.float64]:
        """Return a weight from 0 (not English) to 1 (plain English) for each prompt."""
        reports = map(self.read, prompts)
        shares = np.array([0.0 if report.language else report.share for report in reports])
        return np.clip((shares - UNREAD_BELOW) / (PLAIN_FROM - UNREAD_BELOW), 0.0, 1.0)

    def _make_word_report(self, prompt: str) -> WordReport:
        if "=" in prompt:  # formulas are drawn as written
            prompt = _FORMULA.sub(" ", prompt)
        share, language = self._score_prompt(prompt), None
        if share < _MOSTLY_ENGLISH or not prompt.isascii():
            language = detect_language(prompt, share >= _MOSTLY_ENGLISH)
        if language is not None:
            return WordReport(share, language, 0.0, [])
        if not prompt.isascii():  # the network reads letters without their accents
            share = max(share, self._score_prompt(strip_accents(prompt)))
        odd_share, unknown, n_content = self._analyse_unknown_words(prompt)
        if 1 < n_content <= len(unknown):  # no content word is known
            share = 0.0
        return WordReport(share, None, odd_share, unknown)

    def rate_garbled(self, prompts: Sequence[str]) -> NDArray[np.float64]:
        """Return how garbled each prompt is, from 0 to 1.

        A prompt is garbled if it has unknown words with letters unlike English, names nothing, or
        repeats one word. Prompts with code, other letters or in other languages are not garbled.
        """
        share = np.array([self.read(prompt).odd_share for prompt in prompts])
        return np.clip((share - _GARBLED_ABOVE) / (_GARBLED_FROM - _GARBLED_ABOVE), 0.0, 1.0)

    def explain_unread(self, prompt: str) -> str:
        """Describe why a prompt is not read as English; empty if it is.

        >>> known = KnownWords.fit(["a red cat"] * 40)
        >>> [known.explain_unread(text) for text in ("a red capybara", "ein Hund", "a rde ctaa")]
        ['', 'language: German (write the prompt in English)', 'garbled: rde, ctaa']
        """
        report = self.read(prompt)
        words = report.unknown
        if report.language is not None:
            return f"language: {report.language} (write the prompt in English)"
        if not report.is_garbled:
            return f"unknown: {words[0]}" if words and not self.rate_known([prompt])[0] else ""
        more = ", ..." if len(words) > _MAX_SHOWN else ""
        return f"garbled: {', '.join(words[:_MAX_SHOWN]) or prompt.strip()[:_MAX_LENGTH]}{more}"

    def _analyse_unknown_words(self, prompt: str) -> tuple[float, list[str], int]:
        """Return the share of odd letters, the unknown words, and the number of content words."""
        parts = [_tokenize(part) for part in QUOTED.sub(" ", prompt).rstrip(ENDING).split()]
        words = [_CONTRACTION.sub("", word) for part in parts for word in part.words]
        if not words or not all(part.is_plain for part in parts):
            return 0.0, [], 0
        if is_repetitive(words):
            return 1.0, [], 0
        content = [w for w in words if w not in FUNCTION_WORDS and w not in NUMBER_WORDS]
        if not content:
            return float(not set(words) & set(NUMBER_WORDS)), [], 0
        unknown = [word for word in content if len(word) > 2 and not self._is_known(word)]
        if len(unknown) == 1 < len(words):  # a name, a new word or a misspelling: "a quokka"
            return 0.0, unknown, len(content)
        odd_letters = 0.0
        for word in unknown:  # how unlike English its letters are, 0 to 1
            share = (_LIKE_WORDS - self._score_letters(word)) / (_LIKE_WORDS - _UNLIKE_WORDS)
            odd_letters += len(word) * min(max(share, 0.0), 1.0)
        return odd_letters / sum(map(len, content)), list(dict.fromkeys(unknown)), len(set(content))

    def _score_letters(self, word: str) -> float:
        """Return the mean log probability of each letter given the two before it."""
        indices = [(a * _SIZE + b) * _SIZE + c for a, b, c in _encode_trigrams(word)]
        return sum([self._log_probabilities[index] for index in indices]) / len(indices)

    def _has_known_stem(self, word: str) -> bool:
        """Return whether a stem of a word is in more than one text, or in a lexicon."""
        stems = [*_iterate_stems(word)]
        return any(self._get_known_level(s) > _TYPO_LEVEL or any(_look_up_word(s)) for s in stems)

    def _get_known_level(self, word: str) -> int:
        return min(map(self._levels.__getitem__, _hash_positions(word)))

    def _score_prompt(self, prompt: str) -> float:
        """Return the weighted mean score of a prompt's words; 0 without words."""
        total = weight = 0.0
        for part in prompt.split():
            value, size = self._values(part)
            total += value
            weight += size
        return total / weight if weight else 0.0

    def _score_part(self, part: str) -> tuple[float, float]:
        """Return the weighted score and the weight of the text between two spaces."""
        tokens = _tokenize(part)
        if tokens.is_code:
            size = min(max(len(part) / _FULL_LENGTH, 1.0), 2.0)
            return size * _ODD_SCORE, size
        total = weight = 0.0
        for token in tokens.tokens:
            if not token[0].isalpha():
                weight += 0.5  # a symbol or a letter of another script
            elif token not in NUMBER_WORDS:
                size = min(len(token), _FULL_LENGTH) / _FULL_LENGTH
                total += size * self._score_word(token[:_MAX_LENGTH])
                weight += size
        return total, weight

    def _score_word(self, word: str) -> float:
        """Return how well a word, its stem or its letters are known, from 0 to 1."""
        if word in WORD_LISTS["odd"]:
            return _ODD_SCORE
        level = self._get_known_level(word)
        if level >= _WORDNET_SCORE * _LEVELS:
            return level / _LEVELS
        stems = [(stem, self._get_known_level(stem)) for stem in _iterate_stems(word)]
        in_lexicons = {stem: _look_up_word(stem) for stem, _ in stems}
        if any(in_wordnet for in_wordnet, _ in in_lexicons.values()):
            value = _WORDNET_SCORE
        else:
            likeness = (self._score_letters(word) - _UNLIKELY) / (_LIKELY - _UNLIKELY)
            value = min(max(likeness * _MAX_LETTER_SCORE, 0.0), _MAX_LETTER_SCORE)
            value = max(value, _WEB_SCORE * in_lexicons[word][1])
        # A low level of a word with unlikely letters may be a hash collision.
        word_level = 0 if value else _VOCABULARY_LEVEL
        for stem, level in stems:  # a stem that occurs in a single text may be a typo
            if level > (word_level if stem == word else _TYPO_LEVEL):
                return max(value, level / _LEVELS)
        return value

    def to_tensors(self) -> dict[str, NDArray[np.uint8]]:
        """Return the arrays by name."""
        return dict(zip(KNOWN_WORDS_TENSORS, (self.words, self.letters), strict=True))

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray]) -> KnownWords | None:
        """Restore a detector from the output of `to_tensors`; None if the arrays are missing.

        Raises:
            ValueError: an array has another type or shape.
        """
        arrays = {name: tensors[name] for name in KNOWN_WORDS_TENSORS if name in tensors}
        if not arrays:
            return None
        if {k: (str(v.dtype), v.shape) for k, v in arrays.items()} != KNOWN_WORDS_TENSORS:
            raise ValueError(f"{' and '.join(KNOWN_WORDS_TENSORS)} have the wrong type or shape")
        return cls(*arrays.values())


def is_repetitive(words: Sequence[str]) -> bool:
    """Return whether most words are repetitions of the same few.

    >>> is_repetitive(["dog"] * 4), is_repetitive("a dog and a cat and a bird".split())
    (True, False)
    """
    return len(words) >= _MIN_REPEATED_WORDS and len(set(words)) <= _MAX_DISTINCT_SHARE * len(words)


def _iterate_stems(word: str) -> Iterator[str]:
    """Yield a word, and the word without each of its endings."""
    yield word
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            yield stem


class _TokenizedText(NamedTuple):
    """The tokens between two spaces, and the words among them; none for code."""

    tokens: tuple[str, ...]
    words: tuple[str, ...]
    is_code: bool
    is_plain: bool


@lru_cache(_WORD_CACHE)
def _tokenize(part: str) -> _TokenizedText:
    if _CODE.search(part):
        return _TokenizedText((), (), is_code=True, is_plain=False)
    tokens = tuple(_TOKEN.findall(part))
    words = tuple(token for token in tokens if token[0].isalpha())
    return _TokenizedText(tokens, words, is_code=False, is_plain="".join(tokens).isascii())


def _hash_positions(word: str) -> list[int]:
    code = int.from_bytes(hashlib.blake2b(word.encode("utf-8"), digest_size=8).digest(), "little")
    return [code & _MASK, code >> _BITS & _MASK, code >> 2 * _BITS & _MASK]


def _encode_trigrams(word: str) -> list[tuple[int, int, int]]:
    """Return the trigrams of a word, padded at both ends, with letters as numbers."""
    codes = [_EDGE, _EDGE, *(_LETTERS.get(letter, _OTHER) for letter in word), _EDGE]
    return list(zip(codes, codes[1:], codes[2:], strict=False))


def build_lexicon(words: Iterable[str], size: int) -> NDArray[np.uint8]:
    """Build a Bloom filter (Bloom, 1970) of words.

    With 14 bits per word, one in 260 other words is a false positive.

    >>> int(np.unpackbits(build_lexicon(["inertia", "capybara"], 800)).sum())
    8
    """
    bits = np.zeros(size, np.uint8)
    for word in words:
        bits[[number % size for number in _hash_word(word)]] = 1
    return np.packbits(bits, bitorder="little")


@cache
def _load_lexicons() -> list[bytes]:
    """Load the word lists of WordNet and of the web, with a byte per bit."""
    files = (Path(__file__).with_name(f"{name}.bin") for name in ("wordnet", "web"))
    packed = (np.frombuffer(file.read_bytes(), np.uint8) for file in files)
    return [np.unpackbits(bits, bitorder="little").tobytes() for bits in packed]


@lru_cache(_WORD_CACHE)
def _look_up_word(word: str) -> tuple[bool, bool]:
    """Return whether WordNet has a word, and whether the web's word list has it."""
    if len(word) < _MIN_LEXICON_LENGTH:
        return False, False
    hashes = _hash_word(word)
    wordnet, web = (all([bits[n % len(bits)] for n in hashes]) for bits in _load_lexicons())
    return wordnet, web


def _hash_word(word: str) -> tuple[int, ...]:
    length = 4 * _LEXICON_HASHES
    digest = hashlib.blake2b(word.encode("utf-8"), digest_size=length, person=b"lexicon")
    return struct.unpack(f"<{_LEXICON_HASHES}I", digest.digest())
