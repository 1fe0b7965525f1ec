"""Human judgments to one number: the relevance of an image, the performance of a prompt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._admission import votes_that_count
from pqpp_metrics.functional._groups import group_codes
from pqpp_metrics.functional._inputs import require_choice
from pqpp_metrics.functional._types import Floats, Values
from pqpp_metrics.functional._votes import as_votes, require_images

_TIES = ("mean", "positive", "negative")
# With so many annotators a sum of labels, at most 2 each, still fits one byte.
_FIT_INT8 = 127 // 2


def image_relevance(labels: Values, ties: str = "mean") -> Floats:
    """Relevance of each image: the mean of the votes that form the majority.

    Votes fall into two high-level categories, at least somewhat relevant (2, 1) and not
    acceptable (0, -1). The category with more votes wins, the other votes are outliers, and the
    relevance is the mean of the votes that remain (PQPP, section 3.1).

    Args:
        labels: Votes, shape (images, annotators): 2 high relevance, 1 low relevance, 0 no
            relevance, -1 unrealistic, NaN where an annotator did not vote.
        ties: What an even split does. "mean" (default): there is no majority, so no vote is an
            outlier and all are averaged. "positive": the relevant side wins, as in the code
            published with the paper. "negative": the other side wins.

    Returns:
        numpy float64 array (images,), each in [-1, 2]; NaN for an image without votes.

    Example:
        >>> image_relevance([[2, 1, -1], [0, -1, 1]]).tolist()
        [1.5, -0.5]
    """
    require_choice("ties", ties, _TIES)
    return _relevance(as_votes("labels", labels), ties)


def _relevance(votes, ties):
    """As `image_relevance`, of checked votes."""
    positive = votes.labels > 0
    count, total = _sum_of_columns(votes.present), _sum_of_columns(votes.labels)
    positives, positive_total = _sum_of_columns(positive), _sum_of_columns(votes.labels * positive)
    negatives = count - positives
    relevant = positives > negatives
    if ties == "positive":
        relevant |= positives == negatives
    # Products with 0 and 1 in place of `where`: with votes at random that is ten times as fast.
    outliers = relevant * negatives + ~relevant * positives
    outliers_total = relevant * (total - positive_total) + ~relevant * positive_total
    if ties == "mean":
        majority = positives != negatives
        outliers *= majority
        outliers_total *= majority
    with np.errstate(invalid="ignore"):
        return np.divide(total - outliers_total, count - outliers, dtype=np.float64)


def _sum_of_columns(rows):
    """Sum (annotators, images) over the annotators, in the smallest type that holds it."""
    return rows.sum(axis=0, dtype=np.int8 if len(rows) <= _FIT_INT8 else np.int32)


def hbpp(
    labels: Values,
    prompt_ids: Values,
    ties: str = "mean",
    control_labels: Values | None = None,
    reference_images: Values | None = None,
    min_kappa: float = 0.41,
    min_reference_share: float = 0.5,
    best: int = 3,
) -> tuple[NDArray[Any], Floats]:
    """Human-based prompt performance: the mean relevance of a prompt's generated images.

    PQPP, section 3.1. Images without votes are left out of their prompt's mean. With
    `control_labels` or `reference_images` annotators are admitted by the paper's rules first
    (see `admit_annotators`); with `control_labels` a prompt's votes are those of its `best`
    admitted annotators by mean kappa (see `keep_best_annotators`).

    Args:
        labels: Votes, shape (images, annotators), as for `image_relevance`.
        prompt_ids: The prompt of each image, shape (images,), strings, integers of any size or
            UUIDs; the rows of a prompt need not be adjacent.
        ties: As for `image_relevance`.
        control_labels: Votes of the control annotators, shape (images, control annotators), NaN
            on images that are not in the control set; None (default): every annotator counts.
        reference_images: Which images are real photographs put among the generated ones, bool,
            shape (images,); they serve to admit annotators and do not count for HBPP.
        min_kappa: Least kappa with each control annotator; .41 is ours, the text lost it.
        min_reference_share: Share of reference images that must be called highly relevant by
            more; .5 is ours, the text lost it.
        best: How many annotators count for each prompt.

    Returns:
        The prompt ids (numpy array) in order of first appearance, and their scores, numpy
        float64 (prompts,), each in [-1, 2]; NaN for a prompt none of whose images has a vote
        that counts.

    Example:
        >>> ids, scores = hbpp([[2, 2, 1], [0, 0, 2], [1, 1, 1]], ["a", "b", "a"])
        >>> ids.tolist(), scores.round(3).tolist()
        (['a', 'b'], [1.333, 0.0])
    """
    require_choice("ties", ties, _TIES)
    votes = as_votes("labels", labels)
    ids, codes = group_codes("prompt_ids", prompt_ids)
    require_images("prompt_ids", len(codes), votes.images, "prompt id")
    if control_labels is not None or reference_images is not None:
        rules = control_labels, reference_images, min_kappa, min_reference_share
        votes = votes_that_count(votes, len(ids), codes, rules, best)
    relevance = _relevance(votes, ties)
    voted = ~np.isnan(relevance)
    if voted.all():
        images = np.bincount(codes, minlength=len(ids))
    else:
        images = np.bincount(codes, weights=voted, minlength=len(ids))
        relevance = np.where(voted, relevance, 0.0)
    total = np.bincount(codes, weights=relevance, minlength=len(ids))
    with np.errstate(invalid="ignore"):
        return ids, total / images
