"""The words of a prompt as people see them, and the prompt without some of them."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

MOST_WORDS = 64
"""A prompt of more words is taken as so many phrases of neighbouring words."""

Span = tuple[int, int]


def word_spans(prompt: str, most: int = MOST_WORDS) -> list[Span]:
    """Return where the words of a prompt begin and end.

    Blanks part words, so a mark stays with the word that it touches; one that stands alone goes
    with the word before it, or after it at the beginning. A text without blanks is one word.

    Args:
        prompt: The prompt; a blank one has no words.
        most: If there are more words, so many phrases of neighbouring words come in their place,
            of lengths that differ by one word at most.

    >>> prompt = "A red - or pink - cat, asleep."
    >>> [prompt[start:end] for start, end in word_spans(prompt)]
    ['A', 'red -', 'or', 'pink -', 'cat,', 'asleep.']
    >>> [prompt[start:end] for start, end in word_spans(prompt, most=2)]
    ['A red - or', 'pink - cat, asleep.']
    """
    spans: list[Span] = []
    opening = None
    for match in re.finditer(r"\S+", prompt):
        start, end = match.span()
        kinds = map(unicodedata.category, match[0])
        if all(kind.startswith("P") or kind in ("Sm", "Sk") for kind in kinds):
            if spans:
                spans[-1] = (spans[-1][0], end)
            elif opening is None:
                opening = start
        else:
            spans.append((start if opening is None else opening, end))
            opening = None
    if opening is not None:  # nothing but marks
        spans.append((opening, len(prompt.rstrip())))
    if len(spans) <= most:
        return spans
    ends = np.linspace(0, len(spans), most + 1).astype(int).tolist()
    return [(spans[first][0], spans[last - 1][1]) for first, last in pairwise(ends)]


def without_others(prompt: str, spans: Sequence[Span], members: NDArray[np.bool_]) -> Iterator[str]:
    """Give, for each row of some members, the prompt with only those words.

    A word goes with the blanks behind it; with all words it is the prompt as it stands.

    Args:
        prompt: The prompt.
        spans: Its words, from `word_spans`.
        members: Which words stay, shape ``(texts, words)``.

    >>> members = np.array([[True, False, True], [False, True, False]])
    >>> list(without_others("a  red cat", [(0, 1), (3, 6), (7, 10)], members))
    ['a  cat', 'red']
    """
    starts = [start for start, _ in spans]
    cuts = [*starts, spans[-1][1]]
    pieces = [prompt[start:end] for start, end in pairwise(cuts)]
    for row in members:
        kept = np.flatnonzero(row).tolist()
        if len(kept) == len(pieces):
            yield prompt
        else:
            yield "".join(map(pieces.__getitem__, kept)).rstrip()
