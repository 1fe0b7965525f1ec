"""A prompt with fewer things: what a prompt that counts things is compared with.

More things are never easier to draw. Nothing that predictors learn from tells a large number from a
small one, so that a network's prediction of "50 dogs" is any. A prediction that is the lowest of
those for each smaller number cannot rise with the number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from pqpp_backbones.prompt.numbers import NUMBER_WORDS, places_of_numbers
from pqpp_backbones.prompt.quoted import quotations_in

_NAMED_TO_TWELVE = "one two three four five six seven eight nine ten eleven twelve"
_NAMES = _NAMED_TO_TWELVE.split()
MOST_THINGS = len(_NAMES)
_MOST_COUNTED = 2
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[.;:!?()]")
_MOST_BETWEEN = 4
_SINGULARS = {
    "men": "man", "women": "woman", "people": "person", "children": "child", "mice": "mouse",
    "geese": "goose", "teeth": "tooth", "feet": "foot", "oxen": "ox", "sheep": "sheep",
    "fish": "fish", "deer": "deer", "aircraft": "aircraft", "cattle": "cow", "salmon": "salmon",
    "buses": "bus", "potatoes": "potato", "tomatoes": "tomato", "mangoes": "mango",
    "heroes": "hero", "cookies": "cookie", "movies": "movie", "zombies": "zombie",
    "brownies": "brownie", "selfies": "selfie", "hoodies": "hoodie",
    "wolves": "wolf", "knives": "knife", "leaves": "leaf", "loaves": "loaf", "shelves": "shelf",
}  # fmt: skip
# What ends the name of a thing, and what is measured, not counted.
_ENDS_WORDS = """
and or of in on at with by from to for is are was were has have that which who near under over
between behind beside above below next around inside as than but while not no
. ; : ! ? ( )
years year months weeks days hours minutes seconds dollars euros meters metres miles kilometers
kilometres inches pixels percent degrees mm cm km mph hz ounces pounds grams acres stories storeys
"""
_ENDS = frozenset(_ENDS_WORDS.split())
_NAMED_WORDS = (
    "number no route chapter size level version page flight bus boeing room highway formula mark"
)
_NAMED = frozenset(_NAMED_WORDS.split())
_YEARS = range(1500, 2100)


class Count(NamedTuple):
    """How many of a thing a text wants: the number, its place, and that of a plural's name."""

    number: int
    start: int
    end: int
    thing: tuple[int, int]


@lru_cache(1 << 12)
def counts_in(text: str) -> tuple[Count, ...]:
    """Return the counts of things in a text of small letters, without those in quotation marks.

    A number is a count where a plural follows within a few words, and 1 before any word; "one",
    "a pair" and years are none.

    >>> [(count.number, count.thing) for count in counts_in("3 red cats in 1999, bus 23, 5 metres")]
    [(3, (6, 10))]
    """
    if not _DIGIT.search(text) and _COUNTING.isdisjoint(_LETTERS.findall(text)):
        return ()
    quotations = [match.span() for match in quotations_in(text)]
    counts: list[Count] = []
    for number in places_of_numbers(text):
        is_text = any(start < number.start < end for start, end in quotations)
        if not number.value or is_text or _is_name(text, *number):
            continue
        end = number.end + (3 if _OF_THINGS.match(text, number.end) else 0)
        if number.value == 1:
            is_digit = text[number.start : number.end] == "1" and _NEXT_WORD.match(text, end)
            thing = (end, end) if is_digit else None
        else:
            thing = _thing_after(text, end)
        if thing is not None:
            counts.append(Count(number.value, number.start, end, thing))
    return tuple(counts)


_DIGIT, _LETTERS = re.compile(r"\d"), re.compile("[a-z]+")
_COUNTING = NUMBER_WORDS - {"zero", "one"}
_NEXT_WORD = re.compile(r" [a-z]{2}")
_OF_THINGS = re.compile(r" of (?!the |these |those |his |her |its |their |my )")
_IDIOM = re.compile(r"(?:a |the )?(?:pair|couple|trio)")


def _is_name(text: str, number: int, start: int, end: int) -> bool:
    """Tell whether a number names a thing or a year, or is a part of a word."""
    before = text[:start].split()
    is_year = number in _YEARS and number % 100 != 0 and "," not in text[start:end]
    is_part = text[end : end + 1] in ("-", "'", "%", "/") or text[start - 1 : start] in (
        "-",
        "#",
        "/",
    )
    is_idiom = _IDIOM.fullmatch(text[start:end])
    return is_year or is_part or bool(is_idiom or (before and before[-1] in _NAMED))


def _thing_after(text: str, end: int) -> tuple[int, int] | None:
    """Return the place of the first plural of the few words after a number."""
    last = None
    for at, match in enumerate(_WORD.finditer(text, end)):
        word = match[0]
        if word in _ENDS and not (at == 0 and word == "of"):
            break
        if _singular(word) != word or word in _SINGULARS:
            last = match.span()
        elif last is not None or at > _MOST_BETWEEN:
            break
    return last


def _singular(word: str) -> str:
    """Return a plural's singular, another word as it is.

    >>> [_singular(word) for word in ("dogs", "cherries", "glasses", "grass", "people")]
    ['dog', 'cherry', 'glass', 'grass', 'person']
    """
    if word in _SINGULARS:
        return _SINGULARS[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "'s")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zes")) else word[:-1]


def with_fewer_things(text: str) -> list[str]:
    """Return a text with each count of things put in words, as it is and lower, down to one.

    Numbers above twelve are twelve. Where there are more than two counts the first two are lowered.
    A text without a count is returned alone, as it came.

    >>> with_fewer_things("3 dogs")
    ['one dog', 'two dogs', 'three dogs']
    >>> len(with_fewer_things("a hundred dogs and two cats")), with_fewer_things("a red dog")
    (24, ['a red dog'])
    """
    counts = counts_in(text)
    if not counts:
        return [text]
    lowest = [1] * _MOST_COUNTED + [MOST_THINGS] * len(counts)
    numbers = [min(count.number, MOST_THINGS) for count in counts]
    ranges = [range(min(low, n), n + 1) for low, n in zip(lowest, numbers, strict=False)]
    return [_with_numbers(text, counts, chosen) for chosen in product(*ranges)]


def _with_numbers(text: str, counts: Sequence[Count], numbers: Sequence[int]) -> str:
    """Return a text with other numbers of its things."""
    parts, at = [], 0
    for count, number in zip(counts, numbers, strict=True):
        start, end = count.thing
        thing = text[start:end]
        parts += [text[at : count.start], _NAMES[number - 1], text[count.end : start]]
        parts.append(_singular(thing) if number == 1 else thing)
        at = end
    return "".join([*parts, text[at:]])
