"""What a prompt asks of a generator beside its things, and the same prompt without asking it.

A skill is here where people's scores of images support its cost, with other skills held equal, in
the judged studies: `docs/understand/numbers.md` has the table. Colours and rare things are not
here, for they have none, and neither are single words: what leaving one out changes is wrong by 28
of 100 ranks, twice which few of them reach.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import commonprefix

from pqpp_backbones.prompt.conflicts import conflicts_in
from pqpp_backbones.prompt.numbers import UNITS
from pqpp_backbones.prompt.quoted import WantedText, places_of_texts
from pqpp_models.text.reading.asking_less import (
    PLACES,
    counts_in,
    listed,
    with_shorter_lists,
    with_usual_colours,
)
from pqpp_models.text.reading.words import FUNCTION_WORDS

Edit = tuple[int, int, str]
"""Where a part of a prompt begins and ends, and what stands in its place."""

_LONG, _FIRST_PART = 20, range(6, 13)
"""Words of a prompt that is not long, and of the part that it begins with."""
_NAME = re.compile(r"(?<=. )[A-Z][a-z]+ [A-Z]")  # "by Two Steps From Hell"
_TOGETHER = re.compile(r",? ?(?:and )?(?:an?|the|one|two|three|four|five|six) ")
_BEFORE_TEXT = re.compile(
    r"[\s,]*(?:\b(?:that|which)\s+)?(?:\b(?:says?|saying|reads?|reading|spell(?:s|ing)|spelled"
    r"|(?:labell?ed|titled|called|named|captioned|with|and|has|have|having|bearing|displaying|showing)"
    r"(?:\s+(?:the|a))?(?:\s+(?:words?|texts?|letters?|names?|title|captions?|slogan|message"
    r"|inscription|phrase|sign))?(?:\s+(?:that\s+)?(?:says?|saying|reads?|reading|of))?"
    r"|the\s+(?:words?|texts?|letters?|phrase|message))\b)?[\s:,]*$",
    re.I,
)
_AFTER_TEXT = re.compile(
    r"\s*(?:(?:is\s+|are\s+)?(?:written|painted|printed|engraved|carved|spelled|embroidered)"
    r"(?:\s+(?:out|on\s+it|in\s+it|across\s+it|above\s+it))?)?",
    re.I,
)
_AFFIRMED = (
    (re.compile(r"\bwithout(?:\s+an[ys]?\b)?", re.I), "with"),
    (re.compile(r"\b(?:(can)not|(can)['’]t)\b", re.I), "can"),
    (re.compile(r"\b(?:do|does|did)(?:\s+not|n['’]t)\s+", re.I), ""),
    (re.compile(r"\b(is|are|was|were|has|have)n['’]t\b", re.I), r"\1"),
    (re.compile(r"\bno\s+one\b|\bnobody\b", re.I), "people"),
    (re.compile(r"\bnothing\b", re.I), "things"),
    (re.compile(r"\b(?:no(?!\.?\s*\d)|not(?!\s+only)|never|neither)\s+", re.I), ""),
    (re.compile(r"\bnor\b", re.I), "and"),
    (re.compile(r"\b(?:lacking|missing)\b(?=\s+(?:an?|the|its|his|her|any|all)\b)", re.I), "with"),
)
_SIDES = (
    re.compile(r"[\s,]*\bon\s+(?:the|its|his|her)\s+(?:left|right)\b(?!\s+\w*hand)", re.I),
    "",
)
_COMPARED = (
    (re.compile(r"\b(?:more|fewer|less)\s+(\w+s)\s+than\b", re.I), r"\1 near"),
    (
        re.compile(
            r"\b(?:(?:much|far|slightly|even|twice|half)\s+)?"
            r"(?:(?!other|rather|either|neither|whether|later|sooner|earlier)\w{2,}er"
            r"|more\s+\w+|less\s+\w+)\s+than\b",
            re.I,
        ),
        "near",
    ),
    (re.compile(r"\b(?:twice|half|three\s+times)\s+(?:as|the)\s+\w+\s+(?:as|of)\b", re.I), "near"),
)


@dataclass(frozen=True)
class PromptSkill:
    """Something that a prompt asks for, as it was read.

    Attributes:
        name: `count`, `text`, `negation`, `relation`, `comparison`, `conflict` (a thing in a colour
            that it has not), `subjects` (several, in a list) or `length`.
        says: What the prompt does, in words that go on after "it".
        plain: The prompt with the skill taken out, or put simply.
    """

    name: str
    says: str
    plain: str


def skills_in(prompt: str) -> list[PromptSkill]:
    """Return what a prompt asks for, as far as it can be told by its words.

    Args:
        prompt: The content of a `Prompt`.

    >>> for skill in skills_in("nine red dogs left of a sign that says 'STOP'"):
    ...     print(f"{skill.name}: it {skill.says}: {skill.plain}")
    count: it counts nine things: red dogs left of a sign that says 'STOP'
    text: it writes “STOP”: nine red dogs left of a sign
    relation: it says where things are (“left of”): nine red dogs near a sign that says 'STOP'
    """
    prompt = " ".join(prompt.split())
    texts = places_of_texts(prompt)
    masked = prompt
    for _, start, end in texts:
        masked = masked[:start] + "\ue000" * (end - start) + masked[end:]
    readers = (
        ("count", _count(masked)),
        ("text", _text(masked, texts)),
        ("negation", _quoting("says what is not there", masked, _AFFIRMED, r"\s*[^\W_]*")),
        ("relation", _quoting("says where things are", masked, (PLACES, _SIDES))),
        ("comparison", _quoting("compares things", masked, _COMPARED)),
    )
    skills = []
    for name, (says, edits) in readers:
        plain = prompt
        for start, end, instead in sorted(edits, reverse=True):
            plain = plain[:start] + instead + plain[end:]
        plain = re.sub(r"\s+([,.;])", r"\1", " ".join(plain.split())).strip(" ,;")
        if edits and any(letter.isalnum() for letter in plain):
            skills.append(PromptSkill(name, says, plain))
    return skills + _whole_skills(prompt)


def _whole_skills(prompt: str) -> list[PromptSkill]:
    """Return what is asked by a prompt as a whole, not by a word of it."""
    skills = []
    text, words = prompt.lower(), prompt.split()
    if conflicts := conflicts_in(text):
        says = f"has a colour against the usual one (“{conflicts[0].words}”)"
        skills.append(PromptSkill("conflict", says, with_usual_colours(text)[0]))
    shorter = with_shorter_lists(text)
    same = commonprefix((text, shorter[0]))  # noqa: RUF071
    if _TOGETHER.match(text, len(same)):
        says = f"shows {_in_words(len(shorter))} things at once"
        skills.append(PromptSkill("subjects", says, shorter[0]))
    if len(words) > _LONG:
        ends = [
            at
            for at in _FIRST_PART
            if words[at - 1].endswith((",", "."))
            or (words[at].lower() in FUNCTION_WORDS and words[at - 1].lower() not in FUNCTION_WORDS)
        ]
        first = " ".join(words[: ends[-1] if ends else _FIRST_PART[-1]]).strip(" ,.")
        skills.append(PromptSkill("length", f"is long ({len(words)} words)", first))
    return skills


def _in_words(number: int) -> str:
    return UNITS[number] if number < 13 else f"{number:,}"


def _count(masked: str) -> tuple[str, list[Edit]]:
    counts = [
        count
        for count in counts_in(masked.lower())
        if count.number > 1 and not _NAME.match(masked, count.start)
    ]
    edits: list[Edit] = []
    for count in counts:
        article = re.search(r"\b(?:an?|the)\s+$", masked[: count.start], re.I)
        edits.append((article.start() if article else count.start, count.end, ""))
    return f"counts {listed([_in_words(count.number) for count in counts])} things", edits


def _text(masked: str, wanted: Sequence[WantedText]) -> tuple[str, list[Edit]]:
    edits: list[Edit] = []
    for _, start, end in wanted:
        before = _BEFORE_TEXT.search(masked, edits[-1][1] if edits else 0, start)
        behind = _AFTER_TEXT.match(masked, end)
        edits.append((before.start() if before else start, behind.end() if behind else end, " "))
    texts = [text for text, _, _ in wanted]
    quoted = listed([f"“{text}”" for text in texts])
    if len(quoted) > 32:
        quoted = f"a text of {sum(len(text.split()) for text in texts)} words"
    return f"writes {quoted}", edits


def _quoting(
    says: str, masked: str, patterns: Sequence[tuple[re.Pattern[str], str]], behind: str = ""
) -> tuple[str, list[Edit]]:
    """Return what words of some patterns say, with the first of them, and their edits.

    Args:
        says: What they say.
        masked: The prompt.
        patterns: What each is replaced by.
        behind: A pattern of what is quoted behind the first of them.
    """
    edits: list[Edit] = []
    for pattern, instead in patterns:
        for match in pattern.finditer(masked):
            if not any(start < match.end() and match.start() < end for start, end, _ in edits):
                edits.append((*match.span(), match.expand(instead)))
    if not edits:
        return says, edits
    start, end, _ = min(edits)
    following = re.compile(behind).match(masked, end)
    quoted = masked[start : following.end() if following else end]
    return f"{says} (“{' '.join(quoted.split()).strip(' ,')}”)", edits
