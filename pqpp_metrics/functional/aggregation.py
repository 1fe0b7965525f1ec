"""Aggregate people's votes to one number per image or prompt, by the rules of PQPP and ConQA."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional import _inputs, _votes
from pqpp_metrics.functional._categories import encode_ids
from pqpp_metrics.functional._containers import Floats, Values

_TIES = ("mean", "positive", "negative")
# For up to this many annotators, a sum of labels, each at most 2, fits into int8.
_FIT_INT8 = 127 // 2


def image_relevance(labels: Values, ties: str = "mean") -> Floats:
    """Return the relevance of each image: the mean of the votes that form the majority.

    Votes fall into two high-level categories, at least somewhat relevant (2, 1) and not acceptable
    (0, -1). The category with more votes wins, votes in the other category are discarded as
    outliers, and the relevance is the mean of the remaining votes (PQPP, section 3.1).

    Args:
        labels: Votes, shape (images, annotators): 2 high relevance, 1 low relevance, 0 no
            relevance, -1 unrealistic, NaN if an annotator did not vote.
        ties: How to treat an even split. "mean" (default): average all votes, since there is no
            majority. "positive": the category of relevant votes wins, as in the paper's code.
            "negative": the other category wins.

    Returns:
        numpy float64 array (images,), each in [-1, 2]; NaN for an image without votes.

    Example:
        >>> image_relevance([[2, 1, -1], [0, -1, 1]]).tolist()
        [1.5, -0.5]
    """
    _inputs.require_choice("ties", ties, _TIES)
    return _get_relevance(*_votes.as_votes("labels", labels), ties)


def _get_relevance(votes, present, ties):
    positive = votes > 0
    count, total = _sum_columns(present), _sum_columns(votes)
    positives, positive_total = _sum_columns(positive), _sum_columns(votes * positive)
    negatives = count - positives
    relevant = positives > negatives
    if ties == "positive":
        relevant |= positives == negatives
    # For random votes, products with 0 and 1 are ten times as fast as `where`.
    outliers = relevant * negatives + ~relevant * positives
    outliers_total = relevant * (total - positive_total) + ~relevant * positive_total
    if ties == "mean":
        majority = positives != negatives
        outliers *= majority
        outliers_total *= majority
    with np.errstate(invalid="ignore"):
        return np.divide(total - outliers_total, count - outliers, dtype=np.float64)


def _sum_columns(rows):
    """Sum (annotators, images) over the annotators, in the smallest sufficient type."""
    return rows.sum(axis=0, dtype=np.int8 if len(rows) <= _FIT_INT8 else np.int32)


def hbpp(
    labels: Values,
    prompt_ids: Values,
    ties: str = "mean",
) -> tuple[NDArray[Any], Floats]:
    """Return human-based prompt performance: the mean relevance of each prompt's images.

    PQPP, section 3.1. Images without votes are left out of the mean. This function does not filter
    annotators; `pqpp build` does, by the paper's rules.

    Args:
        labels: Votes, shape (images, annotators), as for `image_relevance`.
        prompt_ids: The prompt of each image, shape (images,), strings or integers, in any order.
        ties: As for `image_relevance`.

    Returns:
        The prompt ids (numpy array) in order of first appearance, and their scores, numpy float64
        (prompts,), each in [-1, 2]; NaN for a prompt without votes.

    Example:
        >>> ids, scores = hbpp([[2, 2, 1], [0, 0, 2], [1, 1, 1]], ["a", "b", "a"])
        >>> ids.tolist(), scores.round(3).tolist()
        (['a', 'b'], [1.333, 0.0])
    """
    _inputs.require_choice("ties", ties, _TIES)
    votes, present = _votes.as_votes("labels", labels)
    ids, codes = encode_ids("prompt_ids", prompt_ids)
    _inputs.check_lengths("one prompt id per image", prompt_ids=codes, labels=votes.T)
    relevance = _get_relevance(votes, present, ties)
    voted = ~np.isnan(relevance)
    images = np.bincount(codes, weights=voted, minlength=len(ids))
    total = np.bincount(codes, weights=np.where(voted, relevance, 0.0), minlength=len(ids))
    with np.errstate(invalid="ignore"):
        return ids, total / images


CONQA_RULES = ("unanimous", "majority", "three_votes", "any")


def conqa_relevance(votes: Values, rule: str = "unanimous") -> NDArray[np.int64]:
    """Return whether each image is relevant, from its workers' votes.

    ConQA (Rodriguez et al., ECIR 2024), sections 4 and 5. The paper calls an image relevant
    "only if three MTurkers deem it relevant", of three to twelve who voted.

    Args:
        votes: Counts, shape (images, 3): votes for relevant, non-relevant and unsure.
        rule: "unanimous" (default): all votes are for relevant, which on the published votes gives
            22.5 relevant images per query, closest to the paper's 24.2; "majority": more than half
            are; "three_votes": at least three are; "any": at least one is.

    Returns:
        numpy int64 array (images,): 1 if relevant, else 0; 0 for an image without votes.

    Example:
        >>> conqa_relevance([[3, 0, 0], [3, 1, 0], [1, 0, 2]]).tolist()
        [1, 0, 0]
    """
    _inputs.require_choice("rule", rule, CONQA_RULES)
    counts = _inputs.as_floats("votes", votes, ndim=2)
    if counts.shape[1] != 3:
        rule_text = "must have shape (images, 3): counts of relevant, non-relevant and unsure votes"
        raise _inputs.shape_error("votes", counts, rule_text)
    is_number = (counts >= 0) & (counts == np.floor(counts))
    _inputs.require_each("votes", counts, is_number, "must be whole numbers of 0 or more")
    relevant, total = counts[:, 0], counts.sum(axis=1)
    is_relevant = {
        "unanimous": (relevant == total) & (total > 0),
        "majority": 2 * relevant > total,
        "three_votes": relevant >= 3,
        "any": relevant > 0,
    }
    return is_relevant[rule].astype(np.int64)
