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

# Multi-word phrases are single tokens; grammar.txt classifies single words.
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
_MAX_OMISSIONS, _MAX_ATOMS = 64, 200


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
    phrases = list(_find_noun_phrases(tokens))
    omissions = []
    for first, last, edits in sorted(_find_removals(content, tokens, phrases))[:_MAX_OMISSIONS]:
        rest = _apply_edits(content, edits)
        if any(letter.isalnum() for letter in rest) and rest != content:
            omissions.append(Omission(content[first:last], first, last, rest))
    if typed is None or typed == content:
        return omissions
    return list(_locate_in_typed(omissions, content, typed))


def _tokenize(content: str) -> Iterator[_Token]:
    texts = {index.start: (index.end, "text") for index in find_texts_to_draw(content)}
    known = {n.start: (n.end, "number") for n in find_numbers(content)} | texts
    tokens: list[_Token] = []
    position = 0
    while match := _TOKEN.search(content, position):
        word, start, position = match[0].lower(), match.start(), match.end()
        kinds = (kind for kind in ("link", "article") if word in _WORDS[kind])
        kind = match.lastgroup or next(kinds, "word")
        if start in known and (kind != "word" or known[start][0] >= position):
            position, kind = known[start]
        tokens.append(_Token(content[start:position], start, position, kind))
    tokens = _join_names(content, tokens)
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        yield token._replace(kind="verb") if _is_verb(token, before, after) else token


def _join_names(content: str, tokens: list[_Token]) -> list[_Token]:
    """Join adjacent capitalised words into one name, unless all words are capitalised."""
    if not any(token.kind == "word" and token.text.islower() for token in tokens):
        return tokens
    joined: list[_Token] = []
    for is_name, group in groupby(tokens, lambda one: one.kind == "word" and one.text[0].isupper()):
        run = list(group)
        start, end = run[0].start, run[-1].end
        joined += [_Token(content[start:end], start, end, "word")] if is_name else run
    return joined


def _is_verb(token: _Token, before: _Token | None, after: _Token | None) -> bool:
    word, next_kind = token.text.lower(), after.kind if after else ""
    if token.kind != "word" or word in _WORDS["nouns"]:
        return False
    is_after_word = before is not None and before.kind == "word"
    starts_phrase = next_kind in ("article", "number", "text")
    if word.endswith("ing") and len(word) > 4:
        if next_kind == "word" and after and after.text.lower() not in _WORDS["adverbs"]:
            described = before.text.lower() in _WORDS["adjectives"] if before else True
            return is_after_word and not described and word not in _WORDS["gerunds"]
        follows_clause = before is not None and before.text.lower() in _WORDS["clause"]
        return starts_phrase or is_after_word or follows_clause
    if not (is_after_word and before):
        return False
    is_plural = before.text.lower() in _WORDS["plurals"] or before.text.endswith("s")
    is_stem = word in _WORDS["stems"]
    if starts_phrase:
        return is_plural or is_stem or word.endswith(("s", "ed"))
    is_past = word.endswith("ed") and len(word) > 4 and next_kind != "word"
    return is_past or (is_stem and is_plural) or word in _WORDS["finite"]


def _find_noun_phrases(tokens: list[_Token]) -> Iterator[range]:
    start = 0
    while start < len(tokens):
        end = start
        while end < len(tokens) and tokens[end].kind in ("article", "number", "word", "text"):
            has_noun = end > start and tokens[end - 1].kind in ("word", "text")
            is_no = tokens[end].text.lower() == "no"  # a "no parking" zone
            starts_phrase = tokens[end].kind == "article" and end > start and not is_no
            if starts_phrase or (has_noun and tokens[end].kind != "word"):
                break
            end += 1
            # "and" or a comma between two adjectives of one thing
            words = [token.text.lower() for token in tokens[end - 1 : end + 2]]
            if words[1:2] in (["and"], [","]) and {words[0], words[-1]} <= _WORDS["adjectives"]:
                end += 1
        if any(token.kind in ("number", "word", "text") for token in tokens[start:end]):
            yield range(start, end)
        start = max(end, start + 1)


def _find_removals(
    content: str, tokens: list[_Token], phrases: list[range]
) -> Iterator[tuple[int, int, list[_Edit]]]:
    """Yield the position of each removable phrase, and the edits that remove it."""
    for number, phrase in enumerate(phrases):
        head, first_token = tokens[phrase[-1]], tokens[phrase[0]]
        links = tokens[phrases[number - 1][-1] + 1 : phrase[0]] if number else tokens[: phrase[0]]
        negations = [one for one in links if one.text.lower() in ("without", "not")]
        negation = first_token if first_token.text.lower() == "no" else next(iter(negations), None)
        yield (negation or head).start, head.end, _get_removal_edits(tokens, phrases, number)
        if negation is None:
            yield from _find_modifiers(content, tokens, phrase)
    beginnings = {phrase[0] for phrase in phrases}
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


