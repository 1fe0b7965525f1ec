"""The words of a prompt, and decoding that is constrained to them.

RichHF labels words: the non-empty pieces of a prompt between `,.?!":;` and plain spaces. A word
that the image does not show is rewritten with the suffix `_0` (section 4.1.1 of the paper).
Repeated words, unknown characters and changes of case in the tokenizer must not shift a label to
another word. Therefore words are tokenized one by one, and decoding follows the words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pqpp_metrics.functional.keywords import TOKEN

SUFFIX = "_0"


@dataclass(frozen=True)
class Word:
    """A word of a prompt, with its start and end in the prompt."""

    text: str
    start: int
    end: int


def split_into_words(prompt: str) -> list[Word]:
    """Return the words of a prompt; `prompt[word.start : word.end] == word.text`.

    Example:
        >>> [word.text for word in split_into_words('A cat, a "red" cat.')]
        ['A', 'cat', 'a', 'red', 'cat']
    """
    return [Word(m.group(), m.start(), m.end()) for m in TOKEN.finditer(prompt)]


class WordDecoder:
    """The decoding of one prompt, constrained to its words.

    The words are written in order; after each, the decoder decides only whether to add the suffix.

    Args:
        words: The tokens of each word; none is empty.
        suffix: The tokens of the suffix.
        end: The end-of-sequence token.
        threshold: Minimum probability at which the suffix is written.
    """

    def __init__(
        self, words: Sequence[Sequence[int]], suffix: Sequence[int], end: int, threshold: float
    ) -> None:
        self.words, self.suffix, self.end, self.threshold = words, list(suffix), end, threshold
        self.forced: list[int] = list(words[0]) if words else [end]
        self.probabilities: list[float] = []

    @property
    def is_done(self) -> bool:
        """Whether the decisions on all words have been made."""
        return len(self.probabilities) == len(self.words)

    def choose_token(self, logits: Any) -> int:
        """Return the next token, given the decoder's logits."""
        if self.forced:
            return self.forced.pop(0)
        if self.is_done:
            return self.end
        next_index = len(self.probabilities) + 1
        next_tokens = list(self.words[next_index]) if next_index < len(self.words) else [self.end]
        if next_tokens[0] == self.suffix[0]:  # indistinguishable from the suffix
            probability = 0.0
        else:
            difference = float(logits[self.suffix[0]]) - float(logits[next_tokens[0]])
            probability = 1 / (1 + math.exp(-max(-500.0, min(500.0, difference))))
        self.probabilities.append(probability)
        self.forced = [*self.suffix, *next_tokens] if probability >= self.threshold else next_tokens
        return self.forced.pop(0)
