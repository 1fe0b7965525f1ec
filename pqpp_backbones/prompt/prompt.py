"""Prompts, their content, and their ignored parts.

People type prompts in the syntax of their programs: weights and network tags of web interfaces,
flags of Midjourney, Markdown, requests, quality tags. The captions and prompts on which predictors
are trained contain none of these, so networks read only the content.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from typing import TYPE_CHECKING

from pqpp_backbones.prompt.quoted import QUOTED, find_texts_to_draw, strip_outer_quotes
from pqpp_backbones.prompt.word_lists import read_lines, read_word_lists, to_word_regex
from pqpp_datasets.prompt_text import ENDING, normalise

if TYPE_CHECKING:
    from pqpp_backbones.prompt.dialects import Removed

IGNORED_KINDS = (
    "command", "request", "settings", "flag", "url", "extra network", "weight", "tag",
    "markdown", "quotes", "emoji", "quality", "style", "repetition",
)  # fmt: skip
"""The kinds of ignored parts, in order."""

_SIGNS = frozenset("\"'`“„«‘”»「『《*_#>[](){}<|~+\\—–:\n")
_SIGN = re.compile(
    r"--|www\.|/imagine|\d(?i:girl|boy)|\b(?:AND|BREAK)\b|^\s*(?:[-•]|\d{1,2}[.)])\s"
)
_EMOJI = re.compile("(?:[\U0001f000-\U0001faff\u2600-\u27bf][\ufe0f\u200d]*)+")
_REPEATED = re.compile(r"(?<![\w'-])([^\W\d_]++)(?:[\s,]+\1(?![\w'-])){2,}", re.IGNORECASE)
_PLACEHOLDER = "\ue010{}\ue011"
_PLACEHOLDER_REGEX = re.compile("\ue010(\\d+)\ue011")
_GAP = re.compile(r"\s{8,}")
_STRAY_PUNCTUATION = re.compile(r"\s+([,.;])|([,;])(?:\s*[,;])+")
_MAX_CHARACTERS = 20_000

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

# Quality tags do not describe what an image shows. In AGIQA-3K, where adjectives were
# added to prompts by design, words about light and detail change the mean alignment by less than
# its standard error (2.49 to 2.53, and 2.53 without them). Views change it more (2.24 to 2.39), so
# they stay in the content.
_TAILS = read_word_lists(__file__, "tails.txt")
_QUALITY_WORDS = _TAILS["quality"] | _TAILS["modifiers"]
_LENS = re.compile(
    r"(?:(?:shot|taken|captured)\s+(?:on|with)\s+)?(?:an?\s+)?"
    rf"(?:(?:{to_word_regex(_TAILS['camera'])})"
    r"(?:\s+[\w-]+){0,4}|\d{2,3}\s?mm(?:\s+(?:lens|film|photograph|photo))?|f\s?/?\s?\d+(?:\.\d+)?"
    r"|iso\s?\d+|1/\d+s?)",
    re.IGNORECASE,
)
_BAD_PARTS = re.compile(
    r"(?:bad|extra|missing|deformed|mutated)\s+(?:anatomy|hands?|fingers|limbs|arms|legs)", re.I
)
_ENDINGS = to_word_regex(read_lines(__file__, "endings.txt"))
_ENDING = re.compile(rf"(?:\s+(?:{_ENDINGS}|unreal\s+engine\s+\d))+\s*$", re.IGNORECASE)
_UNWANTED = re.compile(
    rf"(?:no|without(?:\s+any)?)\s+((?:{to_word_regex(_TAILS['unwanted'])}|low\s+quality"
    r"|(?:distorted|deformed|extra|bad)\s+\w+)(?:\s+or\s+\w+)?)",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"(\s*[,;|]+\s*|(?<!\b[A-Z])[.!]+\s+|[.!]+$)")
_MIN_TAGS, _MAX_TAG_WORDS = 4, 3


# In AGIQA-3K, where styles were added to prompts by design, the mean alignment with a style is 2.43
# to 2.62, and 2.50 without one (standard error .06), so styles are ignored.
_TECHNIQUES, _STYLES, _ARTISTS = (
    read_lines(__file__, name) for name in ("techniques.txt", "styles.txt", "artists.txt")
)
_STYLE_ENDINGS = frozenset(name.split()[-1] for name in (*_TECHNIQUES, *_ARTISTS))
_NO_NAME = rf"(?!(?:{to_word_regex(_TAILS['not_names'])})\b)"
_NO_PLACE = r"(?!(?:Lake|Loch|Mount|River|Big|Central|Golden|The|An?|My|Her|His)\b)"
_CAPITAL = r"[A-ZÀ-Þ][\w'’-]*\.?"
_MADE_BY = rf"(?:(?:digital|concept)\s+)?(?:{to_word_regex(_TAILS['works'])})\s+by"
_NO_PARTICIPLE = r"(?<!\s)(?<!(?i:ed))(?<!(?i:en))(?<!(?i:ing))(?<!(?i:sit))(?<!(?i:hit))"
_ARTICLES = ("a", "an", "the", "of", "on", "in", "with", "as", "this")
_NO_ARTICLE = r"(?<!\s)" + "".join(rf"(?<!\b(?i:{word}))" for word in _ARTICLES)
_STYLE_OF = r"(?:(?:an?|the)\s+)?(?:[\w-]+\s+)?style\s+of\s+(?:(?!\s(?:of|with|holding)\s).)+"
_FROM = r"(?:from|in)\s+the\s+(?:early\s+|mid\s+|late\s+)?(?:1\d|20)?\d0['’]?s"
_IN_STYLE = r"in\s+(?:(?:an?|the)\s+)?(?:[\w-]+\s+){1,3}style"
_MIN_WORDS = 2
"""The minimum number of words before a style without a comma."""
_MAX_STYLES, _MAX_STYLE_LENGTH = 4, 400
"""The maximum number of styles at the end of a part, and of their characters."""


@dataclass(frozen=True)
class Prompt:
    """A prompt, its content and its ignored parts.

    Attributes:
        text: The prompt as typed.
        content: What the image should show, in the words of the prompt; the whole prompt if nothing
            else remains, but empty if it has only settings or names only what is unwanted.
        ignored: The ignored parts as (kind, text), in the order of `IGNORED_KINDS`.
        unwanted: What the image should not show, from a negative prompt, ``--no``, a negative
            weight, or a tag like "no watermark"; negation in the content, like "a street with no
            cars", is not included.
    """

    text: str
    content: str
    ignored: tuple[tuple[str, str], ...] = ()
    unwanted: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Prompt:
        """Split a prompt into its content and its ignored parts.

        Args:
            text: The prompt as typed; only the first 20,000 characters are read.

        >>> prompt = Prompt.read("(masterpiece:1.3), three cats on a mat, 4k --ar 16:9 --no dogs")
        >>> prompt.content, prompt.unwanted
        ('three cats on a mat', ('dogs',))
        >>> [kind for kind, _ in prompt.ignored]
        ['flag', 'flag', 'weight', 'quality', 'quality']
        """
        rest = unicodedata.normalize("NFKC", text[:_MAX_CHARACTERS]).rstrip(ENDING)
        removed: Removed = defaultdict(list)
        rest = _GAP.sub(lambda match: "\n\n" if "\n" in match[0] else " ", rest)
        quotations: list[str] = []
        if not _SIGNS.isdisjoint(rest) or _SIGN.search(rest):
            rest = _remove_syntax(rest, removed, quotations)
        if not rest.isascii():
            removed["emoji"] += _EMOJI.findall(rest)  # quotations are masked; their emoji are drawn
            rest = _EMOJI.sub(" ", rest)
        rest = _cut_tails(_cut_request(rest, removed), removed)
        if _REPEATED.search(rest):  # one word three times in a row becomes one
            from pqpp_backbones.prompt.dialects import substitute

            rest = substitute(_REPEATED, rest, removed["repetition"], r"\1")

        def unmask(piece: str) -> str:
            return _PLACEHOLDER_REGEX.sub(lambda match: quotations[int(match[1])], piece)

        rest = unmask(rest)
        if not any(removed.values()):
            return cls(text, text.strip() and text)
        content = _STRAY_PUNCTUATION.sub(r"\1\2", " ".join(rest.split())).strip(" ,;|")
        if not any(letter.isalnum() for letter in content):
            if not (removed["unwanted"] or removed["settings"]):
                return cls(text, text)
            content = ""
        pairs = tuple((kind, unmask(piece)) for kind in IGNORED_KINDS for piece in removed[kind])
        return cls(text, content, pairs, tuple(map(unmask, removed["unwanted"])))

    def __str__(self) -> str:
        return self.text

    @property
    def ignored_text(self) -> str:
        """A description of the ignored parts; empty if there are none.

        >>> Prompt.read("a cat, 4k --ar 16:9 --no dogs").ignored_text
        'flag: --no dogs, --ar 16:9; quality: 4k; unwanted: dogs'
        """
        parts: dict[str, list[str]] = defaultdict(list)
        for kind, text in (*self.ignored, *(("unwanted", text) for text in self.unwanted)):
            parts[kind].append(" ".join(text.split()))
        return "; ".join(f"{kind}: {', '.join(texts)}" for kind, texts in parts.items())

    @cached_property
    def normalised(self) -> str:
        """The content in lower case, without punctuation at the end."""
        return normalise(self.content)

    @cached_property
    def is_tag_list(self) -> bool:
        """Whether the content is a list of tags, like ``1girl, solo, long hair``, and not prose.

        >>> [Prompt.read(text).is_tag_list for text in ("castle, fog, ravens, moon", "a, b and c")]
        [True, False]
        """
        parts = [part.lower().split() for part in self.content.split(",") if part.strip()]
        plain = sum(
            _TAILS["prose"].isdisjoint(part) and len(part) <= _MAX_TAG_WORDS for part in parts
        )
        has_tags = any(kind == "tag" for kind, _ in self.ignored)
        return len(parts) >= _MIN_TAGS and plain >= len(parts) - has_tags

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts to draw: quoted, or introduced by words such as "that says".

        >>> Prompt.read("a sign that says Deep Learning on a wall").texts
        ('Deep Learning',)
        """
        return tuple(text for text, _, _ in find_texts_to_draw(self.content))


