"""A prompt that asks for less: what a prompt is compared with, so that more is never easier.

Studies hold few prompts of each kind, so that a network may take a longer list, a longer text to
draw, or a place for each thing for easier. A prediction that is the lowest of those for all that
asks for less cannot.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from pqpp_backbones.prompt.quoted import quotations_in, quoted_texts
from pqpp_models.text.reading.fewer_things import MOST_THINGS, counts_in, with_fewer_things

PLACES = (
    re.compile(
        r"\b(?:(?:to|on|at)\s+the\s+)?(?:left|right)(?:[\s-]+hand)?(?:\s+side)?\s+of\b"
        r"|\b(?:(?:directly|right|just)\s+)?(?:in\s+front\s+of|on\s+(?:the\s+)?top\s+of|underneath"
        r"|beneath|below|above|behind|under|between|(?:at|on)\s+the\s+bottom\s+of|across\s+from"
        r"|opposite)\b(?!\s+(?:construction|the\s+(?:wheel|weather|influence)))",
        re.I,
    ),
    "near",
)
"""Words for where a thing is beside another, and what says less."""
_PLACE_NAMES = (
    "left right front top bottom underneath beneath below above behind under between across "
    "opposite"
)
_PLACE_WORDS, _LETTERS = frozenset(_PLACE_NAMES.split()), re.compile("[a-z]+")
_ENDS = (
    "and|or|of|in|on|at|with|by|from|to|for|near|under|over|is|are|was|that|which|who|beside|behind|above"
    "|below|between|next|around|inside|through|sits|stands"
)
_NAME = rf"(?!(?:{_ENDS})\b)[a-z'-]+\b(?<!ing)"
_THING = rf"(?:an?|the|some|one|two|three|four|five|six|\d+) {_NAME}(?: {_NAME}){{0,2}}"
_SEPARATOR = r"(?:, and | and |, )"
_LIST = re.compile(rf"\b{_THING}(?:{_SEPARATOR}{_THING})+")
_MOST_WORDS = 12
_MOST_TEXTS = 300
_SHORT_TEXT = 4


def asking_less(text: str) -> list[str]:
    """Return a text with what it asks for put in one way, as it is and lower.

    Fewer things that are counted, shorter lists, shorter texts to draw and plain places, in all
    combinations while these are no more than 300. What holds none of it is returned alone.

    >>> asking_less("a cat, a dog and a bird")
    ['a cat', 'a cat and a dog', 'a cat, a dog and a bird']
    >>> asking_less("a cup left of 2 pens")[-2:]
    ['a cup near two pens', 'a cup left of two pens']
    """
    texts = [text]
    for lower in _WAYS:
        lowered = [other for one in texts for other in lower(one)]
        texts = lowered if len(lowered) <= _MOST_TEXTS else texts
    return texts


def with_shorter_lists(text: str) -> list[str]:
    """Return a text with less and less of its first list of things; the last one has it whole."""
    match = _LIST.search(text) if ", " in text or " and " in text else None
    if match is None or any(q.start() < match.end() for q in quotations_in(text)):
        return [text]
    things = re.split(_SEPARATOR, match[0])
    return [
        text[: match.start()] + _listed(things[: n + 1]) + text[match.end() :]
        for n in range(len(things))
    ]


def _listed(things: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(things[:-1]), *things[-1:])))


def with_shorter_texts(text: str) -> list[str]:
    """Return a text with one word, two and so on of what it wants to be drawn, twelve at most.

    >>> with_shorter_texts("a sign that says 'Mind the gap'")[:2]
    ["a sign that says 'Mind'", "a sign that says 'Mind the'"]
    """
    texts = [""]
    at = 0
    for quotation in quotations_in(text):
        start, end = next(span for span in map(quotation.span, range(1, 20)) if span[0] >= 0)
        words = text[start:end].split()[:_MOST_WORDS]
        shorter = [text[at:start] + " ".join(words[: n + 1]) for n in range(len(words))]
        texts = [before + drawn for before in texts for drawn in shorter or [text[at:end]]]
        at = end
        if len(texts) > _MOST_TEXTS:
            return [text]
    return [before + text[at:] for before in texts]


def with_plain_places(text: str) -> list[str]:
    """Return a text with its places said plainly, and as it is; in quotation marks are none.

    >>> with_plain_places("a cat behind a sign that says 'Stand behind'")[0]
    "a cat near a sign that says 'Stand behind'"
    """
    pattern, plainly = PLACES
    if _PLACE_WORDS.isdisjoint(_LETTERS.findall(text.lower())):
        return [text]
    parts, at = [], 0
    for quotation in quotations_in(text):
        parts += [pattern.sub(plainly, text[at : quotation.start()]), quotation[0]]
        at = quotation.end()
    plain = "".join([*parts, pattern.sub(plainly, text[at:])])
    return [text] if plain == text else [plain, text]


_WAYS: tuple[Callable[[str], list[str]], ...] = (
    with_fewer_things,
    with_shorter_texts,
    with_shorter_lists,
    with_plain_places,
)


def log_asked(text: str) -> float:
    """Return the log of how much a text asks for: letters to draw, over four, and things.

    Up to four letters are as good as none; of several numbers of things the largest counts, and
    those above twelve are twelve.

    >>> [round(log_asked(text), 2) for text in ("'STOP'", "'four times 4 is 16'", "two cats")]
    [0.0, 1.5, 0.69]
    """
    letters = sum(map(len, quoted_texts(text)))
    things = max((min(count.number, MOST_THINGS) for count in counts_in(text)), default=1)
    return math.log(max(letters / _SHORT_TEXT, 1) * things)
