"""Which annotators' votes count: admission by control prompts, and the best few of a prompt."""

from __future__ import annotations

from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._admission import admission, best_votes
from pqpp_metrics.functional._groups import group_codes
from pqpp_metrics.functional._inputs import as_floats, to_numpy
from pqpp_metrics.functional._types import Floats, Values
from pqpp_metrics.functional._votes import as_votes, require_images


def admit_annotators(
    labels: Values,
    control_labels: Values | None = None,
    reference_images: Values | None = None,
    min_kappa: float = 0.41,
    min_reference_share: float = 0.5,
) -> dict[str, Any]:
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

    Example:
        >>> nan = float("nan")
        >>> votes = [[2, 0], [0, 2], [1, 1], [2, 2]]
        >>> control = [[2], [0], [1], [nan]]
        >>> admit_annotators(votes, control)["admitted"].tolist()
        [True, False]
    """
    rules = control_labels, reference_images, min_kappa, min_reference_share
    return admission(as_votes("labels", labels), *rules)


def keep_best_annotators(
    labels: Values, prompt_ids: Values, quality: Values, best: int = 3
) -> Floats:
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

    Example:
        >>> keep_best_annotators([[2, 1, 0]], ["a"], quality=[0.5, 0.9, 0.7], best=2).tolist()
        [[nan, 1.0, 0.0]]
    """
    votes = as_votes("labels", labels)
    quality = to_numpy(as_floats("quality", quality, ndim=1))
    if len(quality) != len(votes.labels):
        raise MetricInputError(
            f"`quality` has {len(quality)} values and `labels` {len(votes.labels)} annotators; "
            "give one for each annotator"
        )
    ids, codes = group_codes("prompt_ids", prompt_ids)
    require_images("prompt_ids", len(codes), votes.images)
    votes = best_votes(votes, len(ids), codes, quality, best)
    return np.where(votes.present, votes.labels, np.nan).T
