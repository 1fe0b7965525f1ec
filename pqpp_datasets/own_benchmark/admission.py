"""Which annotators are trusted, and which three of a prompt's count.

Source: PQPP paper, section 3.1 ("Control and calibration", "Annotation process"). An annotator is
admitted who agrees with each member of the control group by a Cohen's kappa of at least `min_kappa`
on the images that both rated (so there must be some, with each member), and who found more than
`min_reference_share` of the reference images highly relevant. On another scale than PQPP's with an
order of its labels, kappa has quadratic weights. The text has lost the paper's
thresholds; .41 (the least kappa that is called moderate) and .5 are ours, as in the `hbpp` metric.
"""

from dataclasses import dataclass

import numpy as np

from pqpp_datasets.own_benchmark.options import BEST, BuildOptions
from pqpp_datasets.own_benchmark.trust.annotators import Agreements
from pqpp_datasets.own_benchmark.trust.reason import Reason
from pqpp_datasets.own_benchmark.votes.votes import Votes


@dataclass(frozen=True)
class Annotator:
    """The statistics of an annotator outside the control group.

    Attributes:
        votes: The number of votes.
        kappas: Member of the control group to Cohen's kappa with it.
        control_images: Number of images behind the kappas; None for a member of the group.
        reference_share: The share of rated reference images called highly relevant; None if none
            were rated.
        reasons: Why the judgments are not used; empty for an admitted annotator.
        flag: Why the agreement with others is unusual, or empty. The votes still count unless
            `exclude="flagged"`.
    """

    name: str
    votes: int
    kappas: dict[str, float]
    control_images: int | None
    reference_share: float | None
    reasons: tuple[str, ...]
    flag: str = ""

    @property
    def kappa(self) -> float | None:
        """The mean kappa with the control group, by which annotators are ranked."""
        return float(np.mean(list(self.kappas.values()))) if self.kappas else None


def filter_annotators(
    votes: Votes, agreements: Agreements | None, options: BuildOptions
) -> list[Annotator]:
    """Measure every annotator outside the control group, and decide who is admitted.

    A criterion that the data cannot answer (without a control group or reference images) is
    skipped; an annotator without data for it is not admitted. Without ids of annotators, the list
    is empty.

    Args:
        votes: All votes.
        agreements: Agreements of the annotators, with the reason of each flag.
        options: Options with `min_kappa`, `min_reference_share` and `exclude`.
    """
    if not votes.has_annotators:
        return []
    group = [votes.annotator_names[n] for n in np.unique(votes.annotator[votes.control])]
    size = len(votes.annotator_names)
    shared, kappas = _compute_agreement(votes)
    regular = ~votes.control
    seen = regular & votes.reference
    counts, references, high = (
        np.bincount(votes.annotator[chosen], minlength=size).tolist()
        for chosen in (regular, seen, seen & (votes.value == votes.scale.high))
    )
    annotators = []
    for number, name in enumerate(votes.annotator_names):
        if not counts[number]:
            continue
        mine = kappas.get(number, {})
        share = high[number] / references[number] if references[number] else None
        reasons: list[str] = []
        if group and not mine:
            reasons.append(Reason("rated no image of the control group"))
        for member in group if mine else ():
            kappa = mine.get(member)
            facts = {"name": member, "kappa": kappa, "least": options.min_kappa}
            if kappa is None:
                reasons.append(Reason("shares no image with %(name)s", name=member))
            elif not kappa >= options.min_kappa:
                reasons.append(
                    Reason("kappa %(kappa).3f with %(name)s is below %(least)g", **facts)
                )
        if votes.reference.any() and share is None:
            reasons.append(Reason("rated no reference image"))
        elif share is not None and share <= options.min_reference_share:
            facts = {"share": 100 * share, "least": 100 * options.min_reference_share}
            reasons.append(
                Reason(
                    "rated %(share).1f%% of the reference images highly relevant, not more "
                    "than %(least).0f%%",
                    **facts,
                )
            )
        flag = agreements.reasons[number] if agreements else ""
        if flag and options.exclude == "flagged":
            reasons.append(flag)
        annotators.append(
            Annotator(name, counts[number], mine, int(shared[number]), share, tuple(reasons), flag)
        )
    return annotators


def _compute_agreement(votes: Votes) -> tuple[np.ndarray, dict[int, dict[str, float]]]:
    """Return each annotator's number of control images, and kappas with the control group."""
    from pqpp_metrics.functional.agreement import cohen_kappa

    judged = np.isin(votes.item, votes.item[votes.control])
    rows = np.flatnonzero(~votes.control & judged)
    rows = rows[np.argsort(votes.annotator[rows], kind="stable")]
    annotators, starts = np.unique(votes.annotator[rows], return_index=True)
    kappas: dict[int, dict[str, float]] = {number: {} for number in annotators.tolist()}
    is_ordered = votes.scale.level != "nominal" and votes.scale.name != "pqpp"
    weights = "quadratic" if is_ordered else None
    for member in np.unique(votes.annotator[votes.control]):
        of_member = votes.control & (votes.annotator == member)
        theirs = np.full(len(votes.first), np.nan)
        theirs[votes.item[of_member]] = votes.value[of_member]
        for number, some in zip(kappas, np.split(rows, starts[1:]), strict=False):
            some = some[~np.isnan(theirs[votes.item[some]])]
            if len(some):
                kappa = cohen_kappa(votes.value[some], theirs[votes.item[some]], weights).statistic
                kappas[number][votes.annotator_names[member]] = kappa
    return np.bincount(votes.annotator[rows], minlength=len(votes.annotator_names)), kappas


def select_trusted_votes(votes: Votes, annotators: list[Annotator], best: int = BEST) -> np.ndarray:
    """Return the votes that count: of admitted annotators, on generated images, the best three.

    If a prompt has more annotators, those with the highest mean kappa count, ties by name; without
    a control group, all votes count.

    Returns:
        Their indices, int64, image by image and by trust within an image.
    """
    kept = ~votes.control & ~votes.reference
    if not votes.has_annotators:
        rows = np.flatnonzero(kept)
        return rows[np.argsort(votes.item[rows], kind="stable")]
    admitted = [a for a in annotators if not a.reasons]
    ranked = sorted(admitted, key=lambda a: (-(a.kappa or 0.0), a.name))
    numbers = {name: number for number, name in enumerate(votes.annotator_names)}
    rank = np.full(len(numbers), -1, np.int64)  # in the order of trust, -1 for those not admitted
    rank[[numbers[annotator.name] for annotator in ranked]] = np.arange(len(ranked))
    rows = np.flatnonzero(kept & (rank[votes.annotator] >= 0))
    if len(rows) and any(annotator.kappas for annotator in annotators):
        # The places of a prompt's annotators stand together, the best first.
        pair = votes.prompt[rows] * len(rank) + rank[votes.annotator[rows]]
        pairs, number = np.unique(pair, return_inverse=True)
        rows = rows[count_depths(pairs // len(rank))[number] < best]
    return rows[np.lexsort((rank[votes.annotator[rows]], votes.item[rows]))]


def count_depths(groups: np.ndarray) -> np.ndarray:
    """Number the elements of each run of equal values: 0, 1, 2, ...

    Example:
        >>> count_depths(np.array([7, 7, 3, 7])).tolist()
        [0, 1, 0, 0]
    """
    starts = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
    return np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
