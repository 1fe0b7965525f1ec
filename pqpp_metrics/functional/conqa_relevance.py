"""Crowd workers' votes on an image as relevant or not, by ConQA's rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import finite_numpy, require_choice
from pqpp_metrics.functional._types import Values

RULES = ("unanimous", "majority", "three_votes", "any")


def conqa_relevance(votes: Values, rule: str = "unanimous") -> NDArray[np.int64]:
    """Whether each image is relevant, from its workers' votes.

    ConQA (Rodriguez et al., ECIR 2024), sections 4 and 5. The paper calls an image relevant
    "only if three MTurkers deem it relevant", of three to twelve who voted.

    Args:
        votes: Counts, shape (images, 3): votes for relevant, non-relevant and unsure.
        rule: "unanimous" (default) all votes say relevant, which on the published votes gives
            22.5 relevant images a query, the nearest to the paper's 24.2; "majority" more than
            half of all votes say so; "three_votes" at least three do, whatever others say;
            "any" at least one does.

    Returns:
        numpy int64 array (images,), 1 relevant, 0 not; 0 for an image without votes.

    Example:
        >>> conqa_relevance([[3, 0, 0], [3, 1, 0], [1, 0, 2]]).tolist()
        [1, 0, 0]
    """
    require_choice("rule", rule, RULES)
    counts = finite_numpy("votes", votes, ndim=2)
    if counts.shape[1] != 3:
        raise MetricInputError(
            f"`votes` has shape {counts.shape}; give (images, 3): relevant, non-relevant, unsure"
        )
    wrong = (counts < 0) | (counts != np.floor(counts))
    if wrong.any():
        raise MetricInputError(
            f"`votes` holds {counts[wrong][0]:g}; a number of votes is whole and 0 or above"
        )
    relevant, total = counts[:, 0], counts.sum(axis=1)
    decided = {
        "unanimous": (relevant == total) & (total > 0),
        "majority": 2 * relevant > total,
        "three_votes": relevant >= 3,
        "any": relevant > 0,
    }
    return decided[rule].astype(np.int64)
