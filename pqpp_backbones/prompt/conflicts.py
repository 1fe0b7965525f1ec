"""Things in an unusual colour, like "a blue banana".

`usual_colours.txt` lists the usual colours of things. It was written by hand, based on the colours
that precede a thing's name in captions of MS COCO (CC BY 4.0) and in the glosses of animals and
foods in WordNet 3.0 (WordNet licence), and corrected with rated prompts. Things that can have any
colour, such as cars and shirts, are not listed.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from pqpp_backbones.prompt.word_lists import read_lines, read_word_lists, to_word_regex

COLOURS = "red|blue|green|yellow|black|white|brown|orange|purple|pink|gr[ae]y"
"""A pattern of colours that are typical of things."""
_COLOUR_WORDS = frozenset(COLOURS.replace("gr[ae]y", "gray|grey").split("|"))
_PARTS = "stripes|spots|fur|feathers|skin|wings|mane|petals|peel|leaves"


class Conflict(NamedTuple):
    """A thing in an unusual colour, the colour's position, and the usual colour.

    The usual colour is empty for a pattern such as stripes.
    """

    words: str
    start: int
    end: int
    usual: str


@cache
def _read_colours() -> tuple[dict[str, list[str]], re.Pattern[str]]:
    things = dict(line.split(": ") for line in read_lines(__file__, "usual_colours.txt"))
    names = "|".join(sorted(things, key=len, reverse=True))
    followers = to_word_regex(read_word_lists(__file__, "grammar.txt")["after"])
    ends = rf"(?=\s*(?:[,.;:!?)]|$)|\s+(?:[a-z]+ing|{followers})\b)"
    return {thing: colours.split() for thing, colours in things.items()}, re.compile(
        rf"(?<![\w-])(?:(?P<colour>{COLOURS})(?:[- ]colou?red)?\s+)?"
        rf"\b(?P<thing>{names})(?P<plural>e?s)?\b(?:\s+with\s+(?P<part>{COLOURS})\s+(?:{_PARTS})\b|{ends})"
    )


def find_conflicts(text: str) -> list[Conflict]:
    """Find the things in an unusual colour in lower-case text, in order.

    >>> [conflict[0::3] for conflict in find_conflicts("a red apple beside a blue banana")]
    [('blue banana', 'yellow')]
    >>> find_conflicts("an orange tiger with blue stripes")[0].words
    'tiger with blue stripes'
    """
    if _COLOUR_WORDS.isdisjoint(re.findall(r"[a-z]+", text)):
        return []
    usual_colours, pattern = _read_colours()
    conflicts = []
    for match in pattern.finditer(text):
        usual = usual_colours[match["thing"]]
        is_article = text[: match.start()].endswith(("a ", "an ", "one "))
        if match["thing"] in COLOURS and not (is_article or match["plural"]):
            continue  # "blue and orange"
        colour, part = ((match[name] or "").replace("grey", "gray") for name in ("colour", "part"))
        if colour and colour not in usual:
            conflicts.append(Conflict(match[0], *match.span("colour"), usual[0]))
        if part and part not in (*usual, "black", "white"):
            start, end = match.span("part")
            conflicts.append(Conflict(text[match.start("thing") : match.end()], start, end + 1, ""))
    return conflicts
