"""VISTAR's scores, computed from the outputs of vision models and from answers.

VISTAR (Jiang et al., 2025), section 3.3. Other models detect, segment, estimate depth, read text
and answer questions; these functions convert their outputs to scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Floats, Values
from pqpp_metrics.functional._inputs import as_floats, as_texts, check_lengths, not_allowed_error


def light_direction(predictions: Values, references: Values) -> Floats:
    """Return light consistency: 1 - (angle between the two light directions) / 90 degrees.

    VISTAR, section 3.3.2 (LI). Angles over 90 degrees give 0.

    Args:
        predictions: Inferred directions, shape (images, 3), vectors of any length except 0.
        references: Requested directions, same shape.

    Returns:
        float64 array (images,), each in [0, 1].

    Example:
        >>> light_direction([[0, 0, 2], [1, 0, 1]], [[0, 0, 1], [0, 0, 1]]).round(4).tolist()
        [1.0, 0.5]
    """
    inferred, requested = _to_unit("predictions", predictions), _to_unit("references", references)
    _inputs.require_same_library(predictions=inferred, references=requested)
    # Half-angle form: exact for directions that are almost equal, where arccos is not.
    difference = np.linalg.norm(inferred - requested, axis=1)
    total = np.linalg.norm(inferred + requested, axis=1)
    angle = 2 * np.arctan2(difference, total)
    return np.clip(1 - angle / (np.pi / 2), 0.0, 1.0)


def _to_unit(name, values):
    vectors = _inputs.as_floats(name, values, ndim=2)
    if vectors.shape[1] != 3:
        raise _inputs.shape_error(name, vectors, "must have shape (images, 3)")
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if (largest == 0).any():
        row = int(np.argmax(largest[:, 0] == 0))
        raise MetricInputError(f"`{name}` has a zero vector in row {row}; remove the row")
    vectors = vectors / largest
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def scene_composition(coverage: Values, consistency: Values) -> Floats:
    """Return the compositional scene score: the geometric mean of coverage and consistency.

    VISTAR, section 3.3.3 (CSE-Score). Coverage and consistency are mean cosine similarities; a
    negative value counts as 0.

    Args:
        coverage: CSE-Cov of each image, shape (images,), in [-1, 1]: over the sub-prompts, the
            mean of the best similarity to any region.
        consistency: CSE-Con of each image, same shape and range: mean similarity of the subject
            between regions.

    Returns:
        float64 array (images,), each in [0, 1].

    Example:
        >>> scene_composition([0.25, 0.5], [1.0, -0.2]).tolist()
        [0.5, 0.0]
    """
    covered, consistent = _inputs.as_same_shape(1, coverage=coverage, consistency=consistency)
    _require_range("coverage", covered, -1.0, 1.0)
    _require_range("consistency", consistent, -1.0, 1.0)
    return np.sqrt(np.maximum(covered, 0.0) * np.maximum(consistent, 0.0))


PENETRATION_WEIGHTINGS = ("printed", "corrected")


def penetration(
    overlap_depths: Values,
    outside_depths: Values,
    confidences: Values,
    epsilon: float = 1e-6,
    weighting: str = "printed",
) -> dict[str, Any]:
    """Return the spatial consistency of one image: the lowest score of a pair of solids.

    VISTAR, section 3.3.5 (PSC). For each pair of objects with overlapping masks, C is the absolute
    difference of the objects' mean depths inside the overlap, divided by that outside the overlap
    plus epsilon; it is near 0 if one object penetrates the other. C is multiplied by the
    confidences of the two objects, and the score is the lowest result. The paper does not state its
    epsilon; the default is pqpp's. With this product, an uncertain mask looks like a penetration,
    contrary to the paper's aim. Therefore pqpp adds the weighting "corrected": 1 - w (1 - min(C,
    1)), where w is the product of the confidences.

    Args:
        overlap_depths: Mean depth of both objects inside their overlap, shape (pairs, 2).
        outside_depths: Mean depth of both objects outside their overlap, same shape and unit.
        confidences: Segmentation confidences of both objects, same shape, in [0, 1].
        epsilon: Added to the divisor, in the unit of the depths.
        weighting: "printed" (default), C times the confidences, or "corrected".

    Returns:
        dict: "penetration", the lowest weighted C, 0 or above (NaN without pairs); "chaos", C of
        each pair; "weighted", C weighted by the confidences.

    Example:
        >>> result = penetration([[1.0, 1.5], [2, 2]], [[1, 2], [1, 3]], [[1, 0.5], [1, 1]])
        >>> result["chaos"].round(3).tolist(), round(result["penetration"], 3)
        ([0.5, 0.0], 0.0)
        >>> unsure = penetration([[2, 2]], [[1, 3]], [[0.5, 0.5]], weighting="corrected")
        >>> unsure["penetration"]
        0.75
    """
    _inputs.require_choice("weighting", weighting, PENETRATION_WEIGHTINGS)
    epsilon = _inputs.require_between("epsilon", epsilon, 0, float("inf"))
    inputs: dict[str, Any] = {"overlap_depths": overlap_depths, "outside_depths": outside_depths}
    inputs |= {"confidences": confidences}
    if not any(np.size(_inputs.to_numpy(_inputs.as_array(*item))) for item in inputs.items()):
        empty = np.empty(0)
        return {"penetration": float("nan"), "chaos": empty, "weighted": empty}
    inside, outside, confidence = _inputs.as_same_shape(2, **inputs)
    if inside.shape[1] != 2:
        raise _inputs.shape_error("overlap_depths", inside, "must have shape (pairs, 2)")
    _require_range("confidences", confidence, 0.0, 1.0)
    chaos = np.abs(inside[:, 0] - inside[:, 1]) / (np.abs(outside[:, 0] - outside[:, 1]) + epsilon)
    weight = confidence.prod(axis=1)
    weighted = chaos * weight
    if weighting == "corrected":
        weighted = 1 - weight * (1 - np.minimum(chaos, 1))
    return {"penetration": float(weighted.min()), "chaos": chaos, "weighted": weighted}


def geometric_minimum(scores: Values) -> Floats:
    """Return the geometric consistency of each image: the lowest of its six cues.

    VISTAR, section 3.3.6 (GC): depth normals, depth curvature, highlight continuity, contour
    integrity, texture regularity and feature anomalies, each normalised to [0, 1].

    Args:
        scores: Shape (images, 6), in [0, 1].

    Returns:
        float64 array (images,), each in [0, 1].

    Example:
        >>> geometric_minimum([[0.9, 0.8, 0.7, 0.95, 0.6, 1.0]]).tolist()
        [0.6]
    """
    scores = _inputs.as_floats("scores", scores, ndim=2)
    if scores.shape[1] != 6:
        raise _inputs.shape_error("scores", scores, "must have shape (images, 6)")
    _require_range("scores", scores, 0.0, 1.0)
    return scores.min(axis=1)


def _require_range(name, values, low, high):
    is_inside = (values >= low) & (values <= high)
    _inputs.require_each(name, values, is_inside, f"must be from {low:g} to {high:g}")


_LEVELS = 4
# Weights are decimals of a language model; their sum is 1 up to rounding.
_SUM_TOLERANCE = 1e-6


def hwpq(
    positive: Values,
    negative: Values,
    levels: Values,
    question_weights: Values,
    level_weights: Values,
    ties: str = "false",
) -> dict[str, Any]:
    """Return the HWPQ score of one image: the weighted share of facts that both questions confirm.

    VISTAR, section 3.4. Every fact has two questions with k answers each: a positive one, whose
    answer should be yes, and a negative one, whose answer should be no. The majority of the k
    answers decides; a fact is confirmed if the answer to the positive question is yes and that to
    the negative question no. Facts have weights within their level, and levels have weights too.

    Args:
        positive: Answers to the positive questions, bool or 0 and 1, shape (facts, k).
        negative: Answers to the negative questions, same shape.
        levels: Level of each fact, 1 to 4, shape (facts,).
        question_weights: Weight of each fact, shape (facts,), not negative, summing to 1 in each
            level that has facts.
        level_weights: Weights of levels 1 to 4, shape (4,), not negative, summing to 1. A level
            with a weight above 0 must have facts.
        ties: The answer if votes are evenly split: "false" (default, since no majority says yes) or
            "true".

    Returns:
        dict: "hwpq" in [0, 1]; "levels", the score of each of the four levels, in [0, 1], NaN
        for a level without facts; "confirmed", bool (facts,).

    Example:
        >>> result = hwpq(
        ...     positive=[[1, 1, 0], [1, 1, 1]], negative=[[0, 0, 0], [1, 1, 0]],
        ...     levels=[1, 2], question_weights=[1, 1], level_weights=[0.7, 0.3, 0, 0],
        ... )
        >>> result["hwpq"], result["levels"][:2].tolist()
        (0.7, [1.0, 0.0])
    """
    _inputs.require_choice("ties", ties, ("false", "true"))
    yes, no = _is_confirmed("positive", positive, ties), _is_confirmed("negative", negative, ties)
    levels = _inputs.as_floats("levels", levels, ndim=1)
    weights = _as_weights("question_weights", question_weights)
    level_weights = _as_weights("level_weights", level_weights)
    facts = {"positive": yes, "negative": no, "levels": levels, "question_weights": weights}
    _inputs.check_lengths("one value per fact in each input", **facts)
    _inputs.require_values("levels", levels, (1, 2, 3, 4), "must be 1, 2, 3 or 4")
    if len(level_weights) != _LEVELS:
        raise _inputs.shape_error("level_weights", level_weights, "must have 4 weights")
    _require_sum("`level_weights`", level_weights)
    for level in range(1, _LEVELS + 1):
        in_level = weights[levels == level]
        if in_level.size:
            _require_sum(f"`question_weights` of level {level}", in_level)
        elif level_weights[level - 1] > 0:
            raise MetricInputError(f"level {level} has no facts; set the level's weight to 0")
    confirmed = yes & ~no
    index = levels.astype(np.intp) - 1
    by_level = np.bincount(index, weights * confirmed, minlength=_LEVELS)
    level_scores = np.where(np.bincount(index, minlength=_LEVELS) > 0, by_level, np.nan)
    score = float((level_weights * by_level).sum())
    return {"hwpq": score, "levels": level_scores, "confirmed": confirmed}


def _is_confirmed(name, answers, ties):
    answers = _inputs.to_numpy(_inputs.as_numbers(name, answers, ndim=2))
    _inputs.require_values(name, answers, (0, 1), "must be true (1) or false (0)")
    doubled = 2 * (answers != 0).sum(axis=1)
    return doubled >= answers.shape[1] if ties == "true" else doubled > answers.shape[1]


def _as_weights(name: str, values: Values) -> Floats:
    weights = _inputs.as_floats(name, values, ndim=1)
    _inputs.require_each(name, weights, weights >= 0, "must be 0 or more")
    return weights


def _require_sum(name, weights):
    if abs(weights.sum() - 1) > _SUM_TOLERANCE:
        raise MetricInputError(f"{name} must sum to 1; got {weights.sum():g}")


def text_rendering(
    predictions: Sequence[str], references: Sequence[str], weights: Sequence[float] = (0.5, 0.5)
) -> dict[str, Floats]:
    """Return the text rendering score: character similarity and token overlap of two texts.

    VISTAR, section 3.3.1: a weighted mean of 1 - (Levenshtein distance) / (length of the longer
    text), and the Jaccard coefficient of the sets of tokens, which are separated by whitespace. The
    paper does not state its weights; pqpp's defaults are equal weights. Case matters; if it should
    not, normalise the texts first.

    Args:
        predictions: Text read from each image, a sequence of strings.
        references: Text that each image should show, same length.
        weights: Weights of characters and of tokens, not negative, summing to 1.

    Returns:
        dict: "text_rendering", "characters" and "tokens", float64 arrays (images,) in [0, 1]. Two
        empty texts score 1.

    Example:
        >>> result = text_rendering(["Grand Canyn"], ["Grand Canyon"])
        >>> result["text_rendering"].round(4).tolist(), result["tokens"].round(4).tolist()
        ([0.625], [0.3333])
    """
    predictions = as_texts("predictions", predictions)
    references = as_texts("references", references)
    check_lengths("one text per image", predictions=predictions, references=references)
    shares = as_floats("weights", weights, ndim=1)
    if shares.shape != (2,) or (shares < 0).any() or abs(shares.sum() - 1) > 1e-9:
        raise not_allowed_error("weights", shares.tolist(), "must be two shares that sum to 1")
    pairs = list(zip(predictions, references, strict=True))
    lengths = [max(map(len, texts)) or 1 for texts in pairs]
    characters = 1 - np.array([_levenshtein(*texts) for texts in pairs]) / lengths
    token_sets = [(set(left.split()), set(right.split())) for left, right in pairs]
    tokens = np.array([len(a & b) / len(a | b) if a | b else 1.0 for a, b in token_sets])
    scores = shares[0] * characters + shares[1] * tokens
    return {"text_rendering": scores, "characters": characters, "tokens": tokens}


def _levenshtein(left, right):
    right, left = sorted((left, right), key=len)
    letters = np.array([ord(letter) for letter in right], dtype=np.int64)
    index = np.arange(len(right) + 1)
    row = index.copy()
    for number, letter in enumerate(left, start=1):
        replaced = row[:-1] + (letters != ord(letter))
        best = np.concatenate([[number], np.minimum(row[1:] + 1, replaced)])
        # Insertions run along the row: the best start to the left, plus the steps from it.
        row = np.minimum.accumulate(best - index) + index
    return int(row[-1])
