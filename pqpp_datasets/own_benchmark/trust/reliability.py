"""How much the votes of a benchmark agree, and how reliable scores made of them are."""

import math
from dataclasses import dataclass

import numpy as np

from pqpp_datasets.own_benchmark.trust.figures import WANTED, Agreement, Estimate, get_agreement
from pqpp_datasets.own_benchmark.votes.votes import Votes
from pqpp_files.names import how_many

_NOISE = 0.5  # of the differences between scores less than half is of the prompts
_OPPOSED = -0.1


@dataclass(frozen=True)
class Trust:
    """The agreement of the counted votes.

    Attributes:
        level: The scale's level of measurement: "nominal", "ordinal" or "interval".
        agreement: Agreement of the votes; None for ready scores or without votes.
        among: Who repeats votes on a prompt: annotators, or votes if annotators are unknown.
    """

    level: str
    agreement: Agreement | None
    among: str = "annotators"

    @property
    def reliability(self) -> Estimate:
        """Reliability of a prompt's mean vote with a model, with its 95% interval; may be NaN."""
        if self.agreement is None or not self.agreement.is_shared:
            return math.nan, math.nan, math.nan
        return self.agreement.reliability(self.agreement.size)

    @property
    def summary(self) -> str:
        """The reliability of the scores in one sentence, problems first."""
        (value, low, high), about = self.reliability, "reliability (ICC) of a prompt's mean vote"
        prompts = self.agreement.prompts if self.agreement else 0
        units = how_many(prompts, "pair of a prompt and a model", "pairs of a prompt and a model")
        if not high <= 1 or not self.agreement:
            lacking = f"among {units} too few have two {self.among} or more whose votes differ"
            return f"Too few votes to tell the {about}: {lacking}"
        interval = f"{value:.2f} (95% interval {low:.2f} to {high:.2f})"
        if low == 0 and high > _NOISE:
            return f"Too few votes to tell the {about}: {interval} over {units}"
        people, images, _ = self.agreement.size
        who = f"{people:.3g} {self.among}' votes" if self.among == "annotators" else "the votes"
        who += f" on {images:.3g} images" if images > 1 else ""
        sentence = f"The mean of {who} on a prompt has a reliability (ICC) of {interval}"
        sentence += f" over {units}"
        if value < WANTED:
            needed = self.agreement.count_needed_annotators
            way = f"{needed} {self.among} per image" if needed else "more images per prompt"
            sentence += f"; {WANTED} needs {way}"
        if value < _NOISE:
            sentence = f"Unreliable votes, which differ more by noise than by prompt: {sentence}"
        alpha = self.agreement.figures.get(f"Krippendorff's alpha, {self.level}", (math.nan,))[0]
        return find_conflict(alpha, self.among) + sentence


def find_conflict(alpha: float, people: str) -> str:
    """Return a sentence if people contradict one another, else an empty text.

    Example:
        >>> find_conflict(-0.5, "voters"), find_conflict(0.5, "voters")
        ("Voters contradict one another (Krippendorff's alpha -0.50). ", '')
    """
    sentence = f"{people.capitalize()} contradict one another (Krippendorff's alpha {alpha:.2f}). "
    return sentence if alpha <= _OPPOSED else ""


def measure_trust(votes: Votes, counted: np.ndarray) -> Trust:
    """Measure the agreement of the counted votes.

    Args:
        votes: All votes.
        counted: Indices of the counted votes.
    """
    level = votes.scale.level
    among = "annotators" if votes.has_annotators else "votes"
    if not len(counted) or votes.is_ready:
        return Trust(level, None, among)
    item, named = votes.item[counted], np.arange(len(counted))
    named = votes.annotator[counted] if votes.has_annotators else named
    rated = votes.prompt[counted], votes.model[counted], item, named, votes.value[counted]
    return Trust(level, get_agreement(*rated, level), among)
