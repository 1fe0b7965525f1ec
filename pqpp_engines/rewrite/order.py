"""The probability that the words of a prompt are in English order.

Predictors and entailment models mostly ignore the order of words (McCoy, Pavlick and Linzen, "Right
for the Wrong Reasons", 2019), so word salad is predicted to do as well as a phrase. Therefore each
pair of adjacent words is scored by how much more often the classes of the two words are adjacent in
captions than by chance. Each function word is its own class; other words are classified by their
endings. `order.json` contains the counts of adjacent classes in PQPP's train captions, but no
content words.
"""

import math
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from pqpp_files.foreign.json_values import read_json
from pqpp_models.text.reading.words import FUNCTION_WORDS

TABLE = Path(__file__).with_name("order.json")
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?|[,.;:]")
_ENDINGS = ("ing", "ed", "ly", "ss", "s", "er")
_PRONOUNS = "i me my you we they them him who what when which she he one two do can will being"
_SINGLE_WORD_CLASSES = FUNCTION_WORDS | set(_PRONOUNS.split())
_SMOOTHING = 8  # pseudo-counts per first class, spread over second classes by their frequency


def compute_order_probability(text: str) -> float:
    """Return the probability that a text's words are in English order rather than shuffled.

    The prior probability of either case is .5.

    Example:
        >>> phrases = "a small dog on a couch", "dog couch small on a"
        >>> [round(compute_order_probability(text), 2) for text in phrases]
        [1.0, 0.0]
    """
    table = _read_counts()
    return 1 / (1 + math.exp(-table["slope"] * score_adjacent_words(text) - table["offset"]))


def score_adjacent_words(text: str) -> float:
    """Return the mean pointwise mutual information of adjacent word classes in captions.

    Example:
        >>> score_adjacent_words("a dog") > 0 > score_adjacent_words("dog a")
        True
    """
    table, logs = _read_counts(), []
    for first, second in list_adjacent_classes(text):
        frequency = (table["after"][second] + 1) / (table["total"] + len(table["after"]))
        smoothed = table["counts"][first, second] + _SMOOTHING * frequency
        logs.append(math.log(smoothed / (table["before"][first] + _SMOOTHING) / frequency))
    return sum(logs) / len(logs)


def list_adjacent_classes(text: str) -> list[tuple[str, str]]:
    """Return pairs of adjacent word classes, including the start (^) and the end ($).

    Example:
        >>> list_adjacent_classes("A cat sleeping")
        [('^', 'a'), ('a', '-'), ('-', '-ing'), ('-ing', '$')]
    """
    classes = ["^"]
    for word in _WORD.findall(text.lower().rstrip(". ")):
        if not word[0].isalpha():
            word = "#" if word.isdigit() else ","
        elif word not in _SINGLE_WORD_CLASSES:
            endings = (end for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2)
            word = f"-{next(endings, '')}"
        classes.append(word)
    return list(pairwise([*classes, "$"]))


@cache
def _read_counts() -> dict[str, Any]:
    table: dict[str, Any] = read_json(TABLE)
    before, after = Counter[str](), Counter[str]()
    counts = Counter({tuple(pair.split()): number for pair, number in table["pairs"].items()})
    for (first, second), number in counts.items():
        before[first] += number
        after[second] += number
    return {**table, "counts": counts, "before": before, "after": after, "total": counts.total()}
