"""What is said of a build's annotators, and of how far its scores can be relied on."""

from dataclasses import dataclass

import numpy as np

from pqpp_datasets.own_benchmark.trust.annotators import Agreements, agreements
from pqpp_datasets.own_benchmark.trust.reliability import Reliability, alpha, fleiss, split_half
from pqpp_datasets.own_benchmark.votes.votes import Votes


@dataclass(frozen=True)
class Trust:
    """How far the votes that count agree.

    Attributes:
        level: Of measurement, of the scale: "nominal", "ordinal" or "interval".
        alpha: Krippendorff's, NaN where no image has two votes.
        fleiss: Fleiss' kappa, each label apart from each other by as much, over the images with
            the commonest number of votes; NaN on an interval scale, and where none has two votes.
        fleiss_images: How many images these are.
        reliability: Of a prompt's mean vote.
    """

    level: str
    alpha: float
    fleiss: float
    fleiss_images: int
    reliability: Reliability


def agreements_of(votes: Votes) -> Agreements | None:
    """Compare each annotator with the others; None where nothing says who voted.

    Reference images are left out: that people agree on these tells little.
    """
    if not votes.has_annotators or votes.reference.all():
        return None
    rows = slice(None) if not votes.reference.any() else np.flatnonzero(~votes.reference)
    return agreements(
        votes.annotator[rows],
        votes.item[rows],
        votes.prompt[rows],
        votes.value[rows],
        votes.scale.level,
        len(votes.annotator_names),
        None if votes.seconds is None else votes.seconds[rows],
    )


def trust_in(votes: Votes, counted: np.ndarray, seed: int = 0) -> Trust:
    """Say how far the votes that count agree.

    Args:
        votes: All votes.
        counted: The numbers of those that count.
        seed: Of the halves that annotators are dealt out to.
    """
    item, value = votes.item[counted], votes.value[counted]
    level = votes.scale.level
    kappa, images = (float("nan"), 0) if level == "interval" else fleiss(item, value)
    who = votes.annotator[counted]
    if not votes.has_annotators and not votes.is_ready:
        who = np.arange(len(counted))  # each vote may be another's
    found = split_half(votes.prompt[counted], votes.model[counted], item, who, value, seed)
    return Trust(level, alpha(item, value, level), kappa, images, found)
