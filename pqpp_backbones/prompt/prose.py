"""What stands around a prompt in prose: marks of markdown, and a request to somebody who draws."""

from __future__ import annotations

import re

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)\s]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\((?:https?://|/|#)[^)\s]*\)")
_STRUCK = re.compile(r"~~[^~]+~~")
_LINE = re.compile(r"^[ \t]*(?:#{1,6}|[-*+•]|>|\d{1,2}[.)])[ \t]+(?=\S)", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,3})(?=\S)([^*_\n]+?)(?<=\S)\1(?!\w)")
_CODE = re.compile(r"`([^`\n]+)`")

_GREETING = r"(?:(?:hi|hello|hey)(?:\s+there)?\s*[,.!]+\s*)?"
_POLITE = r"(?:please[,\s]+|kindly\s+)?"
_ASKING = r"(?:(?:can|could|would|will)\s+you\s+|i\s+want\s+you\s+to\s+)?"
_VERB = r"(?:generate|create|make|draw|paint|produce|render|design|give|show|imagine|visuali[sz]e)"
_WISH = (
    r"i(?:\s+want|\s+need|'d\s+like|\s+would\s+like|\s+would\s+love)(?:\s+to\s+(?:see|have|get))?"
)
_PICTURE = (
    r"(?:(?:an?|the|some)\s+)?(?:\w+\s+)??(?:images?|pictures?)"
    r"\s*(?:of|that\s+shows|showing|with|:)\s*"
)
_THING = r"(?=(?:an?|the|some|my|two|three|four|five|six|seven|eight|nine|ten|many|several|\d+)\s)"
_REQUEST = re.compile(
    rf"{_GREETING}{_POLITE}{_ASKING}{_POLITE}"
    rf"(?:{_VERB}(?:\s+me)?\s+(?:{_PICTURE}|{_THING})|{_WISH}\s+(?:{_PICTURE}|{_THING}))",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:[\s,.!?]*(?:\bplease|\bthanks(?:\s+a\s+lot)?|\bthank\s+you(?:\s+very\s+much)?))+[\s.!?]*$",
    re.I,
)


def take_markdown(text: str, ignored: dict[str, list[str]]) -> str:
    """Take away marks of markdown; the words that they mark stay, pictures and struck words go."""
    plain = _STRUCK.sub(" ", _LINK.sub(r"\1", _IMAGE.sub(" ", text)))
    plain = _LINE.sub("", plain)
    plain = _CODE.sub(r"\1", _EMPHASIS.sub(r"\2", plain))
    if plain == text or not plain.strip():
        return text
    ignored["markdown"].append(text.strip())
    return plain


def take_request(text: str, ignored: dict[str, list[str]]) -> str:
    """Take away a request: ``Please draw me`` and ``I want``; "An image of" alone stays."""
    match = _REQUEST.match(text.lstrip())
    if match:
        ignored["request"].append(match[0].strip())
        text = text.lstrip()[match.end() :]
    polite = text.lower()
    thanks = _THANKS.search(text) if "please" in polite or "thank" in polite else None
    if thanks and (match or "thank" in thanks[0].lower() or "," in thanks[0]):
        ignored["request"].append(thanks[0].strip(" ,.!?"))
        text = text[: thanks.start()]
    return text
