"""Which annotators' votes count: admission by control prompts, and the best few of a prompt."""

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._groups import group_codes
from pqpp_metrics.functional._inputs import (
    as_floats,
    require_between,
    require_positive_int,
    to_numpy,
)
from pqpp_metrics.functional.aggregation import known_labels
from pqpp_metrics.functional.agreement import cohen_kappa

_HIGHLY_RELEVANT = 2


def admit_annotators(
    labels, control_labels=None, reference_images=None, min_kappa=0.41, min_reference_share=0.5
):
    """Which annotators are admitted, by their agreement with control annotators.

    PQPP, section 3.1: an annotator is admitted with (i) at least moderate agreement, Cohen's
    kappa on the four labels, with each of the control annotators, and (ii) more than a share of
    the reference images, the real photographs among the generated ones, labelled highly relevant.
    The paper's text lost its thresholds: .41, where "moderate" begins in the usual scale, and .5
    are ours.

    Args:
        labels: Votes, shape (images, annotators), as for `image_relevance`.
        control_labels: Votes of the control annotators, shape (images, control annotators), NaN
            on images that are not in the control set. None: rule (i) is not applied.
        reference_images: Which images are reference images, bool, shape (images,). None: rule
            (ii) is not applied.
        min_kappa: Least kappa with each control annotator.
        min_reference_share: Share of the own votes on reference images that must be exceeded.

    Returns:
        dict: "admitted", bool (annotators,); "kappa", (annotators, control annotators), NaN
        without an image in common, or None; "reference_share", (annotators,), NaN without a
        vote on a reference image, or None. What is NaN cannot be shown and does not admit.

    Raises:
        MetricInputError: labels as in `image_relevance`, another number of images, thresholds
            outside [-1, 1] and [0, 1].

    Example:
        >>> nan = float("nan")
        >>> votes = [[2, 0], [0, 2], [1, 1], [2, 2]]
        >>> control = [[2], [0], [1], [nan]]
        >>> admit_annotators(votes, control)["admitted"].tolist()
        [True, False]
    """
    votes = known_labels("labels", labels)
    min_kappa = require_between("min_kappa", min_kappa, -1.01, 1.01)
    min_reference_share = require_between("min_reference_share", min_reference_share, -0.01, 1.01)
    admitted, kappa, share = np.ones(votes.shape[1], dtype=bool), None, None
    if control_labels is not None:
        control = known_labels("control_labels", control_labels)
        _require_images("control_labels", len(control), len(votes))
        kappa = _kappas(votes, control)
        admitted &= (kappa >= min_kappa).all(axis=1)
    if reference_images is not None:
        share = _reference_share(votes, as_mask(reference_images, len(votes)))
        admitted &= share > min_reference_share
    return {"admitted": admitted, "kappa": kappa, "reference_share": share}


def _require_images(name, came, wanted):
    if came != wanted:
        raise MetricInputError(
            f"`{name}` has {came} images and `labels` {wanted}; give one row for each image"
        )


def as_mask(reference_images, images):
    """Check which images are reference images.

    Args:
        reference_images: Bool or 0 and 1, shape (images,).
        images: The number of images.

    Returns:
        numpy bool array (images,).

    Raises:
        MetricInputError: another shape or other values.
    """
    mask = to_numpy(as_floats("reference_images", reference_images, ndim=1))
    _require_images("reference_images", len(mask), images)
    if not np.isin(mask, (0, 1)).all():
        raise MetricInputError("`reference_images` must hold true or false for each image")
    return mask == 1


def _kappas(votes, control):
    """Cohen's kappa of every annotator with every control annotator, on images of both."""
    rows = ~np.isnan(control).all(axis=1)
    votes, control = votes[rows], control[rows]
    kappa = np.full((votes.shape[1], control.shape[1]), np.nan)
    for annotator, own in enumerate(votes.T):
        for reference, other in enumerate(control.T):
            both = ~(np.isnan(own) | np.isnan(other))
            if both.any():
                kappa[annotator, reference] = cohen_kappa(own[both], other[both])
    return kappa


def _reference_share(votes, reference):
    """Share of each annotator's votes on reference images that say highly relevant."""
    votes = votes[reference]
    number = (~np.isnan(votes)).sum(axis=0)
    high = (votes == _HIGHLY_RELEVANT).sum(axis=0)
    return np.where(number > 0, high / np.maximum(number, 1), np.nan)


def keep_best_annotators(labels, prompt_ids, quality, best=3):
    """Keep, for each prompt, the votes of the few annotators of highest quality.

    PQPP, section 3.1: of a prompt with more than three judgments those of the three annotators
    with the highest kappa on the control prompts are kept.

    Args:
        labels: Votes, shape (images, annotators), as for `image_relevance`.
        prompt_ids: The prompt of each image, shape (images,).
        quality: Quality of each annotator, shape (annotators,); NaN ranks last. Of equals the
            earlier column wins.
        best: How many annotators to keep for each prompt.

    Returns:
        numpy float64 array (images, annotators): the labels, NaN where a vote was left out.

    Raises:
        MetricInputError: labels as in `image_relevance`, lengths that differ, a `best` that is
            no positive integer.

    Example:
        >>> keep_best_annotators([[2, 1, 0]], ["a"], quality=[0.5, 0.9, 0.7], best=2).tolist()
        [[nan, 1.0, 0.0]]
    """
    votes = known_labels("labels", labels)
    best = require_positive_int("best", best)
    quality = to_numpy(as_floats("quality", quality, ndim=1))
    if len(quality) != votes.shape[1]:
        raise MetricInputError(
            f"`quality` has {len(quality)} values and `labels` {votes.shape[1]} annotators; "
            "give one for each annotator"
        )
    ids, codes = group_codes("prompt_ids", prompt_ids)
    _require_images("prompt_ids", len(codes), len(votes))
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(ids)))
    voted = np.logical_or.reduceat(~np.isnan(votes[order]), starts, axis=0)
    ranking = np.argsort(-quality, kind="stable")
    place = np.empty(voted.shape, dtype=np.intp)
    place[:, ranking] = np.cumsum(voted[:, ranking], axis=1)
    return np.where((place <= best)[codes], votes, np.nan)
