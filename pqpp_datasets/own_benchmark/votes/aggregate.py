"""What an image's votes become, by the name of the rule.

========== ======= ===================================================================
rule       measure what
========== ======= ===================================================================
majority   hbpp    PQPP's two levels, section 3.1: the side, somewhat relevant (2, 1) or
                   not acceptable (0, -1), that has more votes wins, and its votes are
                   averaged; as `pqpp_metrics.functional.hbpp`
mean       rating  the mean of the votes
median     rating  the median of the votes; of an even number the mean of the middle two
mos        score   the mean opinion score after z-scores for each annotator, see
                   `z_scores`; 0 is the mean of the annotators' votes
positive   rate    the share of votes that the scale calls positive
========== ======= ===================================================================

The value of a prompt with a model is the mean over its images that have votes.
"""

from collections.abc import Callable

import numpy as np

from pqpp_datasets.errors import OptionError
from pqpp_datasets.own_benchmark.votes.scales import Scale
from pqpp_datasets.own_benchmark.votes.votes import Votes

MEASURES = {
    "majority": "hbpp",
    "mean": "rating",
    "median": "rating",
    "mos": "score",
    "positive": "rate",
}
_DIGITS = 12  # so that equal scores are equal, whatever the order of the sums


def require_aggregate(name: str, votes: Votes, repeats: str) -> None:
    """Refuse a rule that these votes cannot be put to.

    Raises:
        OptionError: A majority is asked of another scale than PQPP's or of means of votes, or
            z-scores where nothing says who voted.
    """
    scale = votes.scale
    if votes.is_ready and name != "mean":
        raise OptionError(
            f"--aggregate {name}: ready scores came, one an image; leave it out, or give the votes"
        )
    if name == "majority" and not np.isin(votes.value, (-1, 0, 1, 2)).all():
        why = "means of repeated votes" if repeats == "mean" else f"the scale {scale.name}"
        raise OptionError(
            f"--aggregate majority: {why} came; PQPP's two levels have the labels 2, 1, 0 and -1; "
            "choose --aggregate mean, median, mos or positive"
            + (", or --repeats first or last" if repeats == "mean" else "")
        )
    if name == "mos" and not votes.has_annotators:
        raise OptionError(
            "--aggregate mos: no annotators came, whose own means it takes off; name their column "
            "by --column annotator=COLUMN, or choose mean or median"
        )


def z_scores(value: np.ndarray, annotator: np.ndarray) -> np.ndarray:
    """Return votes as z-scores for each annotator, NaN for one who does not vary.

    From each vote the mean of all votes of its annotator is taken off, and the rest divided by
    their standard deviation (n - 1): what studies that cite ITU-R BT.500 do so that strict and
    lenient annotators, and timid and bold ones, weigh alike. The screening of observers that the
    recommendation describes beside it is not done. An annotator with one vote, or with always the
    same, has no deviation: such votes say nothing of this kind, and are left out.

    Args:
        value: float64 (votes,).
        annotator: Whole numbers (votes,).

    Example:
        >>> z_scores(np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 0, 1, 1])).round(4).tolist()
        [-0.7071, 0.7071, nan, nan]
    """
    count = np.bincount(annotator)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = value - (np.bincount(annotator, value) / count)[annotator]
        deviation = np.sqrt(np.bincount(annotator, rest * rest) / (count - 1))
        # Equal votes leave a rest of rounding; nothing that varies is so small.
        deviation[~(deviation > 1e-9)] = np.nan
        return rest / deviation[annotator]


def image_scores(name: str, matrix: np.ndarray, scale: Scale, ties: str) -> np.ndarray:
    """Return the score of each image by a rule.

    Args:
        name: The rule; for `mos` the matrix holds z-scores.
        matrix: float64 (images, votes), NaN where there is none.
        scale: Of the votes.
        ties: As for `image_relevance`.

    Returns:
        float64 (images,), NaN where there is no vote.
    """
    from pqpp_metrics.functional import image_relevance

    if name == "majority":
        return image_relevance(matrix, ties)
    if name == "positive":
        matrix = np.where(np.isnan(matrix), np.nan, scale.is_positive(matrix))
    some = ~np.isnan(matrix).all(axis=1)
    scores = np.full(len(matrix), np.nan)
    of: Callable = np.nanmedian if name == "median" else np.nanmean
    scores[some] = of(matrix[some], axis=1)
    return scores


def prompt_means(scores: np.ndarray, prompt: np.ndarray, prompts: int) -> np.ndarray:
    """Return the mean of each prompt's image scores; NaN where there is none.

    Example:
        >>> prompt_means(np.array([0.1, 0.3, np.nan]), np.array([0, 0, 1]), 2).tolist()
        [0.2, nan]
    """
    voted = ~np.isnan(scores)
    number = np.bincount(prompt[voted], minlength=prompts)
    with np.errstate(invalid="ignore"):
        means = np.bincount(prompt[voted], scores[voted], minlength=prompts) / number
    return np.round(means, _DIGITS)
