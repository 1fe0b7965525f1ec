"""What a prompt shows, apart from how it is typed: content, and facts about the rest.

People type prompts in the dialects of their programs: weights and networks of web interfaces,
flags of Midjourney, markdown, requests, tails of quality. None of it stands in the captions and
prompts that predictors learn from, so a network reads the content alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from pqpp_backbones.prompt import tails
from pqpp_backbones.prompt.numbers import numbers_in
from pqpp_backbones.prompt.quoted import QUOTED, quoted_texts, without_wrapping
from pqpp_datasets.prompt_text import ENDING

IGNORED = (
    "command", "request", "settings", "flag", "url", "extra network", "wildcard", "weight", "tag",
    "markdown", "quotes", "quality", "style", "repetition",
)  # fmt: skip
"""What a reader takes away, by kind."""

_SIGN = re.compile(
    r"[\"'`“„«‘”»「『《*_#>\[\](){}<|~+\\]|--|[—–]|::|://|www\.|/imagine|:|\n|\b(?:AND|BREAK)\b"
    r"|^\s*(?:[-•]|\d{1,2}[.)])\s"
)
_REPEATED = re.compile(r"(?<![\w'-])([^\W\d_]+)(?:[\s,]+\1(?![\w'-])){2,}", re.IGNORECASE)
_STAND_IN = "\ue010{}\ue011"
_STOOD_IN = re.compile("\ue010(\\d+)\ue011")
_BLANKS = re.compile(r"\s+")
_LOOSE = re.compile(r"\s+([,.;])|([,;])(?:\s*[,;])+")
_MOST_CHARACTERS = 20_000

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


@dataclass(frozen=True)
class PromptReading:
    """What was read in a prompt.

    Attributes:
        prompt: as it was typed.
        content: what the picture shall show, in the words of the prompt. Where nothing but syntax
            is there, the prompt itself.
        ignored: what was taken away, pairs of a kind of `IGNORED` and the text, in that order.
        unwanted: what the picture shall not show by a negative prompt, ``--no``, a negative weight,
            or a tail like "no watermark". Negation in the content, "a street with no cars", is not
            here.
    """

    prompt: str
    content: str
    ignored: tuple[tuple[str, str], ...] = ()
    unwanted: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """What was taken away, in words; an empty text where nothing was.

        >>> read_prompt("a cat, 4k --ar 16:9 --no dogs").told
        'flag: --no dogs, --ar 16:9; quality: 4k; unwanted: dogs'
        """
        parts: dict[str, list[str]] = defaultdict(list)
        for kind, text in (*self.ignored, *(("unwanted", text) for text in self.unwanted)):
            parts[kind].append(" ".join(text.split()))
        return "; ".join(f"{kind}: {', '.join(texts)}" for kind, texts in parts.items())

    @cached_property
    def quoted(self) -> tuple[str, ...]:
        """The texts in quotation marks: what shall be written on the picture."""
        return quoted_texts(self.content)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of things, in order; those inside quotation marks are text."""
        return numbers_in(QUOTED.sub(" ", self.content))


def read_prompt(prompt: str) -> PromptReading:
    """Return a prompt's content, and what was taken away.

    Args:
        prompt: as typed. Of more than 20,000 characters the first ones are read.

    >>> reading = read_prompt("(masterpiece:1.3), three cats on a mat, 4k --ar 16:9 --no dogs")
    >>> reading.content, reading.numbers, reading.unwanted
    ('three cats on a mat', (3,), ('dogs',))
    >>> [kind for kind, _ in reading.ignored]
    ['flag', 'flag', 'weight', 'quality', 'quality']
    """
    text = unicodedata.normalize("NFKC", prompt[:_MOST_CHARACTERS]).rstrip(ENDING)
    ignored: dict[str, list[str]] = defaultdict(list)
    unwanted: list[str] = []
    if _SIGN.search(text):
        text = _without_frame(text, ignored, unwanted)
        text, quotations = _stand_ins(text)
        text = _without_syntax(text, ignored, unwanted)
    else:
        quotations = []
    text = _take_request(text, ignored)
    text = tails.take_tails(text, ignored, unwanted)
    text = _without_repetition(text, ignored)

    def as_typed(piece: str) -> str:
        return _STOOD_IN.sub(lambda match: quotations[int(match[1])], piece)

    text = as_typed(text)
    if not (any(ignored.values()) or unwanted):
        return PromptReading(prompt, prompt.strip() and prompt)
    content = _LOOSE.sub(r"\1\2", _BLANKS.sub(" ", text)).strip(" ,;|")
    if not any(letter.isalnum() for letter in content):
        return PromptReading(prompt, prompt)
    pairs = tuple((kind, as_typed(piece)) for kind in IGNORED for piece in ignored[kind])
    return PromptReading(prompt, content, pairs, tuple(map(as_typed, unwanted)))


def _without_frame(text: str, ignored: dict[str, list[str]], unwanted: list[str]) -> str:
    """Take away what stands around a whole prompt."""
    from pqpp_backbones.prompt import midjourney, web_ui  # whose patterns few prompts need

    text = web_ui.take_settings(text, ignored, unwanted)
    text = midjourney.take_command(text, ignored)
    text = midjourney.take_flags(text, ignored, unwanted)
    bare = without_wrapping(text)
    if bare != text.strip():
        ignored["quotes"].append(text.strip())
    return bare


def _without_syntax(text: str, ignored: dict[str, list[str]], unwanted: list[str]) -> str:
    """Take away marks inside a prompt; the words that they mark stay."""
    from pqpp_backbones.prompt import midjourney, web_ui

    text = web_ui.take_networks(text, ignored)
    text = _take_markdown(text, ignored)
    text = midjourney.take_addresses(text, ignored)
    text = midjourney.take_parts(text, ignored, unwanted)
    text = web_ui.take_weights(text, ignored)
    return web_ui.read_tags(text, ignored)


def _stand_ins(text: str) -> tuple[str, list[str]]:
    """Put a stand-in for each quotation, whose text is drawn as it is."""
    quotations: list[str] = []

    def take(match: re.Match[str]) -> str:
        quotations.append(match[0])
        return _STAND_IN.format(len(quotations) - 1)

    return QUOTED.sub(take, text), quotations


def _without_repetition(text: str, ignored: dict[str, list[str]]) -> str:
    """Let a word that stands three times in a row stand once."""
    words = text.casefold().replace(",", " ").split()
    rows = zip(words, words[1:], words[2:], strict=False)
    if not any(before.endswith(word) and after.startswith(word) for before, word, after in rows):
        return text

    def take(match: re.Match[str]) -> str:
        ignored["repetition"].append(match[0])
        return match[1]

    return _REPEATED.sub(take, text)


def _take_markdown(text: str, ignored: dict[str, list[str]]) -> str:
    """Take away marks of markdown; the words that they mark stay, pictures and struck words go."""
    plain = _STRUCK.sub(" ", _LINK.sub(r"\1", _IMAGE.sub(" ", text)))
    plain = _LINE.sub("", plain)
    plain = _CODE.sub(r"\1", _EMPHASIS.sub(r"\2", plain))
    if plain == text or not plain.strip():
        return text
    ignored["markdown"].append(text.strip())
    return plain


def _take_request(text: str, ignored: dict[str, list[str]]) -> str:
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
