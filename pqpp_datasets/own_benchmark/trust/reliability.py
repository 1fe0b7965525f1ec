"""The agreement of a benchmark's votes, and the reliability of scores computed from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from pqpp_datasets.own_benchmark.trust.figures import TARGET, Agreement, Estimate, measure_agreement
from pqpp_datasets.own_benchmark.votes.votes import Votes
from pqpp_files.figures import ResultTable
from pqpp_files.names import pluralize

_MIN_RELIABILITY = 0.5  # below it, noise exceeds the differences between prompts
_MAX_CONTRADICTING_ALPHA = -0.1


@dataclass(frozen=True)
class VoteReliability:
    """The reliability of the counted votes.

    Attributes:
        level: The scale's level of measurement: "nominal", "ordinal" or "interval".
        agreement: Agreement of the votes; None without votes, or for scores instead of votes.
        among: The noun in sentences on agreement: "annotators", or "votes" if annotators are
            unknown.
        flagged: Number of flagged annotators whose votes are counted.
        unflagged: The reliability without their votes; None if none is flagged, or if it cannot be
            estimated.
    """

    level: str
    agreement: Agreement | None
    among: str = "annotators"
    flagged: int = 0
    unflagged: Self | None = None

    @property
    def reliability(self) -> Estimate:
        """Reliability of the mean vote on a prompt and model, with 95% interval; NaN if unknown."""
        if self.agreement is None or not self.agreement.is_shared:
            return math.nan, math.nan, math.nan
        return self.agreement.compute_reliability(self.agreement.size)

    @property
    def summary(self) -> str:
        """The reliability of the scores in a sentence, and that without flagged annotators."""
        summary = self._summarise()
        if not self.unflagged:
            return summary
        unflagged = self.unflagged.summary
        noun = pluralize(self.flagged, "flagged annotator")
        return f"{summary}. Without {noun}: {unflagged[0].lower()}{unflagged[1:]}"

    def _summarise(self) -> str:
        """Return the reliability in a sentence, problems first."""
        (value, low, high), estimate = self.reliability, "reliability (ICC) of a prompt's mean vote"
        prompts = self.agreement.prompts if self.agreement else 0
        units = pluralize(prompts, "pair of a prompt and a model", "pairs of a prompt and a model")
        if not high <= 1 or not self.agreement:
            reason = f"too few of {units} have votes of two {self.among} that differ"
            return f"Too few votes to estimate the {estimate}: {reason}"
        interval = f"{value:.2f} (95% interval {low:.2f} to {high:.2f})"
        if low == 0 and high > _MIN_RELIABILITY:
            return f"Too few votes to estimate the {estimate}: {interval} over {units}"
        annotators, images, _ = self.agreement.size
        votes = f"{annotators:.3g} annotators' votes" if self.among == "annotators" else "the votes"
        votes += f" on {images:.3g} images" if images > 1 else ""
        votes += " on a prompt" if images > 1 else " on an image"  # with one, both are the same
        sentence = f"The mean of {votes} has a reliability (ICC) of {interval} over {units}"
        if value < TARGET and not self.unflagged:
            needed = self.agreement.needed_annotators
            way = f"{needed} {self.among} per image" if needed else "more images per prompt"
            sentence += f"; a reliability of {TARGET} needs {way}"
        if value < _MIN_RELIABILITY:
            warning = "Unreliable votes: noise outweighs the differences between prompts."
            sentence = f"{warning} {sentence}"
        alpha = self.agreement.figures.get(f"Krippendorff's alpha, {self.level}", (math.nan,))[0]
        return describe_disagreement(alpha, self.among) + sentence

    def plan_studies(self, width: float) -> tuple[ResultTable, str] | None:
        """Return `Agreement.plan_studies` without flagged annotators; None if it is undefined."""
        note = f" without {pluralize(self.flagged, 'flagged annotator')}" if self.unflagged else ""
        agreement = (self.unflagged or self).agreement
        if agreement is None or not agreement.is_shared:
            return None
        return agreement.plan_studies(width, f"this study{note}")


def describe_disagreement(alpha: float, people: str) -> str:
    """Return a sentence if alpha is -0.1 or less, else "".

    Example:
        >>> describe_disagreement(-0.5, "voters"), describe_disagreement(0.5, "voters")
        ("Voters contradict one another (Krippendorff's alpha -0.50). ", '')
    """
    sentence = f"{people.capitalize()} contradict one another (Krippendorff's alpha {alpha:.2f}). "
    return sentence if alpha <= _MAX_CONTRADICTING_ALPHA else ""


def measure_reliability(
    votes: Votes, counted: np.ndarray, reasons: Sequence[str] = ()
) -> VoteReliability:
    """Measure the agreement and reliability of votes.

    Args:
        counted: Indices of the votes to use.
        reasons: Reasons for the flags of the annotators, "" for those without one.
    """
    level = votes.scale.level
    among = "annotators" if votes.has_annotators else "votes"
    if not len(counted) or votes.has_scores:
        return VoteReliability(level, None, among)
    item, annotators = votes.item[counted], np.arange(len(counted))
    annotators = votes.annotator[counted] if votes.has_annotators else annotators
    columns = votes.prompt[counted], votes.model[counted], item, annotators, votes.value[counted]
    agreement = measure_agreement(*columns, level)
    flagged = np.intersect1d(annotators, np.flatnonzero([bool(reason) for reason in reasons]))
    unflagged_rows = counted[~np.isin(annotators, flagged)]
    unflagged = measure_reliability(votes, unflagged_rows) if len(flagged) else None
    if unflagged and not unflagged.reliability[0] <= 1:
        unflagged = None
    return VoteReliability(level, agreement, among, len(flagged), unflagged)
