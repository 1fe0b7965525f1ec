"""What a prompt asks of a generator beside its things, and the same prompt without asking it.

Each skill is read off the words, and has a plain prompt in which it is taken out or put simply:
"nine dogs" without the number, "a room with no chairs" with chairs, "left of" as "near". What a
predictor says of the plain prompt more than of the prompt is what it takes the skill to cost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pqpp_backbones.prompt.numbers import UNITS, places_of_numbers
from pqpp_backbones.prompt.quoted import WantedText, places_of_texts
from pqpp_models.text.reading.asking_less import PLACES

Edit = tuple[int, int, str]
"""Where a part of a prompt begins and ends, and what stands in its place."""

_UNITS = UNITS[:13]
_NO_THINGS_WORDS = """
pair couple trio years year inches inch feet foot meters metres dollars minutes hours days
percent degrees times miles pounds
"""
_NO_THINGS = frozenset(_NO_THINGS_WORDS.split())
_NAMED_WORDS = """
route number no chapter level version page day area formula apollo size
"""
_NAMED = frozenset(_NAMED_WORDS.split())
_PLURALS_WORDS = """
people men women children sheep fish mice feet teeth geese deer police cacti dice oxen
"""
_PLURALS = frozenset(_PLURALS_WORDS.split())
_ATTACHED = tuple("-:/%°'’")
_ENDS_NOUNS = re.compile(
    r"[,.;:!?]|\b(?:in|on|at|of|with|and|or|to|by|from|is|are|for|near)\b", re.I
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")

_LETTERED = re.compile(
    r"\b(?:signs?|says?|saying|text|words?|letters?|lettering|writ(?:es?|ing|ten)|wrote|reads?"
    r"|reading|titled?|logo|labell?ed|label|captions?|spell(?:s|ing|ed)?|poster|banner|slogan"
    r"|t-?shirt|graffiti|printed|engraved|carved|painted|card|book|cover|plaque|board|message"
    r"|name|inscription|billboard|sticker|mug|cake|tattoo|neon)\b",
    re.I,
)
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
_COLOUR = (
    "red|blue|green|yellow|black|white|brown|orange|purple|pink|gr[ae]y|violet|cyan|magenta"
    "|turquoise|teal|beige|maroon|crimson|scarlet|indigo"
)
_COLOURS = re.compile(
    rf"(?:\b(an?)\s+)?(?<!\w-)\b(?i:(?:bright|dark|light|pale|deep)\s+)?\b((?i:{_COLOUR}))"
    rf"(?:(?:\s*,\s*|\s+(?:and|or)\s+)(?i:{_COLOUR}))*\s+(?=([^\W\d_]+))"
)
_NO_COLOUR = re.compile(
    r"\b(?:black\s+and\s+white|black\s*&\s*white|(?:black)\s+(?:holes?|board|magic|friday|market)"
    r"|white\s+house|pink\s+panther|green\s+(?:tea|house|screen|energy|beans?)|red\s+(?:wine|carpet|tape"
    r"|sea|cross)|white\s+wine|blue\s+(?:cheese|jeans)|orange\s+(?:juice|peels?|slices?|trees?|soda)"
    r"|brown\s+(?:rice|sugar|bears?)|yellow\s+pages|grey\s+area)\b",
    re.I,
)
_NO_THING_WORDS = """
on in at of with and or to by from is are for near under over behind beside that which sits
sitting
"""
_NO_THING = frozenset(_NO_THING_WORDS.split())


@dataclass(frozen=True)
class PromptSkill:
    """Something that a prompt asks for, as it was read.

    Attributes:
        name: `count`, `text`, `negation`, `relation`, `comparison`, `colour`, or `word` for a
            word that stands for no skill.
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
    colour: it names their colour: nine dogs left of a sign that says 'STOP'
    """
    texts = places_of_texts(prompt)
    masked = prompt
    for _, start, end in texts:
        masked = masked[:start] + "\ue000" * (end - start) + masked[end:]
    counted = _counted(masked)
    readers = (
        ("count", _count(masked, counted)),
        ("text", _text(masked, texts)),
        ("negation", _quoting("says what is not there", masked, _AFFIRMED, r"\s*[^\W_]*")),
        ("relation", _quoting("says where things are", masked, (PLACES, _SIDES))),
        ("comparison", _quoting("compares things", masked, _COMPARED)),
        ("colour", _colour(masked, counted)),
    )
    skills = []
    for name, (says, edits) in readers:
        plain = prompt
        for start, end, instead in sorted(edits, reverse=True):
            plain = plain[:start] + instead + plain[end:]
        plain = re.sub(r"\s+([,.;])", r"\1", " ".join(plain.split())).strip(" ,;")
        if edits and any(letter.isalnum() for letter in plain):
            skills.append(PromptSkill(name, says, plain))
    return skills


def _counted(masked: str) -> list[tuple[int, int, int]]:
    """Return the numbers of several things: a plural follows, and no unit or proper name."""
    return [span for span in places_of_numbers(masked) if span[0] > 1 and _counts(masked, *span)]


def _counts(masked: str, number: int, start: int, end: int) -> bool:
    before = _WORD.findall(masked[:start])[-1:]
    is_name = bool(before) and (
        before[0].lower() in _NAMED or (before[0][0].isupper() and masked[start].isdigit())
    )
    behind = masked[end:]
    if is_name or masked[start:end].lower() in _NO_THINGS or behind.startswith(_ATTACHED):
        return False
    words = [word.lower() for word in _WORD.findall(_ENDS_NOUNS.split(behind)[0])[:4]]
    return bool(words) and words[0] not in _NO_THINGS and any(map(_is_plural, words))


def _is_plural(word: str) -> bool:
    if word in _PLURALS:
        return True
    return (
        len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s", "’s"))
    )


def _count(masked: str, counted: Sequence[tuple[int, int, int]]) -> tuple[str, list[Edit]]:
    numbers = [_UNITS[n] if n < len(_UNITS) else f"{n:,}" for n, _, _ in counted]
    edits: list[Edit] = []
    for _, start, end in counted:
        article = re.search(r"\b(?:an?|the)\s+$", masked[:start], re.I)
        edits.append((article.start() if article else start, end, ""))
    return f"counts {_listed(numbers)} things", edits


def _listed(texts: Sequence[str]) -> str:
    """Return texts as English lists them: "one, two and three"."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def _text(masked: str, wanted: Sequence[WantedText]) -> tuple[str, list[Edit]]:
    edits: list[Edit] = []
    for _, start, end in wanted:
        before = _BEFORE_TEXT.search(masked, edits[-1][1] if edits else 0, start)
        behind = _AFTER_TEXT.match(masked, end)
        edits.append((before.start() if before else start, behind.end() if behind else end, " "))
    texts = [text for text, _, _ in wanted]
    quoted = _listed([f"“{text}”" for text in texts])
    quoted = (
        quoted if len(quoted) <= 32 else f"a text of {sum(len(t.split()) for t in texts)} words"
    )
    return f"{'writes' if _LETTERED.search(masked) else 'quotes'} {quoted}", edits


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


def _colour(masked: str, counted: Sequence[tuple[int, int, int]]) -> tuple[str, list[Edit]]:
    edits: list[Edit] = []
    names: list[str] = []
    are_theirs = False
    phrases = [match.span() for match in _NO_COLOUR.finditer(masked)]
    for match in _COLOURS.finditer(masked):
        is_name = match[2][0].isupper() and match.start(2) > 0
        overlaps = any(start < match.end() and match.start(2) < end for start, end in phrases)
        if is_name or overlaps or match[3].lower() in _NO_THING:
            continue
        article = match[1] or ""
        if article:
            is_vowel = match[3][0].lower() in "aeiou" and not match[3].lower().startswith(
                ("uni", "eu")
            )
            article = f"{article[0]}{'n' if is_vowel else ''} "
        edits.append((*match.span(), article))
        names += re.findall(_COLOUR, match[0].lower())
        are_theirs |= any(not masked[end : match.start()].strip() for _, _, end in counted)
    different = len(set(names))
    if are_theirs:
        return f"names their {'colour' if different == 1 else 'colours'}", edits
    known = _UNITS[different] if different < len(_UNITS) else str(different)
    return f"names {'a colour' if different == 1 else f'{known} colours'}", edits
