"""The skills that prompts require of image generators.

A skill is included if people's scores of images show its cost in the rated studies, other skills
being equal: `benchmarks/verdicts.md` has the table. Colours and rare things have no cost there.
Single words are not included, because the estimated effect of leaving one out is wrong by 28 of 100
ranks, and few effects are twice as large. `phrases.txt` lists the phrases that require a skill:
substrings of which a match contains one, a pattern, and a simpler replacement.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from os.path import commonprefix
from typing import NamedTuple

from pqpp_backbones.prompt.conflicts import find_conflicts
from pqpp_backbones.prompt.numbers import UNITS
from pqpp_backbones.prompt.quoted import find_texts_to_draw
from pqpp_backbones.prompt.word_lists import read_lines, to_word_regex
from pqpp_models.text.reading.simplify import (
    PLACES,
    find_counts,
    is_couple,
    join_and,
    restore_usual_colours,
    shorten_lists,
)
from pqpp_models.text.reading.words import FUNCTION_WORDS, WORD_LISTS

_MAX_SHORT, _FIRST_PART, _MAX_QUOTED, _MARKS = 20, range(6, 13), 32, " ,\\"
"""Maximum words of a short prompt, words of its first part, and maximum letters of a text."""
# "by Two Steps From Hell", "the 3 Musketeers", "two thirds of a pizza", "nine inch nails"
_NO_COUNT = re.compile(
    r"(?<=. )[A-Z][a-z]+ [A-Z]|(?<=[Tt]he )\d+ [A-Z][a-z]"
    r"|(?i:[^\W_]+[ -](?:thirds|halves|fifths|inch|foot|mile|year|hour)\b)"
)
_OF = re.compile(r"\s+of\b")
_BEFORE_COUNT = re.compile(r"\b(?:(?:an?|the|exactly|only|at least|at most|up to)\s+)+$", re.I)
# "between man and nature" is not a position, "between two dogs" and "between Ann and Bo" are.
_NO_PLACE = re.compile(r"(?i:behind the scenes|above all)|between (?!an? |the )[a-z]+ and [a-z]{3}")
_TIE = re.compile(rf"\b(?:{to_word_regex(WORD_LISTS['ties'])})s? $", re.I)
_IN_PLACE = re.compile(r"\b(?:under|in|on|at|above|below|behind) (?:an?|the) \w+( \w+)?$")
_TOGETHER = re.compile(r",? ?(?:and )?(?:an?|the|one|two|three|four|five|six) ")
_SAYS = {"negation": "says what is not there", "relation": "says where things are"}
_SAYS |= {"comparison": "compares things"}

_Edit = tuple[int, int, str]  # the first character, the end and the replacement


class PromptSkill(NamedTuple):
    """A skill that a prompt requires of a generator.

    Attributes:
        name: `count`, `text`, `negation`, `relation`, `comparison`, `conflict` (a thing in an
            unusual colour), `subjects` (several, in a list) or `length`.
        says: A verb phrase about the prompt, like "counts nine things".
        plain: The prompt without the skill, or with a simpler form of it.
    """

    name: str
    says: str
    plain: str


@cache
def _read_phrases() -> dict[str, list[tuple[list[str], re.Pattern[str], str]]]:
    """Read the phrases of each skill: required substrings, a pattern and a replacement."""
    phrases = defaultdict(list, {"relation": [([""], *PLACES)]})
    for line in read_lines(__file__, "phrases.txt"):
        skill, substrings, pattern, replacement = line.split("\t")
        phrases[skill].append((substrings.split(), re.compile(pattern, re.I), replacement))
    return phrases


def _spell_out(number: int) -> str:
    return UNITS[number] if number < 13 else f"{number:,}"


def find_skills(prompt: str) -> list[PromptSkill]:
    """Find the skills that a prompt requires.

    Args:
        prompt: The content of a `Prompt`.

    >>> for skill in find_skills("nine red dogs left of a sign that says 'STOP'"):
    ...     print(f"{skill.name}: it {skill.says}: {skill.plain}")
    count: it counts nine things: red dogs left of a sign that says 'STOP'
    text: it writes “STOP”: nine red dogs left of a sign
    relation: it says where things are (“left of”): nine red dogs near a sign that says 'STOP'
    """
    prompt = " ".join(prompt.split())
    text, texts, masked = prompt.lower(), find_texts_to_draw(prompt), prompt
    for _, start, end in texts:
        masked = masked[:start] + "\ue000" * (end - start) + masked[end:]
    skills: list[PromptSkill] = []
    for name, says, edits in (
        _find_counted_things(masked),
        _find_written_texts(masked, texts),
        *_find_phrases(masked, text),
    ):
        plain = _apply_edits(prompt, edits)
        if edits and any(letter.isalnum() for letter in plain):
            skills.append(PromptSkill(name, says, plain))
    shorter, conflicts = shorten_lists(text), find_conflicts(text)
    if conflicts:
        says = f"has an unusual colour (“{conflicts[0].words}”)"
        skills.append(PromptSkill("conflict", says, restore_usual_colours(text)[0]))
    end = len(commonprefix((text, shorter[0])))  # noqa: RUF071
    if _TOGETHER.match(text, end) and not _IN_PLACE.search(text[:end].rstrip()):
        says = f"shows {_spell_out(len(shorter))} things at once"
        skills.append(PromptSkill("subjects", says, shorter[0]))
    words = prompt.split()
    if len(words) > _MAX_SHORT:
        says = f"is long ({len(words)} words)"
        skills.append(PromptSkill("length", says, _keep_first_part(words)))
    return skills


def _apply_edits(prompt: str, edits: Iterable[_Edit]) -> str:
    for start, end, replacement in sorted(edits, reverse=True):
        prompt = prompt[:start] + replacement + prompt[end:]
    return re.sub(r"\s+([,.;])", r"\1", " ".join(prompt.split())).strip(" ,;")


def _find_counted_things(masked: str) -> tuple[str, str, list[_Edit]]:
    """Find the numbers of things; the edits remove them."""
    lower = masked.lower()
    counts = [
        count
        for count in find_counts(lower)
        if not (count.number < 2 or is_couple(lower, count) or _NO_COUNT.match(masked, count.start))
    ]
    edits = []
    for count in counts:
        lead, of = _BEFORE_COUNT.search(masked[: count.start]), _OF.match(masked, count.end)
        edits.append((lead.start() if lead else count.start, of.end() if of else count.end, ""))
    numbers = join_and([_spell_out(count.number) for count in counts])
    return "count", f"counts {numbers} things", edits


def _find_written_texts(
    masked: str, texts: Sequence[tuple[str, int, int]]
) -> tuple[str, str, list[_Edit]]:
    """Describe the texts to draw; the edits remove them, with the words that introduce them."""
    edits: list[_Edit] = []
    before, after = (pattern for _, pattern, _ in _read_phrases()["text"])
    for _, start, end in texts:
        lead = before.search(masked, edits[-1][1] if edits else 0, start)
        tail = after.match(masked, end)
        edits.append((lead.start() if lead else start, tail.end() if tail else end, " "))
    quoted = join_and([f"“{text.strip(_MARKS)}”" for text, _, _ in texts])
    if len(quoted) > _MAX_QUOTED:
        quoted = f"a text of {sum(len(text.split()) for text, _, _ in texts)} words"
    return "text", f"writes {quoted}", edits


def _find_phrases(masked: str, text: str) -> Iterator[tuple[str, str, list[_Edit]]]:
    """Find the phrases of each skill; the edits replace them with simpler ones."""
    for name, says in _SAYS.items():
        edits: list[_Edit] = []
        for substrings, pattern, replacement in _read_phrases()[name]:
            for match in pattern.finditer(masked) if any(map(text.count, substrings)) else ():
                overlaps = any(edit[0] < match.end() and match.start() < edit[1] for edit in edits)
                is_tie = _TIE.search(masked, 0, match.start())
                if not (overlaps or is_tie or _NO_PLACE.match(masked, match.start())):
                    edits.append((*match.span(), match.expand(replacement)))
        if edits:
            start, end, _ = min(edits)
            following = re.match(r"\s*(?:an?\s)?[^\W_]*", masked[end:])
            end += following.end() if following and name == "negation" else 0
            yield name, f"{says} (“{' '.join(masked[start:end].split()).strip(' ,')}”)", edits


def _keep_first_part(words: Sequence[str]) -> str:
    """Cut a long prompt where a sentence or a phrase ends."""
    cuts = [
        i
        for i in _FIRST_PART
        if words[i - 1].endswith((",", "."))
        or (words[i].lower() in FUNCTION_WORDS and words[i - 1].lower() not in FUNCTION_WORDS)
    ]
    return " ".join(words[: cuts[-1] if cuts else _FIRST_PART[-1]]).strip(" ,.")
