"""The syntax of Midjourney: its command, images by address, flags, and parts with weights."""

from __future__ import annotations

import re

_NUMBER = r"-?\d+(?:\.\d+)?"
_ADDRESSES = r"(?:(?:https?://\S+|random|\d{3,})\s*)+"
_VALUES = {
    r"ar|aspect": r"\d+(?:\.\d+)?\s*[:x/]\s*\d+(?:\.\d+)?",
    r"v|version": r"\d+(?:\.\d+)?[a-z]?",
    r"style": r"[\w-]+",
    r"stylize|stylise|s|chaos|c|seed|sameseed|quality|q|stop|weird|w|iw|sw|cw|ow|sv|niji|repeat|r|exp":
    _NUMBER,
    r"sref|cref|oref": _ADDRESSES,
    r"profile|personalize|p": r"(?:[a-z]*\d\w*\s*)+",
    r"motion": r"low|high",
    r"tile|turbo|fast|relax|raw|hd|sd|video|loop|draft|stealth|public|uplight|upbeta|creative|test|testp":
    "",
}  # fmt: skip
_DASHES = r"(?:^|(?<=[\s,]))(?:--|[—–])"
_FLAG = re.compile(
    rf"{_DASHES}(?:"
    + "|".join(rf"(?:{names})(?![a-z])\s*(?:{value})?" for names, value in _VALUES.items())
    + ")",
    re.IGNORECASE,
)
_WITHOUT = re.compile(rf"{_DASHES}no\s+(.+?)(?=\s+(?:--|[—–])\w|$)", re.IGNORECASE | re.DOTALL)
_COMMAND = re.compile(r"\s*(?:/imagine(?:\s+prompt)?\s*:?|prompt\s*:)\s*", re.IGNORECASE)
_ADDRESS = re.compile(r"[<(]?(?:https?://|www\.[\w.-]+/)[^\s>)]*[>)]?", re.IGNORECASE)
_PART = re.compile(r"::\s*(-?\d*\.?\d+)?(?=\s|$|,)")


def take_command(text: str, ignored: dict[str, list[str]]) -> str:
    """Take away what calls the program: ``/imagine prompt:``."""
    match = _COMMAND.match(text)
    if match is None or match.end() == len(text):
        return text
    ignored["command"].append(match[0].strip())
    return text[match.end() :]


def take_flags(text: str, ignored: dict[str, list[str]], unwanted: list[str]) -> str:
    """Take away flags with their values; what follows ``--no`` goes to what is not wanted."""

    def take(match: re.Match[str]) -> str:
        ignored["flag"].append(match[0].strip())
        return " "

    def take_unwanted(match: re.Match[str]) -> str:
        unwanted.extend(part.strip() for part in match[1].split(",") if part.strip())
        return take(match)

    return _FLAG.sub(take, _WITHOUT.sub(take_unwanted, text))


def take_addresses(text: str, ignored: dict[str, list[str]]) -> str:
    """Take away addresses of images and pages."""

    def take(match: re.Match[str]) -> str:
        ignored["url"].append(match[0].strip("<>()"))
        return " "

    return _ADDRESS.sub(take, text)


def take_parts(text: str, ignored: dict[str, list[str]], unwanted: list[str]) -> str:
    """Join parts with weights, ``hot dog::2 stand``; a part of negative weight is not wanted."""
    pieces = _PART.split(text)
    if len(pieces) == 1:
        return text
    wanted: list[str] = []
    for part, weight in zip(pieces[::2], [*pieces[1::2], None], strict=True):
        if part.strip(" ,"):
            (unwanted if weight and float(weight) < 0 else wanted).append(part.strip(" ,"))
    ignored["weight"].append("::")
    return ", ".join(wanted)
