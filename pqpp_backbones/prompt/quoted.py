"""The text that a prompt wants to be drawn: what stands in quotation marks."""

from __future__ import annotations

import re

_PAIRS: tuple[str, ...] = tuple(re.findall("..", '""“”„“„”””«»»«「」『』《》'))
_MOST = 400


def _between(pair: str, length: str) -> str:
    """Return the pattern of a text between two marks."""
    return rf"{re.escape(pair[0])}([^{re.escape(pair)}\n]{length}){re.escape(pair[1])}"


# An apostrophe opens a quotation after a blank, and closes it before one or a mark: the dog's bowl
# holds none.
_SINGLE = [
    rf"(?<!\w)'(?=\S)([^'\n]{{1,{_MOST}}}(?:(?<=\w)'(?=\w)[^'\n]{{1,{_MOST}}}){{0,8}})(?<=\S)'(?!\w)",
    rf"(?<!\w)‘(?=\S)([^‘\n]{{1,{_MOST}}}?)’(?!\w)",
]
QUOTED = re.compile("|".join([*(_between(pair, f"{{1,{_MOST}}}") for pair in _PAIRS), *_SINGLE]))
"""A quotation: its marks and, in the one group that matched, its text."""
_WRAPPED = re.compile(
    "|".join(_between(pair, "+") for pair in [*_PAIRS, "‘’", "``"])
    + r"|'(?=\S)([^\n]+)'|```([^`]+)```"
)
_DOUBLED = re.compile(r"([\"'`])\1(?=\S)([^\"`]+)\1\1")


def quoted_texts(prompt: str) -> tuple[str, ...]:
    """Return what stands in quotation marks, in order; an apostrophe is no mark.

    All pairs of marks that keyboards type count, of several languages: straight and curly, low and
    high, angle and corner brackets.

    >>> quoted_texts("a sign that says 'STOP' beside the dog's “bowl”")
    ('STOP', 'bowl')
    """
    return tuple(_text_of(match) for match in QUOTED.finditer(prompt))


def without_wrapping(prompt: str) -> str:
    """Return a prompt without the quotation marks that stand around all of it.

    >>> without_wrapping('"a cat on a mat"'), without_wrapping("'Stop' and 'Go'")
    ('a cat on a mat', "'Stop' and 'Go'")
    """
    text = prompt.strip()
    bare = text.rstrip(".,;!")
    match = _DOUBLED.fullmatch(bare) or _WRAPPED.fullmatch(bare)
    if match is None:
        return text
    inner = match[2] if match.re is _DOUBLED else _text_of(match)
    is_one_quotation = len(list(QUOTED.finditer(bare))) <= 1 or text[0] not in "'‘"
    return without_wrapping(inner) if is_one_quotation else text


def _text_of(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None).strip()
