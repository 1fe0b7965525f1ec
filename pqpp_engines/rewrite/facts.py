"""Facts that a rewrite must keep: what is where, who does what to whom, and which thing is red.

Embeddings of "a cat on a dog" and "a dog on a cat" hardly differ, so facts are compared by the
first four letters of their words.
"""

import re
from itertools import groupby

from pqpp_models.text.reading.words import FUNCTION_WORDS, WORD_LISTS, to_words

COLOURS = frozenset(word[:4] for word in WORD_LISTS["colour"])
_BOUNDARY = re.compile(r"[,.;:!?()]|\b(?:and|or)\b")
_SYMMETRIC = frozenset(["with", "near", "next", "beside", "between", "by", "opposite", "against"])
_IGNORED = frozenset(["a", "an", "the", "is", "are", "was", "were"])


def exchanges_facts(before: str, after: str) -> bool:
    """Return whether two things of a relation are exchanged, or a colour belongs to another thing.

    Example:
        >>> exchanges_facts("a cat on a dog", "a dog on a cat")
        True
        >>> exchanges_facts("a red cube and a blue ball", "a blue cube and a red ball")
        True
        >>> exchanges_facts("a cat on a dog", "a dog under a cat")
        False
    """
    (relations, coloured), (changed, recoloured) = map(_find_facts, (before, after))
    if any(a != b and (b, relation, a) in changed for a, relation, b in relations):
        return True
    stems = to_stems(after)
    for colour, things in coloured.items():
        new_things = recoloured.get(colour, things)
        if things & stems and new_things and things.isdisjoint(new_things):
            return True
    return False


def to_stems(text: str) -> set[str]:
    """Return the first four letters of each word."""
    return {word[:4] for word in to_words(text.replace("grey", "gray"))}


def _find_facts(text: str) -> tuple[set[tuple], dict[str, set[str]]]:
    """Return relations, such as (cat, (on,), dog), and the things that follow each colour."""
    relations, coloured = set[tuple](), dict[str, set[str]]()
    for part in _BOUNDARY.split(text.lower().replace("grey", "gray")):
        runs = [[*words] for _, words in groupby(to_words(part), FUNCTION_WORDS.__contains__)]
        phrases = [[word[:4] for word in run] for run in runs]
        for left, link, right in zip(phrases, runs[1:], phrases[2:], strict=False):
            if link[0] in FUNCTION_WORDS and _SYMMETRIC.isdisjoint(link):
                relation = [word for word in link if word not in _IGNORED]
                for n, word in enumerate(left, 1):  # "dog chases" is a thing and a verb
                    relations |= {(word, (*left[n:], *relation), thing) for thing in right}
        for phrase in phrases:
            for n, word in enumerate(phrase, 1):
                if word in COLOURS:
                    coloured.setdefault(word, set()).update(phrase[n:])
    return relations, coloured
