"""Who does what to whom: whether a rewrite turns a relation of two things round.

No parser: what stands between two content words, and in which order, by WordNet's verbs and a list
of prepositions. "A dog chases a cat" is (dog, chase, cat), and so is "a cat is chased by a dog".
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from pqpp_models.measures.nltk_resources import wordnet

# Turned round they say something else; "with", "near" or "beside" say the same.
_TURNABLE = (
    "on onto in into inside under underneath beneath below over above atop behind left right"
)
_PREPOSITIONS = frozenset((*_TURNABLE.split(), "from", "through", "outside"))
_HELPING = "is are was were be been being has have had do does did get gets"
_AUXILIARIES = frozenset(_HELPING.split())
_BREAKS = frozenset(("and", "or", "but", "while", "as", "who", "which", "that", "then"))


class Relation(NamedTuple):
    """Two content words and what stands between them."""

    one: str
    word: str
    other: str


def turned_round(
    before: Sequence[str],
    after: Sequence[str],
    is_content: Callable[[str], bool],
    stands_for: Callable[[str, str], bool],
) -> Relation | None:
    """Return the first relation of a prompt that a rewrite has only the other way round.

    Args:
        before: The words of the prompt, in small letters, with its commas and stops as words.
        after: Those of the rewrite.
        is_content: Whether a word is more than grammar.
        stands_for: Whether the first word can stand for the second.

    Example:
        >>> is_content, same = (lambda word: len(word) > 2), (lambda one, other: one == other)
        >>> turned_round("a cat on a dog".split(), "a dog on a cat".split(), is_content, same)
        Relation(one='cat', word='on', other='dog')
        >>> turned_round("a cat on a dog".split(), "on a dog a cat".split(), is_content, same)
    """
    pairs = list(_relations(after, is_content))
    if not pairs:
        return None
    for asked in _relations(before, is_content):
        same = [pair for pair in pairs if _is_same(pair.word, asked.word, stands_for)]
        kept = any(
            stands_for(pair.one, asked.one) and stands_for(pair.other, asked.other) for pair in same
        )
        turned = any(
            stands_for(pair.one, asked.other) and stands_for(pair.other, asked.one) for pair in same
        )
        if turned and not kept:
            return asked
    return None


def _is_same(left: str, right: str, stands_for: Callable[[str, str], bool]) -> bool:
    if left in _PREPOSITIONS or right in _PREPOSITIONS:
        return left == right
    return _verb(left) == _verb(right) or stands_for(left, right)


def _relations(words: Sequence[str], is_content: Callable[[str], bool]) -> Iterator[Relation]:
    """Give each relation word with the nearest head before it and the head of what follows it."""
    for at, word in enumerate(words):
        if not (word in _PREPOSITIONS or (is_content(word) and _verb(word))):
            continue
        before = _head_before(words, at, is_content)
        other, passive = _head_after(words, at, is_content)
        if before and other and before != other:
            yield Relation(other, word, before) if passive else Relation(before, word, other)


def _head_before(words: Sequence[str], at: int, is_content: Callable[[str], bool]) -> str:
    """Return the content word right before, past auxiliaries; none behind a comma or an "and"."""
    for word in reversed(words[:at]):
        if word in _BREAKS or not word[0].isalnum():
            return ""
        if word in _AUXILIARIES or word in _PREPOSITIONS:
            continue
        return word if is_content(word) and not _ends_verbally(word) else ""
    return ""


def _head_after(
    words: Sequence[str], at: int, is_content: Callable[[str], bool]
) -> tuple[str, bool]:
    """Return the last content word of the run that follows, and whether "by" stands before it."""
    head, passive = "", False
    for word in words[at + 1 :]:
        if word == "by" and not head:
            passive = True
        elif word in _BREAKS or word in _PREPOSITIONS or not word[0].isalnum():
            if head or word not in _PREPOSITIONS:
                break
        elif is_content(word) and not (head and _ends_verbally(word)):
            head = word
        elif head:
            break
    return head, passive


def _ends_verbally(word: str) -> bool:
    return word.endswith(("ing", "ed")) and bool(_verb(word))


@cache
def _verb(word: str) -> str:
    """Return the verb that a word is a form of; empty where it is none."""
    return wordnet().morphy(word, "v") or ""
