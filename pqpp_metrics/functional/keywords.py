"""Misaligned keywords of a prompt: predicted against marked by annotators."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import as_array, as_list, brief, require_values, to_numpy
from pqpp_metrics.functional._types import Values

# RichHF's tokens: what is left between these characters; of all blanks only the plain space counts.
TOKEN = re.compile(r'[^,.?!":; ]+')
_SUFFIX = "_0"


def prompt_tokens(prompt: str) -> list[str]:
    r"""The tokens of a prompt that RichHF's labels are given for.

    Args:
        prompt: Split at `,.?!":;` and the plain space, and at no other blank.

    Returns:
        List of tokens, none empty, in order.

    Example:
        >>> prompt_tokens('A cat\nsitting on a "red" mat.')
        ['A', 'cat\nsitting', 'on', 'a', 'red', 'mat']
    """
    if not isinstance(prompt, str):
        raise MetricInputError(f"`prompt` is {brief(prompt)}; it must be a text")
    return TOKEN.findall(prompt)


def keyword_f1(predictions: Values, references: Values) -> dict[str, float]:
    """Precision, recall and F1 of misaligned keywords, over the tokens of all samples.

    RichHF (Liang et al., CVPR 2024), section 5.1. A sample is given either as labels or as text:

    - labels, one for each token of the prompt: 0 misaligned, 1 aligned; compared place by place;
    - the prompt, with the suffix `_0` after each misaligned token, as the paper's model writes
      it; tokens are what is left between spaces and `,.?!":;`. Because a model may also change
      words, the misaligned tokens are compared as a bag: one hit for each that both sides mark.

    Args:
        predictions: One sample each: a sequence of labels, or a string.
        references: The same for the annotators' marks, in the same order and kind.

    Returns:
        dict: "keyword_f1", "precision", "recall", each in [0, 1]; "n_predicted", "n_marked" and
        "n_hits", misaligned tokens predicted, marked, and both. Precision is NaN where nothing
        is predicted, recall where nothing is marked, F1 where neither is.

    Example:
        >>> result = keyword_f1(["a yellow_0 cat_0"], ["a yellow_0 cat"])
        >>> result["precision"], result["recall"], round(result["keyword_f1"], 3)
        (0.5, 1.0, 0.667)
    """
    predictions, references = (
        _as_list("predictions", predictions),
        _as_list("references", references),
    )
    if len(predictions) != len(references):
        raise MetricInputError(
            f"{len(predictions)} `predictions` and {len(references)} `references` were given; "
            "give one of each for every sample"
        )
    predicted = marked = hits = 0
    for index, pair in enumerate(zip(predictions, references, strict=True)):
        kinds = [isinstance(side, str) for side in pair]
        if kinds[0] != kinds[1]:
            raise MetricInputError(
                f"sample {index} is text on one side and labels on the other; give both one way"
            )
        count = _count_in_text if kinds[0] else _count_in_labels
        counts = count(index, *pair)
        predicted, marked, hits = (
            a + b for a, b in zip((predicted, marked, hits), counts, strict=True)
        )
    return {
        "keyword_f1": _share(2 * hits, predicted + marked),
        "precision": _share(hits, predicted),
        "recall": _share(hits, marked),
        "n_predicted": predicted,
        "n_marked": marked,
        "n_hits": hits,
    }


def _as_list(name: str, samples: Values) -> list[Any]:
    if isinstance(samples, str):
        raise MetricInputError(f"`{name}` is a single string; give a list of samples")
    samples = as_list(name, samples)
    if not samples:
        raise MetricInputError(f"`{name}` is empty; nothing to score")
    return samples


def _count_in_text(index, predicted, marked):
    """Misaligned tokens of two texts, and those that both mark."""
    bags = [Counter(_misaligned_tokens(text)) for text in (predicted, marked)]
    return bags[0].total(), bags[1].total(), (bags[0] & bags[1]).total()


def _misaligned_tokens(text):
    """The tokens of a prompt that carry the suffix `_0`, without it."""
    marked = (token for token in prompt_tokens(text) if token.endswith(_SUFFIX) and len(token) > 2)
    return [token.removesuffix(_SUFFIX) for token in marked]


def _count_in_labels(index, predicted, marked):
    """Misaligned places of two sequences of labels, and those that both mark."""
    sides = [
        _labels(name, index, side)
        for name, side in (("predictions", predicted), ("references", marked))
    ]
    if len(sides[0]) != len(sides[1]):
        raise MetricInputError(
            f"sample {index} has {len(sides[0])} predicted and {len(sides[1])} true labels; "
            "give one label for each token"
        )
    misaligned = [side == 0 for side in sides]
    return (*(int(side.sum()) for side in misaligned), int((misaligned[0] & misaligned[1]).sum()))


def _labels(name, index, values):
    array = to_numpy(as_array(name, values))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iufb"):
        raise MetricInputError(
            f"`{name}` of sample {index} are no labels; give a flat list of 0 and 1, or a text"
        )
    meaning = "a label is 0 (misaligned) or 1 (aligned)"
    require_values(f"{name}[{index}]", array, (0, 1), meaning)
    return array


def _share(part, whole):
    return part / whole if whole else float("nan")
