"""The dialects that prompts are typed in, and how what is no content is taken away.

Those of Midjourney (its command, images by address, flags, parts with weights), of web interfaces
to Stable Diffusion (weights, networks, tags, settings), and markdown. Few prompts need them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pqpp_backbones.prompt.word_lists import read_lines
from pqpp_files.errors import FileError
from pqpp_files.foreign.json_values import parse_json

Taken = dict[str, list[str]]
"""What was taken away of a prompt, by kind, and as ``unwanted`` what it does not want."""

_DASHES = r"(?:^|(?<=[\s,]))(?:--|[—–])"
_FLAGS = (
    rf"(?:{names})(?![a-z])\s*(?:{value})?"
    for names, value in (line.split("\t") for line in read_lines(__file__, "flags.txt"))
)
_FLAG = re.compile(rf"{_DASHES}(?:{'|'.join(_FLAGS)})", re.IGNORECASE)
_WITHOUT = re.compile(
    rf"{_DASHES}(?:no|negative[_-]prompt)\s+(.+?)(?=\s+(?:--|[—–])\w|$)", re.IGNORECASE | re.DOTALL
)
_COMMAND = re.compile(
    r"\s*(?:/imagine(?:\s+prompt)?\s*:?|(?:prompt|positive(?:\s+prompt)?)\s*:|--prompt\s)\s*", re.I
)
_SENDER = re.compile(r"\s+-\s+<?@\S.*$")
_ADDRESS = re.compile(r"[<(]?(?:https?://|www\.[\w.-]+/)[^\s>)]*[>)]?", re.IGNORECASE)
_PART = re.compile(r"::\s*(-?\d*\.?\d+)?(?=\s|$|,)")

_SETTINGS = re.compile(
    r"(?:(?:^|\s)Steps:\s*\d+\s*,|\n\s*(?:Steps|Sampler|CFG scale|Seed|Parameters):).*$",
    re.IGNORECASE | re.DOTALL,
)
_NEGATIVE = re.compile(
    r"(?:(?:^|\s)Negative prompt|\n\s*Negative):(.*)$", re.IGNORECASE | re.DOTALL
)
_NETWORK = re.compile(
    r"<(?:lora|lyco|lycoris|hypernet|ti|embedding)\s*:[^<>]{1,200}>|\bembedding:[\w.-]+", re.I
)
_WILDCARD = re.compile(r"__[\w/*-]+?__")
_TAG = re.compile(r"(?<![\w_])(\d+)\+?(girls?|boys?)(?!\w)", re.IGNORECASE)
_UNDERSCORES = re.compile(r"(?<![\w_])[a-z]{2,}(?:_[a-z]+)+(?![\w_])")
_SCORE = re.compile(r"(?<!\w)(?:score_\d(?:_up)?|rating_\w+|source_\w+)(?!\w)\s*,?")
_ESCAPED = {r"\(": "\ue000", r"\)": "\ue001", r"\[": "\ue002", r"\]": "\ue003"}
_WEIGHTED = re.compile(r"\(([^()]*[^\W\d_][^()]*?)\s*:\s*-?\d*\.?\d+\s*\)")
_OPEN_WEIGHTED = re.compile(r"\(([^()]*[^\W\d_][^()]*?):\s*\d*\.\d+\s*$")
_SIGNED = re.compile(r"\(([^()]*)\)(?:[+-]+|\d\.\d+)(?=[\s,.]|$)")
_PLUSSES = re.compile(r"(?<=\w\w)\+{2,}(?=[\s,.]|$)")
_DOUBLED = re.compile(r"\(\(([^()]*)\)\)")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_JOINED = re.compile(r"\s*(?::\s*\d*\.?\d+)?\s+(?:AND|BREAK)\s+|^BREAK\s+|\s+BREAK$")
_LAST_WEIGHT = re.compile(r"\s:\d*\.?\d+\s*$")
_ROUND = re.compile(r"[()]")
_MOST_NESTED = 40

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)\s]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\((?:https?://|/|#)[^)\s]*\)")
_STRUCK = re.compile(r"~~[^~]+~~")
_LINE = re.compile(r"^[ \t]*(?:#{1,6}|[-*+•]|>|\d{1,2}[.)])[ \t]+(?=\S)", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,3})(?=\S)([^*_\n]+?)(?<=\S)\1(?!\w)")
_CODE = re.compile(r"`([^`\n]+)`")


def take_settings(text: str, taken: Taken) -> str:
    """Take away what a web interface writes below a prompt: a negative prompt and settings."""
    for kind, pattern in (("settings", _SETTINGS), ("unwanted", _NEGATIVE)):
        match = pattern.search(text)
        if match and text[: match.start()].strip():
            taken[kind] += _parts_of(match[1]) if kind == "unwanted" else [match[0].strip()]
            text = text[: match.start()]
    return text


def _parts_of(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def take_command(text: str, taken: Taken) -> str:
    """Take away what calls the program, ``/imagine prompt:``, and who sent it, ``- @someone``."""
    match = _COMMAND.match(text)
    if match and match.end() < len(text):
        taken["command"].append(match[0].strip())
        text = text[match.end() :]
    return taking(_SENDER, text, taken["command"])


def take_request_body(text: str, taken: Taken) -> str:
    """Take the prompts out of the JSON that is sent to a service."""
    if not text.lstrip().startswith('{"'):
        return text
    try:
        body = parse_json(text)
    except FileError:
        return text
    if not isinstance(prompt := body.get("prompt"), str):
        return text
    taken["command"].append(text.strip())
    taken["unwanted"] += _parts_of(str(body.get("negative_prompt") or ""))
    return prompt


def take_flags(text: str, taken: Taken) -> str:
    """Take away flags with their values; what follows ``--no`` goes to what is not wanted."""
    taken["unwanted"] += [part for match in _WITHOUT.finditer(text) for part in _parts_of(match[1])]
    for pattern in (_WITHOUT, _FLAG):
        text = taking(pattern, text, taken["flag"], " ")
    return text


def take_networks(text: str, taken: Taken) -> str:
    """Take away names of extra networks and wildcards, and what ranks a picture by tags."""
    text = taking(_NETWORK, text, taken["extra network"], " ")
    text = taking(_WILDCARD, text, taken["wildcard"], " ")
    return taking(_SCORE, text, taken["quality"], " ")


def take_markdown(text: str, taken: Taken) -> str:
    """Take away marks of markdown; the words that they mark stay, pictures and struck words go."""
    plain = _STRUCK.sub(" ", _LINK.sub(r"\1", _IMAGE.sub(" ", text)))
    plain = _LINE.sub("", plain)
    plain = _CODE.sub(r"\1", _EMPHASIS.sub(r"\2", plain))
    if plain == text or not plain.strip():
        return text
    taken["markdown"].append(text.strip())
    return plain


def take_addresses(text: str, taken: Taken) -> str:
    """Take away addresses of images and pages."""
    taken["url"] += [address.strip("<>()") for address in _ADDRESS.findall(text)]
    return _ADDRESS.sub(" ", text)


def take_parts(text: str, taken: Taken) -> str:
    """Join parts with weights, ``hot dog::2 stand``; a part of negative weight is not wanted."""
    pieces = _PART.split(text)
    if len(pieces) == 1:
        return text
    wanted: list[str] = []
    for part, weight in zip(pieces[::2], [*pieces[1::2], None], strict=True):
        if part.strip(" ,"):
            is_wanted = not weight or float(weight) >= 0
            (wanted if is_wanted else taken["unwanted"]).append(part.strip(" ,"))
    taken["weight"].append("::")
    return ", ".join(wanted)


def take_weights(text: str, taken: Taken) -> str:
    """Take away marks of weight and schedules; of alternatives the first stays.

    Single round brackets are an aside in prose: they stay, unless another mark is there. What is
    told is each mark with the word that it is at, of more words ``(…:1.3)``.
    """
    marks: list[str] = []
    plain = text
    for mark, stand_in in _ESCAPED.items():
        plain = plain.replace(mark, stand_in)
    # Where all is in capitals, AND is a word.
    if 2 * sum(map(str.islower, plain)) > sum(map(str.isalpha, plain)):
        plain = taking(_JOINED, plain, marks, ", ")
    plain = taking(_LAST_WEIGHT, plain, marks) if plain != text else plain
    plain = _inside_out((_BRACKETS,), plain, marks, _scheduled)
    plain = _inside_out((_BRACES,), plain, marks, lambda match: re.split(r"[|,]", match[1])[0])
    plain = _inside_out((_WEIGHTED, _SIGNED, _DOUBLED), plain, marks, r"\1")
    plain = taking(_OPEN_WEIGHTED, plain, marks, r"\1")
    plain = taking(_PLUSSES, plain, marks)
    if plain != text or abs(plain.count("(") - plain.count(")")) > 1:
        plain = taking(_ROUND, plain, marks)
    if plain == text:
        return text
    for mark, stand_in in _ESCAPED.items():
        plain = plain.replace(stand_in, mark[1])
        marks = [marked.replace(stand_in, mark) for marked in marks]
    taken["weight"] += marks or [mark for mark in _ESCAPED if mark in text]
    return plain


def _scheduled(match: re.Match[str]) -> str:
    """Return what a schedule begins with: ``cat`` of ``[cat:dog:0.5]`` and of ``[cat|dog]``."""
    first = match[1].split("|")[0]
    schedule = re.fullmatch(r"(.*?):(?:.*:)?\s*\d*\.?\d+\s*", first)
    return schedule[1] if schedule else first


def read_tags(text: str, taken: Taken) -> str:
    """Write tags as words: ``2girls, long_hair`` as ``2 girls, long hair``."""
    text = taking(_TAG, text, taken["tag"], r"\1 \2")
    return taking(_UNDERSCORES, text, taken["tag"], lambda match: match[0].replace("_", " "))


Instead = str | Callable[[re.Match[str]], str]


def taking(pattern: re.Pattern[str], text: str, marks: list[str], instead: Instead = "") -> str:
    """Put something in the place of each match; what was there is told, of many words ``…``."""

    def take(match: re.Match[str]) -> str:
        stays = match.expand(instead) if isinstance(instead, str) else instead(match)
        shown = match[0].replace(stays, "…") if " " in stays.strip() else match[0]
        marks.append(shown.strip())
        return stays

    return pattern.sub(take, text)


def _inside_out(
    patterns: tuple[re.Pattern[str], ...], text: str, marks: list[str], instead: Instead
) -> str:
    for _ in range(_MOST_NESTED):
        before = text
        for pattern in patterns:
            text = taking(pattern, text, marks, instead)
        if text == before:
            break
    return text


FRAME = (take_request_body, take_settings, take_command, take_flags)
"""What takes away what stands around a whole prompt, in order."""
SYNTAX = (
    take_networks, take_markdown, take_addresses, take_parts, take_weights, read_tags,
)  # fmt: skip
"""What takes away marks inside a prompt; the words that they mark stay."""
