"""The words of a prompt, their rewriting with `_0`, and the exact way back.

RichHF labels words: the non-empty pieces of a prompt between `,.?!":;` and plain spaces. A word
that the image does not show is rewritten with the suffix `_0` (section 4.1.1 of the paper). What a
tokenizer does to a word (repeated words, unknown characters, changed case) must not move a label to
another word; so words are tokenized one by one, and decoding follows them.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pqpp_metrics.functional.keywords import TOKEN

SUFFIX = "_0"


@dataclass(frozen=True)
class Word:
    """A word of a prompt, and from which character to which it stands there."""

    text: str
    start: int
    end: int


def prompt_words(prompt: str) -> list[Word]:
    """Return the words of a prompt; `prompt[word.start : word.end] == word.text`.

    Example:
        >>> [word.text for word in prompt_words('A cat, a "red" cat.')]
        ['A', 'cat', 'a', 'red', 'cat']
    """
    return [Word(m.group(), m.start(), m.end()) for m in TOKEN.finditer(prompt)]


def rewrite(prompt: str, labels: Sequence[int]) -> str:
    """Return the rewritten prompt, the decoder's target; a label is 0 where a word is misaligned.

    Example:
        >>> rewrite("a yellow cat", [1, 0, 1])
        'a yellow_0 cat'
    """
    words = prompt_words(prompt)
    return " ".join(
        word.text + SUFFIX * (not label) for word, label in zip(words, labels, strict=True)
    )


def read_rewritten(text: str, prompt: str) -> list[bool]:
    """Find out which words of a prompt a freely generated rewriting marks.

    The rewriting may have lost, added or changed words: both are aligned as sequences, and a
    marked word counts for the word of the prompt that it is aligned with.

    Returns:
        One a word of the prompt: whether it is marked.

    Example:
        >>> read_rewritten("red_0 cat and a red cat", "a red cat and a red cat")
        [False, True, False, False, False, False, False]
    """
    written = [word.text for word in prompt_words(text)]
    marks = [len(one) > len(SUFFIX) and one.endswith(SUFFIX) for one in written]
    plain = [one.removesuffix(SUFFIX).casefold() for one in written]
    words = [word.text.casefold() for word in prompt_words(prompt)]
    found = [False] * len(words)
    matcher = difflib.SequenceMatcher(None, words, plain, autojunk=False)
    for kind, first, last, begin, end in matcher.get_opcodes():
        # A changed word still stands for one of the prompt where as many stand on both sides.
        if kind == "equal" or (kind == "replace" and last - first == end - begin):
            found[first:last] = marks[begin:end]
    return found


class MarkedPath:
    """One prompt's way through constrained decoding.

    The words are written out in order, whatever the decoder would like; after each it decides
    between the suffix and what follows. So every decision belongs to exactly one word.

    Args:
        words: The tokens of each word, none empty.
        suffix: The tokens of the suffix.
        end: The token that ends a text.
        threshold: The probability of the suffix from which on it is written.
    """

    def __init__(
        self, words: Sequence[Sequence[int]], suffix: Sequence[int], end: int, threshold: float
    ) -> None:
        self.words, self.suffix, self.end, self.threshold = words, list(suffix), end, threshold
        self.forced: list[int] = list(words[0]) if words else [end]
        self.probabilities: list[float] = []

    @property
    def is_done(self) -> bool:
        """Whether each word has been decided about."""
        return len(self.probabilities) == len(self.words)

    def following(self) -> int:
        """Return the first token behind the word that is to be decided about."""
        after = len(self.probabilities) + 1
        return self.words[after][0] if after < len(self.words) else self.end

    def step(self, logits: Any) -> int:
        """Take the decoder's logits of the next token, and return the token to go on with."""
        if self.forced:
            return self.forced.pop(0)
        if self.is_done:
            return self.end
        here = len(self.probabilities)
        follows = self.following()
        rest = list(self.words[here + 1]) if here + 1 < len(self.words) else [self.end]
        if follows == self.suffix[0]:  # the decoder cannot tell the two apart: no mark
            probability = 0.0
        else:
            difference = float(logits[self.suffix[0]]) - float(logits[follows])
            probability = 1 / (1 + math.exp(-max(-500.0, min(500.0, difference))))
        self.probabilities.append(probability)
        self.forced = [*self.suffix, *rest] if probability >= self.threshold else rest
        return self.forced.pop(0)
