"""Hierarchical weighted questioning with pairs of a positive and a negative question."""

from __future__ import annotations

from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import (
    as_numbers,
    finite_numpy,
    require_choice,
    require_values,
    to_numpy,
)
from pqpp_metrics.functional._types import Floats, Values

_LEVELS = 4
# Weights come from a language model as decimals; their sum is 1 up to what rounding leaves.
_SUM_TOLERANCE = 1e-6
_TIES = ("false", "true")


def hwpq(
    positive: Values,
    negative: Values,
    levels: Values,
    question_weights: Values,
    level_weights: Values,
    ties: str = "false",
) -> dict[str, Any]:
    """HWPQ score of one image: weighted share of facts that both of its questions confirm.

    VISTAR, section 3.4. Every fact is asked twice, k times each: a positive question whose
    answer should be yes, and a negative one whose answer should be no. The majority of k answers
    decides a question; a fact counts where the positive is true and the negative false. Facts
    are weighted within their level, levels among each other.

    Args:
        positive: Answers to the positive questions, bool or 0 and 1, shape (facts, k).
        negative: Answers to the negative questions, same shape.
        levels: Level of each fact, 1 to 4, shape (facts,).
        question_weights: Weight of each fact, shape (facts,), not negative, summing to 1 in each
            level that has facts.
        level_weights: Weights of levels 1 to 4, shape (4,), not negative, summing to 1. A level
            with weight needs facts.
        ties: What an even split of k answers counts as: "false" (default: no majority says yes)
            or "true".

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
    require_choice("ties", ties, _TIES)
    yes, no = (_majority(*side, ties) for side in (("positive", positive), ("negative", negative)))
    levels = finite_numpy("levels", levels, ndim=1)
    weights = _weights("question_weights", question_weights)
    level_weights = _weights("level_weights", level_weights)
    lengths = {"positive": len(yes), "negative": len(no), "levels": len(levels)}
    lengths["question_weights"] = len(weights)
    if len(set(lengths.values())) > 1:
        came = ", ".join(f"{n} `{name}`" for name, n in lengths.items())
        raise MetricInputError(f"{came} were given; give one of each for every fact")
    require_values("levels", levels, (1, 2, 3, 4), "a level is 1, 2, 3 or 4")
    _check_sums(levels, weights, level_weights)
    confirmed = yes & ~no
    place = levels.astype(np.intp) - 1
    by_level = np.bincount(place, weights * confirmed, minlength=_LEVELS)
    facts = np.bincount(place, minlength=_LEVELS)
    return {
        "hwpq": float((level_weights * by_level).sum()),
        "levels": np.where(facts > 0, by_level, np.nan),
        "confirmed": confirmed,
    }


def _majority(name, answers, ties):
    """Whether most of the k answers to each question are yes."""
    answers = to_numpy(as_numbers(name, answers, ndim=2))
    require_values(name, answers, (0, 1), "an answer is true (1) or false (0)")
    twice = 2 * (answers != 0).sum(axis=1)
    return twice >= answers.shape[1] if ties == "true" else twice > answers.shape[1]


def _weights(name: str, values: Values) -> Floats:
    weights = finite_numpy(name, values, ndim=1)
    if (weights < 0).any():
        raise MetricInputError(f"`{name}` holds {weights.min():g}; a weight is 0 or above")
    return weights


def _check_sums(levels, weights, level_weights):
    """Raise unless weights sum to 1 over the levels and within each of them."""
    if len(level_weights) != _LEVELS:
        raise MetricInputError(
            f"`level_weights` has {len(level_weights)} weights; give 4, L1 to L4"
        )
    if abs(level_weights.sum() - 1) > _SUM_TOLERANCE:
        raise MetricInputError(
            f"`level_weights` sum to {level_weights.sum():g}; they must sum to 1"
        )
    for level in range(1, _LEVELS + 1):
        own = weights[levels == level]
        if not own.size and level_weights[level - 1] > 0:
            raise MetricInputError(f"level {level} has weight but no facts; give it weight 0")
        if own.size and abs(own.sum() - 1) > _SUM_TOLERANCE:
            raise MetricInputError(
                f"`question_weights` of level {level} sum to {own.sum():g}; they must sum to 1"
            )
