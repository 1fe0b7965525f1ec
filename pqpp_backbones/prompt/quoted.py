"""Texts that a prompt asks to draw."""

from __future__ import annotations

import re
from typing import NamedTuple

from pqpp_backbones.prompt.word_lists import read_lines, to_word_regex

_PAIRS: tuple[str, ...] = tuple(re.findall("..", '""“”„“„”””«»»«「」『』《》'))
_MOST = 400


def _make_regex(pair: str, length: str) -> str:
    inches = r'(?<!\d")' if pair == '""' else ""  # a 12" pizza
    return rf"{re.escape(pair[0])}{inches}([^{re.escape(pair)}\n]{length}){re.escape(pair[1])}"


# An apostrophe opens a quotation after a space, and closes it before a space or punctuation, so
# "the dog's bowl" and "rock 'n' roll" contain no quotation.
_SINGLE = [
    rf"'(?<!\w')(?=\S)(?!n')([^'\n]{{1,{_MOST}}}(?:(?<=\w)'(?=\w)[^'\n]{{1,{_MOST}}}){{0,8}})(?<=\S)'(?!\w)",
    rf"‘(?<!\w‘)(?=\S)([^‘\n]{{1,{_MOST}}}?)’(?!\w)",
]
QUOTED = re.compile("|".join([*(_make_regex(pair, f"{{1,{_MOST}}}") for pair in _PAIRS), *_SINGLE]))
"""A quotation: its marks and, in the one group that matched, its text.

Each alternative begins with its mark, so that a text without marks is searched fast.
"""
_SURFACE = rf"(?:{to_word_regex(read_lines(__file__, 'surfaces.txt'))})s?"
_SAYS = r"(?:(?:that|which) )?(?:says?|saying|reads?|reading|spells?|spelling)(?: out)?:? "
_TOKEN = r"(?:[A-Z0-9][^\s,.;:?!\"()]*[!?]*)"
_PROPER = rf"(?!I [a-z])({_TOKEN}(?: (?:(?:of|the|and|to|in|a|for|&) ){{0,2}}{_TOKEN})*[!?]*)"
"""Capitalised words, with short function words between them."""
_NAMED = r"writing |the (?:words?|letters?|text|phrase|slogan|title|name|number|saying) "
_DRAWN = r"(?:written|painted|printed|embroidered|engraved|carved|stitched|spelled|spelt|scrawled)"
_PLACE = (
    r"(?: (?:on|in|at|with|above|below|under|over|by|next to) (?:a|an|the|his|her|its|their|it)\b"
    r"| (?:in front|and is|written|hanging|standing)\b|[,.;:\n]|$)"
)
_SHOWS = r"(?:signs?|banner|poster|billboard|label|marquee|letters|lettering|text|words|headline)"
_SHOUTED = rf"[A-Z]{{2,}}\b(?:(?: (?:[A-Z]+|\d+%?)(?![\w%]))+|(?={_PLACE}))"
_MEANS = r"of|in|on|at|for|from|to|and|or|that|which|is|are|was|has|above|below"
_BARE = re.compile(
    rf"\b(?:{_SAYS}|{_NAMED})(?-i:{_PROPER})"
    rf"|\b{_SHOWS}:? (?-i:({_SHOUTED}))"
    rf"|\bwith the (?:words?|text|phrase|slogan|message):? (?!(?:{_MEANS})\b)(?-i:(?=[a-z]))"
    rf"([^,.;:\"\n]+?[!?]*)(?={_PLACE})"
    rf"|\bwith (?:the number )?(?-i:{_PROPER}) {_DRAWN}\b"
    rf"|\b{_SURFACE} {_SAYS}(?:the word )?(?-i:(?=[a-z]))([^,.;:\"\n]+?[!?]*)(?={_PLACE})"
    r"|\bthe word (?!of |is |for |that |in |on |from |and )(\w[\w'-]*)",
    re.IGNORECASE,
)
"""A text without quotation marks, in the one group that matched."""
_WRAPPED = re.compile(
    "|".join(_make_regex(pair, "+") for pair in [*_PAIRS, "‘’", "``"])
    + r"|'(?=\S)([^\n]+)'|```([^`]+)```"
)
_DOUBLED = re.compile(r"([\"'`])\1(?=\S)([^\"`]+)\1\1")


def get_quote(match: re.Match[str]) -> str:
    """Return the text of a quotation."""
    return match[match.lastindex or 0].strip()


def mask_quotations(text: str) -> str:
    r"""Replace quotations with placeholders of the same length.

    >>> mask_quotations("a 'no' sign").replace("\ue000", "_")
    'a ____ sign'
    """
    return QUOTED.sub(lambda match: "\ue000" * len(match[0]), text)


class TextToDraw(NamedTuple):
    """A text to draw, and its start and end with the quotation marks."""

    text: str
    start: int
    end: int


def find_texts_to_draw(prompt: str) -> list[TextToDraw]:
    """Return the texts that a prompt asks to draw: quoted, or introduced by words like "that says".

    Without quotation marks, the text needs capitals, or a thing like a sign or a shirt before it.
    What a person or an animal says is not a text to draw.

    >>> find_texts_to_draw("a cake with the words Happy 40th")
    [TextToDraw(text='Happy 40th', start=22, end=32)]
    >>> find_texts_to_draw("he reads a book"), find_texts_to_draw("the dog's “bowl”")[0].text
    ([], 'bowl')
    """
    quotations = [TextToDraw(get_quote(match), *match.span()) for match in QUOTED.finditer(prompt)]
    return quotations or [
        TextToDraw(get_quote(match), *match.span(match.lastindex or 0))
        for match in _BARE.finditer(prompt)
    ]


def strip_outer_quotes(prompt: str, depth: int = 40) -> str:
    """Remove up to `depth` pairs of quotation marks around a whole prompt.

    >>> strip_outer_quotes('"a cat on a mat"'), strip_outer_quotes("'Stop' and 'Go'")
    ('a cat on a mat', "'Stop' and 'Go'")
    """
    text = prompt.strip()
    bare = text.rstrip(".,;!")
    match = _DOUBLED.fullmatch(bare) or _WRAPPED.fullmatch(bare)
    if match is None or not depth:
        return text
    is_one_quotation = len(QUOTED.findall(bare)) <= 1 or text[0] not in "'‘"
    return strip_outer_quotes(get_quote(match), depth - 1) if is_one_quotation else text
