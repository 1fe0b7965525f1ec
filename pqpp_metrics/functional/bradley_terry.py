"""Strengths of models from comparisons of two at a time."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import finite_numpy, require_between
from pqpp_metrics.functional._types import Floats, Values

_STEPS = 200


def bradley_terry(
    wins: Values, prior_wins: float = 0.0, confidence: float = 0.95
) -> dict[str, Floats]:
    """Strength of each model by the Bradley-Terry model, with an interval.

    Model i is preferred to j with probability 1 / (1 + exp(s_j - s_i)); the strengths s are those
    under which the comparisons are most likely, with mean 0. A tie counts half a win for each.
    Bradley and Terry, "Rank Analysis of Incomplete Block Designs", Biometrika 39, 1952; the
    interval is Wald's, from the observed information on strengths of mean 0.

    There is one best set of strengths only if, however the models are parted in two groups, each
    group has won against the other (Ford 1957). A model that never lost, or models that were never
    compared with the rest, are refused; `prior_wins` is the way out.

    Args:
        wins: How often the model of the row was preferred to the one of the column, shape
            (models, models), at least 2 models, 0 or above, halves for ties; 0 on the diagonal.
        prior_wins: Wins that each model is given over each other one beforehand, which draws
            strengths towards each other; 0 (default) for none.
        confidence: Of the intervals, above 0 and below 1.

    Returns:
        dict of numpy float64 arrays (models,): "strength", natural logarithms with mean 0;
        "standard_error"; "low" and "high", the ends of the interval.

    Raises:
        MetricInputError: wrong shape, negative or infinite values, or no one best set of strengths.

    Example:
        >>> found = bradley_terry([[0, 3], [1, 0]])
        >>> found["strength"].round(4).tolist()  # half of log(3) above and below 0
        [0.5493, -0.5493]
    """
    wins = finite_numpy("wins", wins, ndim=2)
    models = len(wins)
    if wins.shape != (models, models) or models < 2:
        raise MetricInputError(
            f"`wins` has shape {wins.shape}; give a row and a column for each of 2 models or more"
        )
    if (wins < 0).any() or np.diagonal(wins).any():
        raise MetricInputError(
            "`wins` holds a number below 0, or wins of a model over itself; give counts of wins"
        )
    confidence = require_between("confidence", confidence, 0, 1)
    prior_wins = require_between("prior_wins", prior_wins, -1e-300, 1e300)
    wins = wins + prior_wins * (1 - np.eye(models))
    _refuse_parted(wins)
    strength, information = _most_likely(wins)
    # The strengths have mean 0: of all directions but that of a common shift.
    error = np.sqrt(np.diagonal(np.linalg.pinv(information, hermitian=True)))
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return {
        "strength": strength,
        "standard_error": error,
        "low": strength - reach,
        "high": strength + reach,
    }


def _refuse_parted(wins):
    """Refuse wins by which some models never lost to the others."""
    reached = (wins > 0) | np.eye(len(wins), dtype=bool)
    for _ in range(len(wins).bit_length()):
        reached = (reached.astype(float) @ reached) > 0
    row, column = np.argwhere(~reached)[0] if not reached.all() else (None, None)
    if row is not None:
        raise MetricInputError(
            f"`wins` leads by no chain of wins from model {row} to model {column}: no strengths "
            "are most likely; leave such models out, or set prior_wins, to 0.5 say"
        )


def _most_likely(wins):
    """Return the strengths, and the information at them, by Newton's method."""
    number = wins + wins.T
    strength = np.zeros(len(wins))
    likelihood = _log_likelihood(wins, strength)
    for _ in range(_STEPS):
        chance = 0.5 * (1 + np.tanh((strength[:, None] - strength) / 2))
        weight = number * chance * chance.T
        information = np.diag(weight.sum(axis=1)) - weight
        step = np.linalg.pinv(information, hermitian=True) @ (wins - number * chance).sum(axis=1)
        while True:
            tried = strength + step
            tried -= tried.mean()
            value = _log_likelihood(wins, tried)
            if value >= likelihood or np.abs(step).max() < 1e-12:
                break
            step = step / 2
        strength, likelihood = tried, value
        if np.abs(step).max() < 1e-12:
            break
    return strength, information


def _log_likelihood(wins, strength):
    return -(wins * np.logaddexp(0, strength - strength[:, None])).sum()
