"""One example of inputs for every evaluate module, and the value that the functions give for it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pqpp_metrics import functional as F


@dataclass
class Case:
    """Inputs of a module by name, options, and a function that computes its main value."""

    kind: str
    inputs: dict
    value: Callable[[], float]
    options: dict = field(default_factory=dict)


rng = np.random.default_rng(2024)
_pairs = {
    "predictions": rng.standard_normal(31).round(1).tolist(),
    "references": rng.standard_normal(31).round(1).tolist(),
}
_rankings = {
    "predictions": rng.standard_normal((13, 12)).round(1).tolist(),
    "references": rng.integers(0, 3, (13, 12)).tolist(),
}
_votes = {
    "labels": rng.choice([2.0, 1.0, 0.0, -1.0], (24, 3)).tolist(),
    "prompt_ids": [f"prompt-{i % 7}" for i in range(24)],
}


def _pair_case(function):
    return Case("pairs", _pairs, lambda: function(*_pairs.values())[function.__name__])


def _ranking_case(function, **options):
    def value():
        return float(np.mean(np.asarray(function(*_rankings.values(), **options))))

    return Case("rankings", _rankings, value, options)


CASES = {
    "hbpp": Case("votes", _votes, lambda: float(np.nanmean(F.hbpp(**_votes)[1]))),
    "kendall_qpp": _pair_case(F.kendall_qpp),
    "pearson_qpp": _pair_case(F.pearson_qpp),
    "precision_at_k": _ranking_case(F.precision_at_k, k=3),
    "reciprocal_rank": _ranking_case(F.reciprocal_rank, k=4, ties="optimistic"),
}
