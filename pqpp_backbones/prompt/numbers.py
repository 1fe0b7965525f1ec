"""Numbers of things in a prompt, in digits or words."""

from __future__ import annotations

import re
from typing import NamedTuple

_UNIT_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
UNITS = _UNIT_WORDS.split()
"""The names of the numbers from 0 to 19."""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: number for number, word in enumerate(UNITS)}
_SMALL |= {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_LARGE = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_FEW = {"pair": 2, "couple": 2, "trio": 3}
NUMBER_WORDS = frozenset({*_SMALL, *_LARGE})
"""The words of numbers."""
_BEGINNINGS = frozenset({*_SMALL, *_LARGE, *_FEW})
_TOKEN = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d,])|[^\W_]+(?:[:.]\d+)*")
_MOST_DIGITS = 30


class Number(NamedTuple):
    """The value of a number, and its start and end in text."""

    value: int
    start: int
    end: int


def find_numbers(text: str) -> tuple[Number, ...]:
    """Find the numbers of things in text, with their positions.

    Times, decades, ordinals, fractions and the "one" in "one of the dogs" are not numbers of
    things. An article before "dozen" or "hundred" is part of the number.

    >>> find_numbers("a hundred dogs and 3 cats")
    (Number(value=100, start=0, end=9), Number(value=3, start=19, end=20))
    >>> text = "one hundred and one dogs, 1,000 cats, a dozen eggs and a pair of shoes"
    >>> [number.value for number in find_numbers(text)]
    [101, 1000, 12, 2]
    """
    matches = list(_TOKEN.finditer(text))
    tokens = [match[0].lower() for match in matches]
    numbers: list[Number] = []
    i = 0
    while i < len(tokens):
        if tokens[i] not in _BEGINNINGS and not tokens[i][0].isdecimal():
            i += 1
            continue
        number, length = _read_number(tokens, i)
        if number is not None:
            has_article = i and tokens[i] in {*_LARGE, *_FEW} and tokens[i - 1] in ("a", "the")
            first = matches[i - 1] if has_article else matches[i]
            numbers.append(Number(number, first.start(), matches[i + length - 1].end()))
        i += length
    return tuple(numbers)


def _read_number(tokens: list[str], start: int) -> tuple[int | None, int]:
    """Return the number that begins at a token, or None, and how many tokens it has."""
    token = tokens[start]
    digits = token.replace(",", "")
    if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS:
        large = tokens[start + 1] if start + 1 < len(tokens) else ""
        return (int(digits) * _LARGE[large], 2) if large in _LARGE else (int(digits), 1)
    if token in _FEW:
        return _FEW[token], 1
    if token in _LARGE and start and tokens[start - 1] in ("a", "the"):
        return _LARGE[token], 1
    if token not in _SMALL or (token == "one" and tokens[start + 1 : start + 2] in ([], ["of"])):
        return None, 1
    return _read_number_words(tokens, start)


def _read_number_words(tokens: list[str], start: int) -> tuple[int, int]:
    """Return the value of a number in words, and how many tokens it has."""
    total = part = 0
    end = start
    while end < len(tokens):
        word = tokens[end]
        after = tokens[end + 1] if end + 1 < len(tokens) else ""
        number = _SMALL.get(word, 0)
        # "twenty five" is one number, "twenty thirty" is not.
        is_unit = number < 10 and part % 10 == 0 and part % 100 >= 20
        continues = number > 0 and (part % 100 == 0 or is_unit)
        if word in _SMALL and (end == start or continues):
            part += _SMALL[word]
        elif word in _LARGE and end > start:
            part *= _LARGE[word]
            if _LARGE[word] >= 1000:
                total, part = total + part, 0
        elif word != "and" or after not in _SMALL or (total + part) < 100 or (total + part) % 100:
            break
        end += 1
    return total + part, end - start