def _remove_syntax(text: str, removed: Removed, quotations: list[str]) -> str:
    """Remove syntax, and replace quotations with placeholders."""
    from pqpp_backbones.prompt.dialects import FRAME, SYNTAX  # few prompts need these patterns

    for remove in FRAME:
        text = remove(text, removed)
    bare = strip_outer_quotes(text)
    if bare != text.strip():
        removed["quotes"].append(text.strip())
    quotations += [match[0] for match in QUOTED.finditer(bare)]
    numbers = count()
    text = QUOTED.sub(lambda _: _PLACEHOLDER.format(next(numbers)), bare)
    for remove in SYNTAX:
        text = remove(text, removed)
    return text


def _cut_request(text: str, removed: Removed) -> str:
    """Remove a request such as ``Please draw me``; "An image of" without a request stays."""
    match = _REQUEST.match(text.lstrip())
    if match:
        removed["request"].append(match[0].strip())
        text = text.lstrip()[match.end() :]
    polite = text.lower()
    thanks = _THANKS.search(text) if "please" in polite or "thank" in polite else None
    if thanks and (match or "thank" in thanks[0].lower() or "," in thanks[0]):
        removed["request"].append(thanks[0].strip(" ,.!?"))
        text = text[: thanks.start()]
    return text


def _cut_tails(text: str, removed: Removed) -> str:
    """Remove parts about quality, style, or what not to show, unless nothing else is left."""
    pieces = _SEPARATOR.split(text)
    endings: Removed = defaultdict(list)
    content: list[str] = []
    for index in range(0, len(pieces), 2):
        part, style = _split_style(_remove_ending(pieces[index], endings), bool(content))
        if style:
            endings["style"].append(style.strip())
        bare = part.strip(" ()")
        if match := _UNWANTED.fullmatch(bare):
            endings["unwanted"].append(match[1])
        elif _is_quality(bare):
            endings["quality"].append(part.strip())
        elif part.strip():
            content += [pieces[index - 1], part] if content else ["", part]
    if not endings or not content:
        return text
    for kind, parts in endings.items():
        removed[kind] += parts
    return "".join(content)