def _get_removal_edits(tokens: list[_Token], phrases: list[range], number: int) -> list[_Edit]:
    phrase = phrases[number]
    first_token, last = tokens[phrase[0]], tokens[phrase[-1]]
    next_token = tokens[phrases[number + 1][0]] if number + 1 < len(phrases) else None
    following = tokens[phrase[-1] + 1 : phrase[-1] + 3]
    if number == 0 and next_token:
        # a horse without legs -> no legs; a sign that says 'Stop' -> the words 'Stop'
        put = "no " if tokens[phrases[1][0] - 1].text.lower() == "without" else ""
        return [(0, next_token.start, "the words " if next_token.kind == "text" else put)]
    if next_token and following[1:] == [next_token] and following[0].text == "of":
        return [(first_token.start, next_token.start, "")]  # piles of twigs -> twigs
    first = phrase[0]
    while first and tokens[first - 1].kind in ("link", "place", "mark", "verb"):
        if tokens[first - 1].kind == "verb" and first < phrase[0]:
            break  # a dog sitting on a table -> a dog sitting
        first -= 1
    kinds = [one.kind for one in following]
    is_particle = kinds == ["link", "link"] and following[0].text in _WORDS["particles"]
    edits = [(tokens[first - 1].end if first and number else 0, last.end, "")]
    if is_particle or (kinds == ["link", "verb"] and first < phrase[0]):
        # Also remove "up" in "holding a bat up", and "and" in "a hat and holding".
        edits.append((following[0].start, following[0].end, ""))
    elif number > 1 and tokens[phrase[0] - 1].text.lower() in ("and", "or"):
        between = tokens[phrases[number - 2][-1] + 1 : phrases[number - 1][0]]
        if [token.text for token in between] == [","]:
            edits.append((between[0].start, between[0].end, f" {tokens[phrase[0] - 1].text}"))
    return edits


def _find_modifiers(
    content: str, tokens: list[_Token], phrase: range
) -> Iterator[tuple[int, int, list[_Edit]]]:
    article = tokens[phrase[0]] if tokens[phrase[0]].text.lower() in ("a", "an") else None
    for index in phrase[:-1]:
        token = tokens[index]
        if token.kind not in ("word", "number"):
            continue
        first, last = index, index
        while first > phrase[0] and tokens[first - 1].kind == "word":
            word = tokens[first - 1].text.lower()
            if word not in _WORDS["adverbs"] and not (word.endswith("ly") and len(word) > 5):
                break
            first -= 1
        if tokens[index + 1].kind in ("link", "mark"):
            last = index + 1
        elif first > phrase[0] and tokens[first - 1].kind in ("link", "mark"):
            first -= 1
        edits = [(tokens[first].start, tokens[last].end, "")]
        following = content[tokens[last + 1].start :]
        new_article = "an" if _AN.match(following) else "a"
        if article and first == phrase[0] + 1:
            edits.append((article.start, article.end, new_article))
        elif token.text.lower() in ("one", "1") and index == phrase[0]:
            edits = [(token.start, token.end, new_article)]
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


def _locate_in_typed(omissions: list[Omission], content: str, typed: str) -> Iterator[Omission]:
    """Yield the phrases with their positions in the typed prompt."""
    # The limit on atoms bounds the time, which is cubic in the number of repeated words.
    atoms = list(islice(_ATOM.finditer(content), _MAX_ATOMS))
    typed_atoms = list(islice(_ATOM.finditer(typed), 2 * _MAX_ATOMS))
    form, typed_form = (
        [unicodedata.normalize("NFKC", match[0]).casefold() for match in matches]
        for matches in (atoms, typed_atoms)
    )
    positions: dict[int, tuple[int, int]] = {}
    blocks = SequenceMatcher(None, form, typed_form, autojunk=False).get_matching_blocks()
    for a, b, size in blocks:
        positions |= {atoms[a + n].start(): typed_atoms[b + n].span() for n in range(size)}
    for omission in omissions:
        inside = (match for match in atoms if omission.start <= match.start() < omission.end)
        spans = [positions.get(match.start()) for match in inside if match[0].isalnum()]
        if spans and spans[0] and spans[-1] and all(spans):
            yield omission._replace(start=spans[0][0], end=spans[-1][1])
