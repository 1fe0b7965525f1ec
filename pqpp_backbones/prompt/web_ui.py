"""The syntax of web interfaces to Stable Diffusion: weights, networks, tags, settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_SETTINGS = re.compile(r"(?:^|\s)Steps:\s*\d+\s*,.*$", re.IGNORECASE | re.DOTALL)
_NEGATIVE = re.compile(r"(?:^|\s)Negative prompt:(.*)$", re.IGNORECASE | re.DOTALL)
_NETWORK = re.compile(
    r"<(?:lora|lyco|lycoris|hypernet|ti|embedding)\s*:[^<>]{1,200}>|\bembedding:[\w.-]+", re.I
)
_WILDCARD = re.compile(r"__[\w/*-]+?__")
_TAG = re.compile(r"(?<![\w_])(\d+)\+?(girls?|boys?)(?!\w)")
_UNDERSCORES = re.compile(r"(?<![\w_])[a-z]{2,}(?:_[a-z]+)+(?![\w_])", re.IGNORECASE)
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


def take_settings(text: str, ignored: dict[str, list[str]], unwanted: list[str]) -> str:
    """Take away what a web interface writes below a prompt: a negative prompt and settings."""
    match = _SETTINGS.search(text)
    if match and text[: match.start()].strip():
        ignored["settings"].append(match[0].strip())
        text = text[: match.start()]
    match = _NEGATIVE.search(text)
    if match and text[: match.start()].strip():
        unwanted.extend(part.strip() for part in match[1].split(",") if part.strip())
        text = text[: match.start()]
    return text


def take_networks(text: str, ignored: dict[str, list[str]]) -> str:
    """Take away names of extra networks and wildcards, and what ranks a picture by tags."""
    for kind, pattern in (
        ("extra network", _NETWORK),
        ("wildcard", _WILDCARD),
        ("quality", _SCORE),
    ):
        ignored[kind] += [match[0].strip() for match in pattern.finditer(text)]
        text = pattern.sub(" ", text)
    return text


def read_tags(text: str, ignored: dict[str, list[str]]) -> str:
    """Write tags as words: ``2girls, long_hair`` as ``2 girls, long hair``."""
    text = _taking(_TAG, text, lambda match: f"{match[1]} {match[2]}", ignored["tag"])
    return _taking(_UNDERSCORES, text, lambda match: match[0].replace("_", " "), ignored["tag"])


def take_weights(text: str, ignored: dict[str, list[str]]) -> str:
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
        plain = _taking(_JOINED, plain, lambda _: ", ", marks)
    plain = _taking(_LAST_WEIGHT, plain, lambda _: "", marks) if plain != text else plain
    plain = _inside_out((_BRACKETS,), plain, _scheduled, marks)
    plain = _inside_out((_BRACES,), plain, lambda match: re.split(r"[|,]", match[1])[0], marks)
    plain = _inside_out((_WEIGHTED, _SIGNED, _DOUBLED), plain, lambda match: match[1], marks)
    plain = _taking(_OPEN_WEIGHTED, plain, lambda match: match[1], marks)
    plain = _taking(_PLUSSES, plain, lambda _: "", marks)
    if plain != text or abs(plain.count("(") - plain.count(")")) > 1:
        plain = _taking(_ROUND, plain, lambda _: "", marks)
    if plain == text:
        return text
    for mark, stand_in in _ESCAPED.items():
        plain = plain.replace(stand_in, mark[1])
        marks = [marked.replace(stand_in, mark) for marked in marks]
    ignored["weight"] += marks or [mark for mark in _ESCAPED if mark in text]
    return plain


def _taking(
    pattern: re.Pattern[str], text: str, kept: Callable[[re.Match[str]], str], taken: list[str]
) -> str:
    """Let of each match stay what ``kept`` gives; what was there is told, of many words ``…``."""

    def take(match: re.Match[str]) -> str:
        stays = kept(match)
        shown = match[0].replace(stays, "…") if " " in stays.strip() else match[0]
        taken.append(shown.strip())
        return stays

    return pattern.sub(take, text)


def _inside_out(
    patterns: Sequence[re.Pattern[str]],
    text: str,
    kept: Callable[[re.Match[str]], str],
    taken: list[str],
) -> str:
    for _ in range(_MOST_NESTED):
        before = text
        for pattern in patterns:
            text = _taking(pattern, text, kept, taken)
        if text == before:
            break
    return text


def _scheduled(match: re.Match[str]) -> str:
    """Return what a schedule begins with: ``cat`` of ``[cat:dog:0.5]`` and of ``[cat|dog]``."""
    first = match[1].split("|")[0]
    schedule = re.fullmatch(r"(.*?):(?:.*:)?\s*\d*\.?\d+\s*", first)
    return schedule[1] if schedule else first
