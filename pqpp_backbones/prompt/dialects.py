"""Remove the syntax of image generators from prompts.

Syntax is that of Midjourney (command, image addresses, flags, weighted parts), of web interfaces to
Stable Diffusion (weights, network tags, other tags, settings), and of Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pqpp_backbones.prompt.word_lists import read_lines

Removed = dict[str, list[str]]
"""The removed parts of a prompt by kind; ``unwanted`` is what the image should not show."""

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
_PART = re.compile(r"::\s*(-?(?:\d*\.)?\d+)?(?=\s|$|,)")

_SETTINGS = re.compile(
    r"(?:(?:^|\s)Steps:\s*\d+\s*,|\n\s*(?:Steps|Sampler|CFG scale|Seed|Parameters):).*$",
    re.IGNORECASE | re.DOTALL,
)
_NEGATIVE = re.compile(
    r"(?:(?:^|\s)Negative prompt|\n\s*Negative):(.*)$", re.IGNORECASE | re.DOTALL
)
_NETWORK = re.compile(
    r"<(?:lora|lyco|lycoris|hypernet|ti|embedding)\s*:[^<>]{1,200}>"
    r"|\(embedding:[\w.-]+(?::[\d.]+)?\)|\bembedding:[\w.-]+",
    re.I,
)
_TAG = re.compile(r"(?<![\w_])(\d+)\+?(girls?|boys?)(?!\w)", re.IGNORECASE)
_UNDERSCORES = re.compile(r"(?<![\w_])[a-z]{2,}(?:_[a-z]+)+(?![\w_])")
_SCORE = re.compile(r"(?<!\w)(?:score_\d(?:_up)?|rating_\w+|source_\w+)(?!\w)\s*,?")
_ESCAPES = {r"\(": "\ue000", r"\)": "\ue001", r"\[": "\ue002", r"\]": "\ue003"}
_WEIGHTED = re.compile(r"\(((?=[^()]*[^\W\d_])[^()]*?)\s*:\s*-?(?:\d*\.)?\d+\s*\)")
_PLUS_MINUS = re.compile(r"\(([^()]*)\)(?:[+-]+|\d\.\d+)(?=[\s,.]|$)")
_PLUSSES = re.compile(r"(?<=\w\w)\+{2,}(?=[\s,.]|$)")
_DOUBLED = re.compile(r"\(\(([^()]*)\)\)")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_JOINER = re.compile(r"\s*(?::\s*(?:\d*\.)?\d+)?[\s,]+(?:AND|BREAK)[\s,]+|^BREAK\s+|\s+BREAK$")
_LAST_WEIGHT = re.compile(r"\s:(?:\d*\.)?\d+\s*$")
_ROUND = re.compile(r"[()]")
_MAX_NESTING = 40

_LINE = re.compile(r"^[ \t]*(?:#{1,6}|[-*+•]|>|\d{1,2}[.)])[ \t]+(?=\S)", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,3})(?=\S)([^*_\n]+?)(?<=\S)\1(?!\w)")
_CODE = re.compile(r"`([^`\n]+)`")


def cut_settings(text: str, removed: Removed) -> str:
    """Remove the negative prompt and the settings below a prompt of a web interface."""
    for kind, pattern in (("settings", _SETTINGS), ("unwanted", _NEGATIVE)):
        match = pattern.search(text)
        if match:
            removed[kind] += _split(match[1]) if kind == "unwanted" else [match[0].strip()]
            text = text[: match.start()]
    return text


def _split(text: str) -> list[str]:
    """Split text at commas, without empty parts."""
    return [part.strip() for part in text.split(",") if part.strip()]


def cut_command(text: str, removed: Removed) -> str:
    """Remove the command ``/imagine prompt:`` and the sender, as in ``- @someone``."""
    match = _COMMAND.match(text)
    if match and match.end() < len(text):
        removed["command"].append(match[0].strip())
        text = text[match.end() :]
    return substitute(_SENDER, text, removed["command"])


def cut_flags(text: str, removed: Removed) -> str:
    """Remove flags with their values; the words after ``--no`` are removed as unwanted."""
    removed["unwanted"] += [part for match in _WITHOUT.finditer(text) for part in _split(match[1])]
    for pattern in (_WITHOUT, _FLAG):
        text = substitute(pattern, text, removed["flag"], " ")
    return text


def cut_network_tags(text: str, removed: Removed) -> str:
    """Remove tags of LoRA and other networks, and tags like ``score_9``."""
    text = substitute(_NETWORK, text, removed["extra network"], " ")
    return substitute(_SCORE, text, removed["quality"], " ")


def cut_markdown(text: str, removed: Removed) -> str:
    """Remove Markdown marks, but not the marked words."""
    plain = _CODE.sub(r"\1", _EMPHASIS.sub(r"\2", _LINE.sub("", text)))
    if plain == text or not plain.strip():
        return text
    removed["markdown"].append(text.strip())
    return plain


def cut_addresses(text: str, removed: Removed) -> str:
    """Remove URLs of images and pages."""
    removed["url"] += [address.strip("<>()") for address in _ADDRESS.findall(text)]
    return _ADDRESS.sub(" ", text)


def join_weighted_parts(text: str, removed: Removed) -> str:
    """Join parts with weights, as in ``hot dog::2 are``; drop parts with a negative weight."""
    pieces = _PART.split(text)
    if len(pieces) == 1:
        return text
    kept: list[str] = []
    for part, weight in zip(pieces[::2], [*pieces[1::2], None], strict=True):
        if part.strip(" ,"):
            is_kept = not weight or float(weight) >= 0
            (kept if is_kept else removed["unwanted"]).append(part.strip(" ,"))
    removed["weight"].append("::")
    return ", ".join(kept)


def cut_weights(text: str, removed: Removed) -> str:
    """Remove weights and schedules; of several alternatives, the first is kept.

    Round brackets may also enclose an aside, so they are kept unless the prompt has other marks of
    weights.
    """
    marks: list[str] = []
    plain = text
    for mark, stand_in in _ESCAPES.items():
        plain = plain.replace(mark, stand_in)
    # If all text is in capitals, AND is a word.
    if 2 * sum(map(str.islower, plain)) > sum(map(str.isalpha, plain)):
        plain = substitute(_JOINER, plain, marks, ", ")
    plain = substitute(_LAST_WEIGHT, plain, marks) if plain != text else plain
    plain = _cut_nested((_BRACKETS,), plain, marks, _resolve_schedule)
    plain = _cut_nested((_BRACES,), plain, marks, lambda match: re.split(r"[|,]", match[1])[0])
    plain = _cut_nested((_WEIGHTED, _PLUS_MINUS, _DOUBLED), plain, marks, r"\1")
    plain = substitute(_PLUSSES, plain, marks)
    if plain != text or abs(plain.count("(") - plain.count(")")) > 1:
        plain = substitute(_ROUND, plain, marks)
    if plain == text:
        return text
    for mark, stand_in in _ESCAPES.items():
        plain = plain.replace(stand_in, mark[1])
        marks = [marked.replace(stand_in, mark) for marked in marks]
    removed["weight"] += marks or [mark for mark in _ESCAPES if mark in text]
    return plain


def _resolve_schedule(match: re.Match[str]) -> str:
    """Return the first alternative: ``cat`` of ``[cat:dog:0.5]`` and ``[cat|dog]``."""
    first = match[1].split("|")[0]
    schedule = re.fullmatch(r"(.*?):(?:.*:)?\s*\d*\.?\d+\s*", first)
    return schedule[1] if schedule else first


def rewrite_tags(text: str, removed: Removed) -> str:
    """Rewrite tags as words: ``2girls, long_hair`` becomes ``2 girls, long hair``."""
    text = substitute(_TAG, text, removed["tag"], r"\1 \2")
    return substitute(_UNDERSCORES, text, removed["tag"], lambda match: match[0].replace("_", " "))


Replacement = str | Callable[[re.Match[str]], str]


def substitute(pattern: re.Pattern[str], text: str, marks: list[str], new: Replacement = "") -> str:
    """Replace each match, and append it to `marks` with ``…`` in place of the kept words."""

    def record(match: re.Match[str]) -> str:
        replacement = match.expand(new) if isinstance(new, str) else new(match)
        mark = match[0].replace(replacement, "…") if " " in replacement.strip() else match[0]
        marks.append(mark.strip())
        return replacement

    return pattern.sub(record, text)


def _cut_nested(
    patterns: tuple[re.Pattern[str], ...], text: str, marks: list[str], new: Replacement
) -> str:
    for _ in range(_MAX_NESTING):
        previous = text
        for pattern in patterns:
            text = substitute(pattern, text, marks, new)
        if text == previous:
            break
    return text


FRAME = (cut_settings, cut_command, cut_flags)
"""Functions that remove what surrounds a whole prompt, in order."""
SYNTAX = (
    cut_network_tags, cut_markdown, cut_addresses, join_weighted_parts, cut_weights, rewrite_tags,
)  # fmt: skip
"""Functions that remove marks inside a prompt, but not the marked words."""
