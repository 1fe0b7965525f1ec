"""How faithfully an image shows the text that it should show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import as_list, brief, finite_numpy
from pqpp_metrics.functional._types import Floats


def text_rendering(
    predictions: Sequence[str], references: Sequence[str], weights: Sequence[float] = (0.5, 0.5)
) -> dict[str, Floats]:
    """Text rendering score: character similarity and token overlap of read and wanted text.

    VISTAR, section 3.3.1: a weighted mean of 1 - Levenshtein distance / length of the longer
    text, and the Jaccard coefficient of the sets of tokens, tokens being what stands between
    blanks. The paper does not print its weights; the default, half and half, is ours. Upper and
    lower case differ; normalise the texts first where they should not.

    Args:
        predictions: Text read from each image, a sequence of strings.
        references: Text that each image should show, same length.
        weights: Weights of characters and of tokens, not negative, summing to 1.

    Returns:
        dict: "text_rendering", "characters" and "tokens", float64 arrays (images,) in [0, 1].
        Two empty texts are equal: 1.

    Example:
        >>> result = text_rendering(["Grand Canyn"], ["Grand Canyon"])
        >>> result["text_rendering"].round(4).tolist(), result["tokens"].round(4).tolist()
        ([0.625], [0.3333])
    """
    predictions, references = _texts("predictions", predictions), _texts("references", references)
    if len(predictions) != len(references):
        raise MetricInputError(
            f"{len(predictions)} `predictions` and {len(references)} `references` were given; "
            "give one of each for every image"
        )
    pair = finite_numpy("weights", weights, ndim=1)
    if pair.shape != (2,) or (pair < 0).any() or abs(pair.sum() - 1) > 1e-9:
        raise MetricInputError(
            f"`weights` is {brief(pair.tolist())}; give two, 0 or above, summing to 1"
        )
    pairs = list(zip(predictions, references, strict=True))
    characters = np.array([_character_similarity(*two) for two in pairs])
    tokens = np.array([_token_overlap(*two) for two in pairs])
    whole = pair[0] * characters + pair[1] * tokens
    return {"text_rendering": whole, "characters": characters, "tokens": tokens}


def _texts(name, values):
    if isinstance(values, str):
        raise MetricInputError(f"`{name}` is a single string; give a list of texts")
    texts = as_list(name, values)
    if not texts:
        raise MetricInputError(f"`{name}` is empty; nothing to score")
    if not all(isinstance(text, str) for text in texts):
        wrong = next(text for text in texts if not isinstance(text, str))
        raise MetricInputError(f"`{name}` holds {type(wrong).__name__}; give strings ('' for none)")
    return texts


def _character_similarity(left, right):
    """1 - Levenshtein distance / length of the longer text; 1 for two empty texts."""
    longest = max(len(left), len(right))
    return 1 - _levenshtein(left, right) / longest if longest else 1.0


def _token_overlap(left, right):
    """Jaccard coefficient of the sets of tokens between blanks; 1 for two texts without any."""
    left, right = set(left.split()), set(right.split())
    either = left | right
    return len(left & right) / len(either) if either else 1.0


def _levenshtein(left, right):
    """Levenshtein distance: fewest insertions, deletions and replacements of characters."""
    if len(left) < len(right):
        left, right = right, left
    letters = np.array([ord(letter) for letter in right], dtype=np.int64)
    place = np.arange(len(right) + 1)
    row = place.copy()
    for number, letter in enumerate(left, start=1):
        replaced = row[:-1] + (letters != ord(letter))
        best = np.concatenate([[number], np.minimum(row[1:] + 1, replaced)])
        # Insertions run along the row: the best start to the left, plus the steps from it.
        row = np.minimum.accumulate(best - place) + place
    return int(row[-1])
