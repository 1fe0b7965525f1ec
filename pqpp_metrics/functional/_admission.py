"""Which annotators' votes count, of votes that have been checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from pqpp_metrics.functional._inputs import require_between, require_int
from pqpp_metrics.functional._kappa import kappa_of
from pqpp_metrics.functional._types import Floats, Integers, Values
from pqpp_metrics.functional._votes import RaterVotes, as_mask, as_votes, require_images

_HIGHLY_RELEVANT = 2


def admission(
    votes: RaterVotes,
    control_labels: Values | None,
    reference_images: Values | None,
    min_kappa: float,
    min_reference_share: float,
) -> dict[str, Any]:
    """As `admit_annotators`, of checked votes."""
    min_kappa = require_between("min_kappa", min_kappa, -1.01, 1.01)
    min_reference_share = require_between("min_reference_share", min_reference_share, -0.01, 1.01)
    admitted, kappa, share = np.ones(len(votes.labels), dtype=bool), None, None
    if control_labels is not None:
        control = as_votes("control_labels", control_labels)
        require_images("control_labels", control.images, votes.images)
        kappa = _kappas(votes, control)
        admitted &= (kappa >= min_kappa).all(axis=1)
    if reference_images is not None:
        share = _reference_share(votes.of(as_mask(reference_images, votes.images)))
        admitted &= share > min_reference_share
    return {"admitted": admitted, "kappa": kappa, "reference_share": share}


def _kappas(votes, control):
    """Cohen's kappa of every annotator with every control annotator, on images of both."""
    kappa = np.full((len(votes.labels), len(control.labels)), np.nan)
    for annotator, own in enumerate(votes.labels):
        for reference, other in enumerate(control.labels):
            both = votes.present[annotator] & control.present[reference]
            if both.any():
                kappa[annotator, reference] = kappa_of(own[both], other[both])
    return kappa


def _reference_share(votes):
    """Share of each annotator's votes on reference images that say highly relevant."""
    number = votes.present.sum(axis=1)
    high = (votes.labels == _HIGHLY_RELEVANT).sum(axis=1)
    return np.where(number > 0, high / np.maximum(number, 1), np.nan)


def votes_that_count(
    votes: RaterVotes, prompts: int, codes: Integers, rules: tuple[Any, ...], best: int
) -> RaterVotes:
    """The votes of admitted annotators, with control labels of the best few of each prompt.

    `codes` is the number of each image's prompt; `rules` are the arguments of `admit_annotators`
    behind the labels.
    """
    found = admission(votes, *rules)
    votes = votes.of(found["admitted"][:, None])
    control_labels, reference_images, *_ = rules
    if control_labels is not None:
        votes = best_votes(votes, prompts, codes, found["kappa"].mean(axis=1), best)
    if reference_images is not None:
        votes = votes.of(~as_mask(reference_images, votes.images))
    return votes


def best_votes(
    votes: RaterVotes, prompts: int, codes: Integers, quality: Floats, best: int
) -> RaterVotes:
    """As `keep_best_annotators`, of checked votes."""
    best = require_int("best", best)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(prompts))
    voted = np.logical_or.reduceat(votes.present[:, order], starts, axis=1)
    ranking = np.argsort(-quality, kind="stable")
    place = np.empty(voted.shape, dtype=np.intp)
    place[ranking] = np.cumsum(voted[ranking], axis=0)
    return votes.of((place <= best)[:, codes])
