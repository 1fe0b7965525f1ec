"""Annotator filtering: which annotators are admitted, and whose votes count for a prompt.

Source: PQPP paper, section 3.1 ("Control and calibration", "Annotation process"). An annotator is
admitted if their Cohen's kappa with each control member is at least `min_kappa` on the images that
annotator and member rated (at least one image per member), and if more than `min_reference_share`
of their ratings of reference images are highly relevant. On other ordinal scales than PQPP's, kappa
has quadratic weights. The paper does not state its thresholds; pqpp's are 0.41 (the lowest kappa
called moderate) and 0.5. In kappas of choices between two images, each counts in both orders.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pqpp_datasets.own_benchmark.options import BEST, BuildOptions
from pqpp_datasets.own_benchmark.trust.annotators import Agreements
from pqpp_datasets.own_benchmark.trust.reason import Reason
from pqpp_datasets.own_benchmark.votes.votes import Votes


@dataclass(frozen=True)
class Annotator:
    """The statistics of an annotator.

    Attributes:
        votes: Number of votes.
        kappas: Cohen's kappa with each control member, by name.
        control_images: Number of rated images that control members also rated; None for a control
            member.
        reference_share: Share of the rated reference images that the annotator rated highly
            relevant; None if they rated none.
        reasons: Reasons why the annotator's votes are not used; empty for an admitted annotator.
        flag: Reason why the agreement with others is unusual; "" if it is not. Votes of flagged
            annotators are used unless `exclude="flagged"`.
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
        """Mean kappa with the control members, by which annotators are ranked; None if unknown."""
        return float(np.mean(list(self.kappas.values()))) if self.kappas else None


def filter_annotators(
    votes: Votes, agreements: Agreements | None, options: BuildOptions
) -> list[Annotator]:
    """Decide which annotators outside the control group are admitted.

    `min_kappa` is ignored if the study has no control members, and `min_reference_share` if it has
    no reference images; otherwise, annotators without votes on such images are not admitted.

    Args:
        agreements: Each annotator's agreement with others, and the flags.
        options: Only `min_kappa`, `min_reference_share` and `exclude` are used.

    Returns:
        One entry per annotator outside the control group; [] if annotators are unknown.
    """
    if not votes.has_annotators:
        return []
    control_members = [votes.annotator_names[n] for n in np.unique(votes.annotator[votes.control])]
    shared, kappas = _compute_agreement(votes)
    regular = ~votes.control
    on_reference = regular & votes.reference
    counts, references, high = (
        np.bincount(votes.annotator[mask], minlength=len(votes.annotator_names)).tolist()
        for mask in (regular, on_reference, on_reference & (votes.value == votes.scale.high))
    )
    annotators = []
    for number, name in enumerate(votes.annotator_names):
        if not counts[number]:
            continue
        own_kappas = kappas.get(number, {})
        share = high[number] / references[number] if references[number] else None
        reasons: list[str] = []
        if control_members and not own_kappas:
            reasons.append(Reason("rated no image of the control group"))
        for member in control_members if own_kappas else ():
            kappa = own_kappas.get(member)
            if kappa is None:
                reasons.append(Reason("shares no image with %(name)s", name=member))
            elif not kappa >= options.min_kappa:
                values = {"name": member, "kappa": kappa, "least": options.min_kappa}
                reason = Reason("kappa %(kappa).3f with %(name)s is below %(least)g", **values)
                reasons.append(reason)
        if votes.reference.any() and share is None:
            reasons.append(Reason("rated no reference image"))
        elif share is not None and share <= options.min_reference_share:
            values = {"share": 100 * share, "least": 100 * options.min_reference_share}
            reason = Reason(
                "rated %(share).1f%% of the reference images highly relevant (required: more "
                "than %(least).0f%%)",
                **values,
            )
            reasons.append(reason)
        flag = agreements.reasons[number] if agreements else ""
        if flag and options.exclude == "flagged":
            reasons.append(flag)
        statistics = counts[number], own_kappas, int(shared[number]), share, tuple(reasons), flag
        annotators.append(Annotator(name, *statistics))
    return annotators


def _compute_agreement(votes: Votes) -> tuple[np.ndarray, dict[int, dict[str, float]]]:
    """Return the number of images that each annotator shares with members, and the kappas."""
    from pqpp_metrics.functional.agreement import cohen_kappa

    columns = {"annotator": votes.annotator, "item": votes.item, "value": votes.value}
    rows: Any = pd.DataFrame(columns)
    members, others = rows[votes.control], rows[~votes.control]
    others = others[others["item"].isin(members["item"])]
    is_ordered = votes.scale.level != "nominal" and votes.scale.name != "pqpp"
    weights = "quadratic" if is_ordered else None
    kappas: dict[int, dict[str, float]] = {}
    for member, member_votes in members.groupby("annotator"):
        pairs = others.merge(member_votes, on="item", suffixes=("", "_of_member"))
        for number, pair in pairs.groupby("annotator"):
            sides = pair[["value", "value_of_member"]].to_numpy().T
            if votes.turned is not None:
                sides = np.append(sides, -sides, axis=1)
            kappa = cohen_kappa(sides[0], sides[1], weights).statistic
            kappas.setdefault(number, {})[votes.annotator_names[member]] = kappa
    return np.bincount(others["annotator"], minlength=len(votes.annotator_names)), kappas


def select_counted_votes(votes: Votes, annotators: list[Annotator], best: int = BEST) -> np.ndarray:
    """Return the votes that count: those of the best admitted annotators on generated images.

    For each prompt, the votes of the `best` annotators with the highest mean kappa count; ties are
    ordered by name. Without kappas, the votes of all admitted annotators count.

    Returns:
        Indices of the votes, int64, ordered by image, then by rank of the annotator.
    """
    is_usable = ~votes.control & ~votes.reference
    if not votes.has_annotators:
        rows = np.flatnonzero(is_usable)
        return rows[np.argsort(votes.item[rows], kind="stable")]
    admitted = [a for a in annotators if not a.reasons]
    ranked = sorted(admitted, key=lambda a: (-(a.kappa or 0.0), a.name))
    numbers = {name: number for number, name in enumerate(votes.annotator_names)}
    rank = np.full(len(numbers), -1, np.int64)  # best first, -1 if not admitted
    rank[[numbers[annotator.name] for annotator in ranked]] = np.arange(len(ranked))
    rows = np.flatnonzero(is_usable & (rank[votes.annotator] >= 0))
    if len(rows) and any(annotator.kappas for annotator in annotators):
        ranks = pd.Series(rank[votes.annotator[rows]]).groupby(votes.prompt[rows])
        rows = rows[ranks.rank("dense").to_numpy() <= best]
    return rows[np.lexsort((rank[votes.annotator[rows]], votes.item[rows]))]
