"""Whether intervals hold and deviations sort: nominal 90 % coverage, and rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional import spearman_qpp
from pqpp_models.predictor import Uncertain
from pqpp_models.targets import Z90

DRAWS = 20
"""How often equal true values of a study are put into a random order."""


class Held(NamedTuple):
    """What holds of some predictions of one target.

    Attributes:
        prompts: how many there are.
        coverage: the share of true values within 1.645 deviations.
        sorting: Spearman's coefficient of deviations and absolute errors.
        far: the share of prompts that are marked.
    """

    prompts: int
    coverage: float
    sorting: float
    far: float


def held_in_units(found: Uncertain, true: NDArray[np.float64]) -> list[Held]:
    """Measure predictions in the targets' own units, one result a target.

    Args:
        found: predictions of prompts that were not trained on.
        true: their targets, shape ``(prompts, targets)``.

    >>> found = Uncertain(*np.array([[[1.0], [1.0]], [[0.1], [0.5]]]), np.zeros(2), np.zeros(2))
    >>> (held,) = held_in_units(found, np.array([[1.2], [1.7]]))
    >>> held.prompts, held.coverage, round(held.sorting, 6), held.far
    (2, 0.5, 1.0, 0.0)
    """
    columns = zip(found.values.T, found.deviations.T, true.T, strict=True)
    return [_held(np.abs(t - v), d, found.far) for v, d, t in columns]


def held_on_ranks(
    found: Uncertain, true: Sequence[float], prior_deviation: float, shrunk: bool = True
) -> Held:
    """Measure predictions of one target on a study whose scores have another scale.

    True values become normal scores of their ranks within the study, equal ones in a random order:
    figures are means over `DRAWS` of them. One unit is a deviation of the prior, so that a
    prediction is its distance from the study's mean prediction in that unit.

    Args:
        found: predictions, one target.
        true: the study's scores; higher is better.
        prior_deviation: what the target deviates by over all prompts, in its units.
        shrunk: False puts normal scores of their own ranks in place of the predictions, as if they
            varied as much as the true values.
    """
    values = found.values[:, 0]
    own = (values - values.mean()) / prior_deviation if shrunk else _normal(values, None)
    deviations = found.deviations[:, 0] / prior_deviation
    draws = np.random.default_rng(0)
    held = [
        _held(np.abs(_normal(np.asarray(true, float), draws) - own), deviations, found.far)
        for _ in range(DRAWS)
    ]
    coverage = float(np.mean([one.coverage for one in held]))
    return held[0]._replace(coverage=coverage, sorting=float(np.mean([h.sorting for h in held])))


def _held(error: NDArray, deviations: NDArray, far: NDArray) -> Held:
    sorting = spearman_qpp(deviations, error)["spearman_qpp"] if len(error) > 1 else np.nan
    covered = float((error <= Z90 * deviations).mean())
    return Held(len(error), covered, float(sorting), float(np.mean(far)))


def _normal(values: NDArray, draws: np.random.Generator | None) -> NDArray[np.float64]:
    """Return the normal scores of the values' ranks."""
    second = np.arange(len(values)) if draws is None else draws.random(len(values))
    ranks = np.argsort(np.lexsort((second, values)))
    normal = NormalDist()
    return np.array([normal.inv_cdf((rank + 0.5) / len(values)) for rank in ranks.tolist()])
