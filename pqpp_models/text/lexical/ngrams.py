"""Words of a prompt and the n-grams that the lexical predictor counts.

=========== =================================================== ==============================
kind        what one is                                         for example
=========== =================================================== ==============================
``word``    a word, number or mark                              ``surfboard``
``bigram``  two neighbours of the above                         ``a``, ``surfboard``
``chars``   2 to 5 neighbouring characters of a word that is    ``" sur"``
            set between blanks
``pair``    two different content words, in whatever order and  ``man``, ``surfboard``
            at whatever distance
=========== =================================================== ==============================
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

KINDS = ("word", "bigram", "chars", "pair")
"""The kinds of n-grams, in the order of the weights."""

FUNCTION_WORDS = frozenset(
    [
        *("a", "an", "the", "this", "that", "some", "its", "it", "his", "her", "their", "there"),
        *("of", "in", "on", "at", "to", "with", "by", "for", "from", "and", "is", "are"),
    ]
)
"""Words that form no pairs: they stand beside everything."""

MOST_PAIRED = 40
"""Only so many different content words of a prompt form pairs: pairs grow with the square."""

_LONGEST_PROMPT = 2000
_LONGEST_WORD = 40
_TOKEN = re.compile(r"\w+(?:'\w+)?|[^\w\s]")


def split_words(prompt: str) -> list[str]:
    """Split a prompt into lower-case words, numbers and single marks.

    Compatibility forms are unified (Unicode NFKC) and a typographic apostrophe is a plain one.
    Only the first 2,000 characters of a prompt count, more than any text encoder of an image
    generator reads.

    >>> split_words("The dog’s 2 balls, rolling…")
    ['the', "dog's", '2', 'balls', ',', 'rolling', '.', '.', '.']
    """
    prompt = prompt[:_LONGEST_PROMPT]
    if not prompt.isascii():
        prompt = unicodedata.normalize("NFKC", prompt).replace("\u2019", "'")
    return _TOKEN.findall(prompt.lower())


def char_ngrams(word: str) -> Iterator[str]:
    """Yield the 2 to 5 neighbouring characters of a word between blanks.

    Only the first 40 characters of a word count, so that no input is slow.

    >>> list(char_ngrams("cat"))
    [' c', 'ca', 'at', 't ', ' ca', 'cat', 'at ', ' cat', 'cat ', ' cat ']
    """
    framed = f" {word[:_LONGEST_WORD]} "
    for size in range(2, 6):
        for start in range(len(framed) - size + 1):
            yield framed[start : start + size]


def is_content(word: str) -> bool:
    """Tell whether a word forms pairs: it is no mark and not in ``FUNCTION_WORDS``.

    >>> is_content("wave"), is_content("the"), is_content(",")
    (True, False, False)
    """
    return word[0].isalnum() and word not in FUNCTION_WORDS