def _is_quality(part: str) -> bool:
    """Return whether a comma-separated part is about image quality or the camera."""
    words = [word.strip(".:,()[]") for word in part.lower().split()]
    is_quality = _QUALITY_WORDS.issuperset(words) and not _TAILS["quality"].isdisjoint(words)
    return is_quality or bool(_LENS.fullmatch(part) or _BAD_PARTS.fullmatch(part))


def _remove_ending(part: str, endings: Removed) -> str:
    """Remove a quality tag without a comma from the end of a part: "a train 8k"."""
    words = part.lower().split()
    # The last word is checked first, since the pattern is slow.
    if not words or not (words[-1] in _TAILS["last"] or "engine" in words):
        return part
    match = _ENDING.search(part)
    if match and part[: match.start()].strip():
        endings["quality"].append(match[0].strip())
        part = part[: match.start()]
    return part


@cache
def _build_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for a style at the end of a part, and for a part that is only a style."""
    artist = rf"(?:(?i:{to_word_regex(_ARTISTS)})|{_NO_PLACE}{_CAPITAL}(?:\s+{_CAPITAL}){{0,3}})"
    artists = rf"{artist}(?:\s*(?:&|and)\s*{artist})*"
    compounds = to_word_regex(name for name in _TECHNIQUES if " " in name or "-" in name)
    ending = re.compile(
        rf"(?s)(?:\s+{_MADE_BY}|{_NO_PARTICIPLE}\s+by)\s+{artists}$|\s+(?i:in\s+{_STYLE_OF}|{_IN_STYLE}|{_FROM})$"
        rf"|{_NO_PARTICIPLE}\s+(?i:by\s+(?:{to_word_regex(_ARTISTS)}))$"
        rf"|{_NO_ARTICLE}\s+(?i:(?:{to_word_regex([*_STYLES, *_TECHNIQUES])})\s+style|{compounds})$"
    )
    full_names = to_word_regex(name for name in _ARTISTS if " " in name)
    part = re.compile(
        rf"(?s)(?:(?i:(?:an?\s+)?(?:{to_word_regex(_TECHNIQUES)}))\s+)?by\s+{artists}|(?i:(?:{_MADE_BY}|inspired\s+by)\s+.+|{full_names}"
        rf"|by\s+{_NO_NAME}(?:[^\W\d_.'’-]+\.?\s+){{1,3}}[^\W\d_'’-]+"
        rf"(?:\s+and\s+(?:[^\W\d_.'’-]+\.?\s*){{2,4}})?"
        rf"|(?:in\s+)?(?:{_STYLE_OF}|(?:[\w-]+\s+){{1,3}}style)|(?:an?\s+)?(?:{to_word_regex(_TECHNIQUES)}))"
    )
    return ending, part


def _split_style(part: str, is_later: bool) -> tuple[str, str]:
    """Split a comma-separated part into content and style; the first part must have content.

    >>> _split_style("a fox in the style of Monet", False)
    ('a fox', ' in the style of Monet')
    >>> _split_style(" oil painting", True), _split_style("a house by Lake Como", False)
    (('', ' oil painting'), ('a house by Lake Como', ''))
    """
    style = ""
    for _ in range(_MAX_STYLES):
        tail = part[-_MAX_STYLE_LENGTH:].lower().strip(" ()")
        last = tail.rsplit(None, 1)[-1:]
        is_dated = tail.endswith(("0s", "0's", "0’s"))
        if not (is_dated or "by" in tail or "style" in tail or _STYLE_ENDINGS.intersection(last)):
            break
        ending, only_style = _build_patterns()
        if is_later and len(part) <= _MAX_STYLE_LENGTH and only_style.fullmatch(part.strip(" ()")):
            return "", part + style
        part = part.strip()
        match = ending.search(part, max(0, len(part) - _MAX_STYLE_LENGTH))
        if match is None or len(part[: match.start()].split()) < _MIN_WORDS:
            break
        part, style = part[: match.start()], part[match.start() :] + style
    return part, style
