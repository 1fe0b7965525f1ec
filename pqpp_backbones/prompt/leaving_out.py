"""Remove single words or phrases from a prompt so that the rest is still English.

No parser is used: function words split text into noun phrases, with articles, numbers and
modifiers, and the words that link them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import groupby, islice
from typing import NamedTuple

from pqpp_backbones.prompt.numbers import find_numbers
from pqpp_backbones.prompt.quoted import find_texts_to_draw
from pqpp_backbones.prompt.word_lists import read_word_lists

# Phrases that count as one word; the data classify single words.
_TOKEN = re.compile(
    r"(?:(?P<place>(?:(?:to|on)\s+the\s+)?(?:left|right)(?:\s+side)?\s+of|in\s+front\s+of|on\s+top\s+of"
    r"|under|underneath|beneath|behind|above|below|inside)|(?P<link>(?:next|close)\s+to|(?:made|full)\s+of)"
    r"|(?P<number>(?:(?:hundreds|thousands|millions|dozens|lots|plenty|loads)|an?\s+(?:(?:large|small|huge)\s+)?"
    r"(?:pair|couple|trio|lot|bunch|number|group|crowd|herd|flock|variety))\s+of"
    r"|several|many|numerous|countless|multiple|few)|(?P<word>\d+\s?[dk]|close\s+up))(?!\w)"
    r"|[^\W_]+(?:['’.-][^\W_]+)*|(?P<mark>[^\w\s])",
    re.I,
)
_WORDS = read_word_lists(__file__, "grammar.txt")
_AN = re.compile(r"(?!(?:uni|use|euro|one|ufo|ukul))[aeiou]|8|11\b|18\b|hour|honest|heir", re.I)
_MOST, _MOST_ATOMS = 64, 200


class Omission(NamedTuple):
    """A word or phrase, its start and end in the prompt, and the prompt without it."""

    phrase: str
    start: int
    end: int
    rest: str


class _Token(NamedTuple):
    """A token of a prompt; its `kind` is text, number, article, link, place, mark, verb or word."""

    text: str
    start: int
    end: int
    kind: str


_Edit = tuple[int, int, str]


def leave_one_out(content: str, typed: str | None = None) -> list[Omission]:
    """Return the words and phrases that can be removed from a prompt, in order, at most 64.

    Modifiers and numbers are removed alone; a noun is removed with its article, its modifiers and
    the words that link it to the preceding text. A verb with an object is replaced by "with", and a
    preposition of place by "and". A phrase whose removal leaves nothing is skipped.

    Args:
        content: The prompt without its weights and parameters.
        typed: The prompt as typed. If it is given, positions are positions in it, and phrases that
            it does not contain are skipped.

    >>> [(one.phrase, one.rest) for one in leave_one_out("an old dog on a table")]
    [('old', 'a dog on a table'), ('dog', 'a table'), ('table', 'an old dog')]
    >>> leave_one_out("a cat", "(a cat:1.3)"), leave_one_out("two cats", "4k, two cats")[0][:3]
    ([], ('two', 4, 7))
    """
    tokens = list(_tokenize(content))
    things = list(_find_noun_phrases(tokens))
    found = []
    for first, last, edits in sorted(_find_removable_phrases(content, tokens, things))[:_MOST]:
        rest = _apply_edits(content, edits)
        if any(letter.isalnum() for letter in rest) and rest != content:
            found.append(Omission(content[first:last], first, last, rest))
    return found if typed is None or typed == content else list(_find_typed(found, content, typed))


def _tokenize(content: str) -> Iterator[_Token]:
    texts = {index.start: (index.end, "text") for index in find_texts_to_draw(content)}
    known = {n.start: (n.end, "number") for n in find_numbers(content)} | texts
    tokens: list[_Token] = []
    at = 0
    while match := _TOKEN.search(content, at):
        word, start, at = match[0].lower(), match.start(), match.end()
        kinds = (kind for kind in ("link", "article") if word in _WORDS[kind])
        kind = match.lastgroup or next(kinds, "word")
        if start in known and (kind != "word" or known[start][0] >= at):
            at, kind = known[start]
        tokens.append(_Token(content[start:at], start, at, kind))
    tokens = _join_names(content, tokens)
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        yield token._replace(kind="verb") if _is_verb(token, before, after) else token


def _join_names(content: str, tokens: list[_Token]) -> list[_Token]:
    """Join adjacent capitalised words into one name, unless all words are capitalised."""
    if not any(token.kind == "word" and token.text.islower() for token in tokens):
        return tokens
    joined: list[_Token] = []
    for is_name, row in groupby(tokens, lambda one: one.kind == "word" and one.text[0].isupper()):
        run = list(row)
        start, end = run[0].start, run[-1].end
        joined += [_Token(content[start:end], start, end, "word")] if is_name else run
    return joined


def _is_verb(token: _Token, before: _Token | None, after: _Token | None) -> bool:
    word, next_kind = token.text.lower(), after.kind if after else ""
    if token.kind != "word" or word in _WORDS["nouns"]:
        return False
    is_after_word = before is not None and before.kind == "word"
    begins_thing = next_kind in ("article", "number", "text")
    if word.endswith("ing") and len(word) > 4:
        if next_kind == "word" and after and after.text.lower() not in _WORDS["adverbs"]:
            described = before.text.lower() in _WORDS["adjectives"] if before else True
            return is_after_word and not described and word not in _WORDS["gerunds"]
        goes_on = before is not None and before.text.lower() in _WORDS["clause"]
        return begins_thing or is_after_word or goes_on
    if not (is_after_word and before):
        return False
    is_plural = before.text.lower() in _WORDS["plurals"] or before.text.endswith("s")
    is_stem = word in _WORDS["stems"]
    if begins_thing:
        return is_plural or is_stem or word.endswith(("s", "ed"))
    is_past = word.endswith("ed") and len(word) > 4 and next_kind != "word"
    return is_past or (is_stem and is_plural) or word in _WORDS["finite"]


def _find_noun_phrases(tokens: list[_Token]) -> Iterator[range]:
    at = 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and tokens[end].kind in ("article", "number", "word", "text"):
            was_named = end > at and tokens[end - 1].kind in ("word", "text")
            is_no = tokens[end].text.lower() == "no"  # a "no parking" zone
            begins = tokens[end].kind == "article" and end > at and not is_no
            if begins or (was_named and tokens[end].kind != "word"):
                break
            end += 1
            # "and" or a comma between two adjectives of one thing
            words = [token.text.lower() for token in tokens[end - 1 : end + 2]]
            if words[1:2] in (["and"], [","]) and set(words[0:3:2]) <= _WORDS["adjectives"]:
                end += 1
        if any(token.kind in ("number", "word", "text") for token in tokens[at:end]):
            yield range(at, end)
        at = max(end, at + 1)


def _find_removable_phrases(
    content: str, tokens: list[_Token], things: list[range]
) -> Iterator[tuple[int, int, list[_Edit]]]:
    """Yield the position of each removable phrase, and the edits that remove it."""
    for at, thing in enumerate(things):
        head, begins = tokens[thing[-1]], tokens[thing[0]]
        links = tokens[things[at - 1][-1] + 1 : thing[0]] if at else tokens[: thing[0]]
        negations = [one for one in links if one.text.lower() in ("without", "not")]
        negation = begins if begins.text.lower() == "no" else next(iter(negations), None)
        yield (negation or head).start, head.end, _get_removal_edits(tokens, things, at)
        if negation is None:
            yield from _find_modifiers(content, tokens, thing)
    beginnings = {thing[0] for thing in things}
    for index, token in enumerate(tokens):
        has_object = index + 1 in beginnings
        if token.kind == "verb":
            first = index
            while first and tokens[first - 1].text.lower() in _WORDS["clause"]:
                first -= 1
            put = " with" if has_object and first else ""
            yield token.start, token.end, [(tokens[first].start, token.end, put)]
        elif token.kind == "place" and index and has_object:
            yield token.start, token.end, [(token.start, token.end, "and")]


def _get_removal_edits(tokens: list[_Token], things: list[range], at: int) -> list[_Edit]:
    thing = things[at]
    begins, last = tokens[thing[0]], tokens[thing[-1]]
    follows = tokens[things[at + 1][0]] if at + 1 < len(things) else None
    behind = tokens[thing[-1] + 1 : thing[-1] + 3]
    if at == 0 and follows:
        # "horse" without legs: no legs; "sign" that says 'Stop': the words 'Stop'
        put = "no " if tokens[things[1][0] - 1].text.lower() == "without" else ""
        return [(0, follows.start, "the words " if follows.kind == "text" else put)]
    if follows and len(behind) == 2 and behind[0].text == "of" and behind[1] is follows:
        return [(begins.start, follows.start, "")]  # "piles" of twigs
    first = thing[0]
    while first and tokens[first - 1].kind in ("link", "place", "mark", "verb"):
        if tokens[first - 1].kind == "verb" and first < thing[0]:
            break  # "sitting" on a table
        first -= 1
    kinds = [one.kind for one in behind]
    is_particle = kinds == ["link", "link"] and behind[0].text in _WORDS["particles"]
    edits = [(tokens[first - 1].end if first and at else 0, last.end, "")]
    if is_particle or (kinds == ["link", "verb"] and first < thing[0]):
        edits.append((behind[0].start, behind[0].end, ""))  # holding a bat "up"; "and" holding
    elif at > 1 and tokens[thing[0] - 1].text.lower() in ("and", "or"):
        between = tokens[things[at - 2][-1] + 1 : things[at - 1][0]]
        if [token.text for token in between] == [","]:
            edits.append((between[0].start, between[0].end, f" {tokens[thing[0] - 1].text}"))
    return edits


def _find_modifiers(
    content: str, tokens: list[_Token], thing: range
) -> Iterator[tuple[int, int, list[_Edit]]]:
    article = tokens[thing[0]] if tokens[thing[0]].text.lower() in ("a", "an") else None
    for place in thing[:-1]:
        token = tokens[place]
        if token.kind not in ("word", "number"):
            continue
        first, last = place, place
        while first > thing[0] and tokens[first - 1].kind == "word":
            word = tokens[first - 1].text.lower()
            if word not in _WORDS["adverbs"] and not (word.endswith("ly") and len(word) > 5):
                break
            first -= 1
        if tokens[place + 1].kind in ("link", "mark"):
            last = place + 1
        elif first > thing[0] and tokens[first - 1].kind in ("link", "mark"):
            first -= 1
        edits = [(tokens[first].start, tokens[last].end, "")]
        follows = content[tokens[last + 1].start :]
        right = "an" if _AN.match(follows) else "a"
        if article and first == thing[0] + 1:
            edits.append((article.start, article.end, right))
        elif token.text.lower() in ("one", "1") and place == thing[0]:
            edits = [(token.start, token.end, right)]
        yield token.start, token.end, edits


def _apply_edits(content: str, edits: list[_Edit]) -> str:
    """Apply the edits, and remove stray spaces, punctuation and conjunctions."""
    for start, end, put in sorted(edits, reverse=True):
        if put and content[start : start + 1].isupper():
            put = put.capitalize()
        content = content[:start] + put + content[end:]
    text = re.sub(r"\s+([,.;:!?])", r"\1", " ".join(content.split()))
    words = re.sub(r"([,;:])(?:\s*[,;:.])+", r"\1", text).strip(" ,;:").split()
    while words and words[-1].lower() in _WORDS["link"] | {"a", "an", "the"}:
        words.pop()
    while words and words[0].lower() in ("and", "or", "of", "that", "which", "who", "is", "are"):
        words.pop(0)
    return " ".join(words).strip(" ,;:")


_ATOM = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")


def _find_typed(found: list[Omission], content: str, typed: str) -> Iterator[Omission]:
    """Yield the phrases with their positions in the typed prompt."""
    # The code below is cubic in the number of repeated words.
    here = list(islice(_ATOM.finditer(content), _MOST_ATOMS))
    there = list(islice(_ATOM.finditer(typed), 2 * _MOST_ATOMS))
    form, typed_form = (
        [unicodedata.normalize("NFKC", match[0]).casefold() for match in some]
        for some in (here, there)
    )
    places: dict[int, tuple[int, int]] = {}
    blocks = SequenceMatcher(None, form, typed_form, autojunk=False).get_matching_blocks()
    for at, other, size in blocks:
        places |= {here[at + n].start(): there[other + n].span() for n in range(size)}
    for one in found:
        inside = (match for match in here if one.start <= match.start() < one.end)
        spans = [places.get(match.start()) for match in inside if match[0].isalnum()]
        if spans and spans[0] and spans[-1] and all(spans):
            yield one._replace(start=spans[0][0], end=spans[-1][1])
