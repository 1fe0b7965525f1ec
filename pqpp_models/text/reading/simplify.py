"""Simpler variants of prompts, so that a more demanding prompt never gets a higher prediction.

Studies contain few prompts of each kind, so a network may predict that a longer list, a longer text
to draw, or a position for each thing is easier. The lowest prediction among a prompt and its
variants prevents this.

The same applies to the number of things. The training data do not distinguish large numbers from
small ones, so a network's prediction for "50 dogs" is arbitrary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from pqpp_backbones.prompt.conflicts import find_conflicts
from pqpp_backbones.prompt.numbers import NUMBER_WORDS, UNITS, find_numbers
from pqpp_backbones.prompt.quoted import QUOTED, get_quote, mask_quotations
from pqpp_backbones.prompt.word_lists import to_word_regex
from pqpp_models.text.reading.words import WORD_LISTS

PLACES = (
    re.compile(
        r"\b(?:(?:to|on|at)\s+the\s+)?(?:left|right)(?:[\s-]+hand)?(?:\s+side)?\s+of\b"
        r"|(?<!\bfrom )\b(?:(?:directly|right|just)\s+)?(?:in\s+front\s+of|on\s+(?:the\s+)?top\s+of"
        r"|underneath|beneath|below|above|behind|under|between|(?:at|on)\s+the\s+bottom\s+of|across\s+from"
        r"|opposite)\b(?!\s+(?:construction|the\s+(?:wheel|weather|influence)))",
        re.I,
    ),
    "near",
)
"""Patterns of positions, and their simpler replacements."""
_ENDS = to_word_regex(WORD_LISTS["ends_name"])
_NAME = rf"(?!(?:{_ENDS})\b)[a-z'-]+\b(?<!ing)"
_THING = rf"(?:an?|the|some|one|two|three|four|five|six|\d+) {_NAME}(?: {_NAME}){{0,2}}"
_SEPARATOR = r"(?:, and | and |, )"
_LIST = re.compile(rf"\b{_THING}(?:{_SEPARATOR}{_THING})+")
_MAX_QUOTED_WORDS = 12
_MAX_VARIANTS = 300
_FREE_LETTERS = 4
_CONFLICT = 2.0
"""In ratings, a conflict costs .53 (+-.26) standard deviations, and a unit of demand .27."""

_MAX_THINGS = 12
_MAX_REDUCED = 2
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[.;:!?()]")
_MAX_WORDS_BETWEEN = 4
_SINGULARS = dict(pair.split("/") for pair in sorted(WORD_LISTS["singulars"]))
_YEARS = range(1500, 2100)
_FLOCK = re.compile(r"\b(?:flock|herd|swarm|crowd|group|bunch)s? of\b")


class ThingCount(NamedTuple):
    """A count of things: the number, its start and end, and the start and end of the plural."""

    number: int
    start: int
    end: int
    thing: tuple[int, int]


@lru_cache(1 << 12)
def find_counts(text: str) -> tuple[ThingCount, ...]:
    """Return the counts of things in lower-case text, outside quotation marks.

    A number is a count if a plural follows within a few words; "1" is a count before any word.
    "one", "a pair" and years are not counts.

    >>> [(count.number, count.thing) for count in find_counts("3 red cats, bus 23, 5 metres")]
    [(3, (6, 10))]
    """
    if not _DIGIT.search(text) and _COUNTING.isdisjoint(_LETTERS.findall(text)):
        return ()
    text = mask_quotations(text)
    counts: list[ThingCount] = []
    for number in find_numbers(text):
        if not number.value or _is_name_or_year(text, *number):
            continue
        end = number.end + (3 if _OF_THINGS.match(text, number.end) else 0)
        if number.value == 1:
            is_digit = text[number.start : number.end] == "1" and _NEXT_WORD.match(text, end)
            thing = (_find_plural(text, end) or (end, end)) if is_digit else None
        else:
            thing = _find_plural(text, end)
        if thing is not None:
            counts.append(ThingCount(number.value, number.start, end, thing))
    return tuple(counts)


def is_couple(text: str, count: ThingCount) -> bool:
    """Return whether a count is of two people, such as friends.

    >>> [is_couple(text, *find_counts(text)) for text in ("two old friends", "two old dogs")]
    [True, False]
    """
    return count.number == 2 and text[slice(*count.thing)] in WORD_LISTS["people"]


_DIGIT, _LETTERS = re.compile(r"\d"), re.compile("[a-z]+")
_COUNTING = NUMBER_WORDS - {"zero", "one"}
_NEXT_WORD = re.compile(r" [a-z]{2}")
_OF_THINGS = re.compile(r" of (?!the |these |those |his |her |its |their |my )")
_IN_TITLE = re.compile(
    rf"\b(?!(?:{_ENDS}|a|an|the|just|only)\b)[a-z]+(?<!ing)(?<!ly)(?<!s)(?<!ed) $"
)  # "fallout 5"
_IDIOM = re.compile(r"(?:a |the )?(?:pair|couple|trio)")


def _is_name_or_year(text: str, number: int, start: int, end: int) -> bool:
    """Return whether a number is a year, or part of a name or word."""
    before = text[:start].split()
    is_year = number in _YEARS and number % 100 != 0 and "," not in text[start:end]
    next_character = text[end : end + 1]
    is_part = next_character in ("-", "'", "%", "/") or text[start - 1 : start] in ("-", "#", "/")
    is_idiom = _IDIOM.fullmatch(text[start:end])
    is_title = text[start].isdigit() and bool(_IN_TITLE.search(text, 0, start))
    is_numbered = before and before[-1] in WORD_LISTS["numbered"]
    return is_year or is_part or is_title or bool(is_idiom or is_numbered)


def _find_plural(text: str, end: int) -> tuple[int, int] | None:
    """Return the start and end of the first plural within a few words after a number."""
    last = None
    if text.startswith(",", end):
        return None
    for index, match in enumerate(_WORD.finditer(text, end)):
        word = match[0]
        if word in WORD_LISTS["ends_thing"] and not (index == 0 and word == "of"):
            break
        if _to_singular(word) != word or word in _SINGULARS:
            last = match.span()
        elif last is not None or index > _MAX_WORDS_BETWEEN:
            break
    return last


def _to_singular(word: str) -> str:
    """Return the singular of a plural; other words are unchanged.

    >>> [_to_singular(word) for word in ("dogs", "cherries", "glasses", "grass", "people")]
    ['dog', 'cherry', 'glass', 'grass', 'person']
    """
    if word in _SINGULARS:
        return _SINGULARS[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "'s")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zes")) else word[:-1]


def reduce_counts(text: str) -> tuple[str, ...]:
    """Return variants of a prompt in which counts of things are lower, down to one.

    Numbers become words, and numbers above twelve become twelve. Only the first two counts are
    reduced. A prompt without counts is returned unchanged.

    >>> reduce_counts("3 dogs")
    ('a dog', 'two dogs', 'three dogs')
    >>> len(reduce_counts("a hundred dogs and two cats")), reduce_counts("a red dog")
    (24, ('a red dog',))
    """
    segments: list[tuple[int, str, str, str]] = []
    position = 0
    for count in find_counts(text):
        start, end = count.thing
        number = min(count.number, _MAX_THINGS)
        before, between = text[position : count.start], text[count.end : start]
        segments.append((number, before, between, text[start:end]))
        position = end
    return _reduce_numbers(tuple(segments), text[position:]) if segments else (text,)


@lru_cache(1 << 10)
def _reduce_numbers(segments: tuple[tuple[int, str, str, str], ...], rest: str) -> tuple[str, ...]:
    """Return variants with lower numbers, from the counts and the text after them."""
    choices = []
    for index, (number, before, between, thing) in enumerate(segments):
        lowest = 1 if index < _MAX_REDUCED else number
        single = between + _to_singular(thing)
        article = "an" if single.lstrip()[:1] in "aeiou" else "a"
        names = {n: f"{UNITS[n]}{between}{thing}" for n in range(lowest, number + 1)}
        if 1 in names:
            names[1] = f"{article}{single}"
        choices.append([before + name for name in names.values()])
    return tuple("".join((*choice, rest)) for choice in product(*choices))


_NAME_AFTER_ONE = re.compile(rf" (?!(?:{to_word_regex(WORD_LISTS['no_name'])})\b)([a-z])[a-z]+")
_MANY = re.compile(
    r"\b(?:(?:hundreds|thousands|millions|dozens|lots|plenty|tons|loads) of"
    r"|an? (?:lot|crowd|bunch) of|many|several|numerous|countless)"
    r" (?!(?:the|these|those|his|her|its|their|my) )(?=[a-z])"
)
_NUMBERS = rf"(?:{to_word_regex(_COUNTING)}|\d{{1,3}})"
# Words like "two-headed" are not simplified, since such things are hard to draw.
_ADJECTIVE = re.compile(
    rf"(?<![\w-])(?:{_NUMBERS}-)+(?!(?:head|eye|arm|fac|horn|wing|tail)ed\b|quarter|{_NUMBERS}\b)"
    r"(?=[a-z]{3})"
)
_BY_THE_DOZEN = re.compile(
    rf"\b(?:a|one) dozen (?=(?:\w+ )?(?:{to_word_regex(WORD_LISTS['dozens'])})\b)"
)


def simplify_numbers(text: str) -> list[str]:
    """Return variants of a prompt with plain numbers: "one" as an article, "many" as "some".

    Things sold by the dozen and adjectives such as "three-legged" are unchanged.

    >>> simplify_numbers("one dog"), simplify_numbers("a dozen eggs in a carton")
    (['a dog'], ['eggs in a carton'])
    >>> simplify_numbers("hundreds of dogs on a table")[:2]
    ['a dog on a table', 'dogs on a table']
    """
    is_plain = "-" not in text and WORD_LISTS["plainly"].isdisjoint(_LETTERS.findall(text))
    if is_plain or QUOTED.search(text):
        return [text]
    text = _ADJECTIVE.sub("", text)
    for _, start, end in reversed(find_numbers(text)):
        name = _NAME_AFTER_ONE.match(text, end) if text[start:end] == "one" else None
        if name and text[start - 1 : start] != "-":
            text = text[:start] + ("an" if name[1] in "aeiou" else "a") + text[end:]
    text = _BY_THE_DOZEN.sub("", text)
    match = _MANY.search(text)
    thing = match and _find_plural(text, match.end())
    if match is None or thing is None:
        return [text]
    before, between, after = text[: match.start()], text[match.end() : thing[0]], text[thing[1] :]
    single = f"{between}{_to_singular(text[slice(*thing)])}"
    article = "an" if single[0] in "aeiou" else "a"
    return [f"{before}{article} {single}{after}", before + text[match.end() :], text]


def simplify_prompt(text: str) -> tuple[str, ...]:
    """Return up to 300 simpler variants of a prompt, and the prompt with plain numbers.

    The variants combine lower counts, shorter lists, shorter texts to draw, simpler positions and
    usual colours.

    >>> simplify_prompt("a cat, a dog and a bird")
    ('a cat', 'a cat and a dog', 'a cat, a dog and a bird')
    >>> simplify_prompt("a cup left of 2 pens")[-2:]
    ('a cup near two pens', 'a cup left of two pens')
    """
    texts = _combine_variants((simplify_numbers, reduce_counts), (text,))
    simplifiers = (shorten_texts, shorten_lists, simplify_positions, restore_usual_colours)
    return _combine_variants(simplifiers, texts)  # cached: many prompts share `texts`


@lru_cache(1 << 11)
def _combine_variants(
    simplifiers: Sequence[Callable[[str], Sequence[str]]], texts: tuple[str, ...]
) -> tuple[str, ...]:
    for simplify in simplifiers:
        variants = tuple(variant for text in texts for variant in simplify(text))
        if len(variants) <= _MAX_VARIANTS:
            texts = variants
    return texts


def shorten_lists(text: str) -> list[str]:
    """Return variants in which the first list has only its first 1, 2, ... items."""
    match = _LIST.search(text) if ", " in text or " and " in text else None
    if match is None or any(q.start() < match.end() for q in QUOTED.finditer(text)):
        return [text]
    things = re.split(_SEPARATOR, match[0])
    return [
        text[: match.start()] + join_and(things[: n + 1]) + text[match.end() :]
        for n in range(len(things))
    ]


def join_and(things: Sequence[str]) -> str:
    """Join things as English lists them.

    >>> join_and(["one", "two", "three"])
    'one, two and three'
    """
    return " and ".join(filter(None, (", ".join(things[:-1]), *things[-1:])))


def shorten_texts(text: str) -> list[str]:
    """Return variants in which a quoted text is cut to its first 1, 2, ... words (at most 12).

    >>> shorten_texts("a sign that says 'Mind the gap'")[:2]
    ["a sign that says 'Mind'", "a sign that says 'Mind the'"]
    """
    texts = [""]
    position = 0
    for quotation in QUOTED.finditer(text):
        start, end = quotation.span(quotation.lastindex or 0)
        words = text[start:end].split()[:_MAX_QUOTED_WORDS]
        shorter = [text[position:start] + " ".join(words[: n + 1]) for n in range(len(words))]
        texts = [before + quoted for before in texts for quoted in shorter or [text[position:end]]]
        position = end
        if len(texts) > _MAX_VARIANTS:
            return [text]
    return [before + text[position:] for before in texts]


def simplify_positions(text: str) -> list[str]:
    """Return variants with simpler positions, then the text itself; quoted text is unchanged.

    >>> simplify_positions("a cat behind a sign that says 'Stand behind'")[0]
    "a cat near a sign that says 'Stand behind'"
    """
    pattern, replacement = PLACES
    if WORD_LISTS["beside"].isdisjoint(_LETTERS.findall(text.lower())):
        return [text]
    plain = text
    for position in reversed([*pattern.finditer(mask_quotations(text))]):
        plain = plain[: position.start()] + replacement + plain[position.end() :]
    return [text] if plain == text else [plain, text]


def restore_usual_colours(text: str) -> list[str]:
    """Return variants in which things have their usual colours, then the text itself.

    >>> restore_usual_colours("a blue banana"), restore_usual_colours("a green banana")
    (['a yellow banana', 'a blue banana'], ['a green banana'])
    """
    plain = text
    for conflict in reversed(find_conflicts(text)):
        article = "an " if conflict.usual.startswith("o") else "a "
        before = re.sub(r"\ban? $", article, plain[: conflict.start])
        plain = before + conflict.usual + plain[conflict.end :]
    return [text] if plain == text else [plain, text]


def compute_log_demand(text: str) -> float:
    """Return the log of how much a prompt asks for: letters to draw, things, unusual colours.

    Up to four letters have no effect. Only the highest count of things is used, at most twelve;
    without counts, a flock is two things. A couple is one thing, as in the ratings of four studies.

    >>> texts = ("'STOP'", "'four times 4 is 16'", "two cats", "two friends", "a herd of cows")
    >>> [round(compute_log_demand(text), 2) for text in texts]
    [0.0, 1.5, 0.69, 0.0, 0.69]
    """
    letters = sum(len(get_quote(quotation)) for quotation in QUOTED.finditer(text))
    numbers = [count.number for count in find_counts(text) if not is_couple(text, count)]
    things = min(max(numbers, default=2 if _FLOCK.search(text) else 1), _MAX_THINGS)
    conflict = _CONFLICT if find_conflicts(text) else 0.0
    return math.log(max(letters / _FREE_LETTERS, 1) * things) + conflict
