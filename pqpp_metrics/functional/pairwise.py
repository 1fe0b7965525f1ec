"""Whether a metric prefers what people prefer."""

from __future__ import annotations

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import (
    finite_numpy,
    require_choice,
    require_tolerance,
    require_values,
)
from pqpp_metrics.functional._statistics import TIE_TOLERANCE
from pqpp_metrics.functional._types import Values

_SCORE_TIES = ("wrong", "half", "dropped")


def pairwise_accuracy(
    predictions: Values,
    references: Values,
    score_ties: str = "wrong",
    tie_tolerance: float = TIE_TOLERANCE,
) -> dict[str, float]:
    """Pairwise prediction accuracy: how often the better scored of two images is the preferred.

    VISTAR, section 4.2 (PPA): pairs without a preference are dropped, and a prediction is
    correct if the preferred image scores strictly higher.

    Args:
        predictions: Scores of both images, shape (pairs, 2), higher is better, finite.
        references: Human preference, shape (pairs,): 1 the first image, -1 the second, 0 none.
        score_ties: What a pair with equal scores counts: "wrong" (default, as the paper's strict
            comparison), "half", or "dropped".
        tie_tolerance: Scores whose difference is at most this share of the range of all scores
            are equal, because float noise is no order; 0: only equal ones are.

    Returns:
        dict: "pairwise_accuracy" in [0, 1], NaN where no pair is left; "n", pairs that counted;
        "n_ties", pairs without a human preference; "n_score_ties", pairs with equal scores
        among the others.

    Example:
        >>> result = pairwise_accuracy([[0.9, 0.1], [0.2, 0.8], [0.5, 0.4]], [1, 1, 0])
        >>> result["pairwise_accuracy"], result["n"], result["n_ties"]
        (0.5, 2, 1)
    """
    require_choice("score_ties", score_ties, _SCORE_TIES)
    tie_tolerance = require_tolerance("tie_tolerance", tie_tolerance)
    scores = finite_numpy("predictions", predictions, ndim=2)
    preference = finite_numpy("references", references, ndim=1)
    if scores.shape != (len(preference), 2):
        raise MetricInputError(
            f"`predictions` has shape {scores.shape} and `references` {preference.shape}; "
            "give (pairs, 2) scores and one preference for each pair"
        )
    meaning = "a preference is 1 for the first image, -1 for the second, 0 for none"
    require_values("references", preference, (-1, 0, 1), meaning)
    decided = preference != 0
    limit = 2 * tie_tolerance * (scores.max() / 2 - scores.min() / 2)  # halves cannot overflow
    with np.errstate(over="ignore"):
        difference = scores[decided, 0] - scores[decided, 1]
    predicted = np.where(np.abs(difference) > limit, np.sign(difference), 0)
    tied = predicted == 0
    correct = float(np.count_nonzero(predicted == preference[decided]))
    n = len(predicted)
    if score_ties == "half":
        correct += float(np.count_nonzero(tied)) / 2
    elif score_ties == "dropped":
        n -= int(np.count_nonzero(tied))
    return {
        "pairwise_accuracy": correct / n if n else float("nan"),
        "n": n,
        "n_ties": int(np.count_nonzero(~decided)),
        "n_score_ties": int(np.count_nonzero(tied)),
    }
