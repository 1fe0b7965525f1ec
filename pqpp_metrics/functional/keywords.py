"""Misaligned keywords of a prompt: predictions against the marks of annotators."""

from __future__ import annotations

import re
from collections import Counter

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Values

# RichHF's tokens are separated by these characters; the space is the only whitespace among them.
TOKEN = re.compile(r'[^,.?!":; ]+')
_SUFFIX = "_0"


def prompt_tokens(prompt: str) -> list[str]:
    r"""Return the tokens of a prompt that RichHF labels.

    Args:
        prompt: The prompt; it is split at spaces and `,.?!":;`, not at other whitespace.

    Returns:
        List of tokens, none empty, in order.

    Example:
        >>> prompt_tokens('A cat\nsitting on a "red" mat.')
        ['A', 'cat\nsitting', 'on', 'a', 'red', 'mat']
    """
    return TOKEN.findall(prompt)


def keyword_f1(predictions: Values, references: Values) -> dict[str, float]:
    """Return precision, recall and F1 of misaligned keywords, over the tokens of all samples.

    RichHF (Liang et al., CVPR 2024), section 5.1. A sample is either labels or text:

    - labels, one for each token of the prompt: 0 misaligned, 1 aligned; compared by position;
    - the prompt with the suffix `_0` after each misaligned token, as the paper's model writes it;
      tokens are split at spaces and `,.?!":;`. Because a model may also change words, misaligned
      tokens are compared as multisets: each token that is marked in the prediction and by the
      annotators is one hit.

    Args:
        predictions: One sample each: a sequence of labels, or a string.
        references: The annotators' marks of each sample, in the same order and type.

    Returns:
        dict: "keyword_f1", "precision", "recall", each in [0, 1]; "n_predicted", "n_marked" and
        "n_hits", the number of tokens that are misaligned in the predictions, in the marks, and in
        both. Precision is NaN if no token is predicted, recall is NaN if no token is marked, and F1
        is NaN if precision and recall are.

    Example:
        >>> result = keyword_f1(["a yellow_0 cat_0"], ["a yellow_0 cat"])
        >>> result["precision"], result["recall"], round(result["keyword_f1"], 3)
        (0.5, 1.0, 0.667)
    """
    predictions = _inputs.as_entries("predictions", predictions, "samples")
    references = _inputs.as_entries("references", references, "samples")
    expected = "a prediction and a reference for every sample"
    _inputs.check_lengths(expected, predictions=predictions, references=references)
    counts, names = [], ("predictions", "references")
    for index, pair in enumerate(zip(predictions, references, strict=True)):
        are_texts = [isinstance(side, str) for side in pair]
        if are_texts[0] != are_texts[1]:
            raise MetricInputError(f"sample {index} pairs text with labels; use only one of them")
        if are_texts[0]:
            left, right = map(_count_marked, pair)
            counts.append((left.total(), right.total(), (left & right).total()))
        else:
            samples = {f"{name}[{index}]": side for name, side in zip(names, pair, strict=True)}
            sides = {name: _as_labels(name, side) for name, side in samples.items()}
            _inputs.check_lengths("one label for each token", **sides)
            left, right = (side == 0 for side in sides.values())
            counts.append((int(left.sum()), int(right.sum()), int((left & right).sum())))
    predicted, marked, hits = map(sum, zip(*counts, strict=True))
    f1 = _divide(2 * hits, predicted + marked)
    precision, recall = _divide(hits, predicted), _divide(hits, marked)
    rates = {"keyword_f1": f1, "precision": precision, "recall": recall}
    return rates | {"n_predicted": predicted, "n_marked": marked, "n_hits": hits}


def _count_marked(text):
    tokens = prompt_tokens(text)
    return Counter(t.removesuffix(_SUFFIX) for t in tokens if t.endswith(_SUFFIX) and len(t) > 2)


def _as_labels(name, values):
    array = _inputs.to_numpy(_inputs.as_array(name, values))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iufb"):
        raise MetricInputError(f"each sample of `{name}` must be text or a flat list of 0s and 1s")
    _inputs.require_values(name, array, (0, 1), "must be 0 (misaligned) or 1 (aligned)")
    return array


def _divide(part, whole):
    return part / whole if whole else float("nan")
