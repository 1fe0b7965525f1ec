"""Which annotators are trusted, and which three of a prompt's count.

Source: PQPP paper, section 3.1 ("Control and calibration", "Annotation process"). An annotator is
admitted who agrees with each member of the control group by a Cohen's kappa of at least `min_kappa`
on the images that both judged (so there must be some, with each member), and who found more than
`min_reference_share` of the reference images highly relevant. On another scale than PQPP's with an
order of its labels, kappa has quadratic weights. The text has lost the paper's
thresholds; .41 (the least kappa that is called moderate) and .5 are ours, as in the `hbpp` metric.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pqpp_datasets.own_benchmark.votes.votes import Votes, depths

MIN_KAPPA = 0.41
MIN_REFERENCE_SHARE = 0.5
BEST = 3


@dataclass(frozen=True)
class Annotator:
    """What is known of an annotator who is not in the control group.

    Attributes:
        votes: How many judgments came.
        kappas: Member of the control group to Cohen's kappa with it.
        control_images: On how many images that is measured.
        reference_share: Of the reference images judged, the share called highly relevant; None if
            none were judged.
        reasons: Why the judgments are not used; empty for an admitted annotator.
        flag: Why the agreement with the others is odd; empty where it is not. It is no reason
            unless `exclude="flagged"` makes it one.
    """

    name: str
    votes: int
    kappas: dict[str, float]
    control_images: int
    reference_share: float | None
    reasons: tuple[str, ...]
    flag: str = ""

    @property
    def kappa(self) -> float | None:
        """The mean kappa with the control group, by which annotators are ranked."""
        return float(np.mean(list(self.kappas.values()))) if self.kappas else None


def judge_annotators(
    votes: Votes,
    min_kappa: float = MIN_KAPPA,
    min_reference_share: float = MIN_REFERENCE_SHARE,
    flags: Sequence[str] = (),
    exclude: str | None = None,
    called: Sequence[str] | None = None,
) -> list[Annotator]:
    """Measure every annotator outside the control group, and say who is not admitted and why.

    A criterion that the data can't answer at all (no control group, no reference images) is left
    out; an annotator whom it can't be answered for is not admitted. Without ids of annotators there
    is nobody to measure.

    Args:
        votes: All votes.
        min_kappa: As of `BuildOptions`.
        min_reference_share: Likewise.
        flags: Why each annotator is flagged, empty for those who are not.
        exclude: "flagged" for not admitting them.
        called: What annotators are called in the result; their names if left out.
    """
    if not votes.has_annotators:
        return []
    shared, kappas = _agreement(votes)
    called = called or votes.annotator_names
    named = {one: {called[n]: k for n, k in own.items()} for one, own in kappas.items()}
    group = [called[number] for number in np.unique(votes.annotator[votes.control])]
    regular = ~votes.control
    size = len(votes.annotator_names)
    counts = np.bincount(votes.annotator[regular], minlength=size)
    seen = regular & votes.reference
    references = np.bincount(votes.annotator[seen], minlength=size)
    high = np.bincount(votes.annotator[seen & (votes.value == votes.scale.high)], minlength=size)
    found = []
    for number in np.flatnonzero(counts).tolist():
        own = named.get(number, {})
        share = float(high[number] / references[number]) if references[number] else None
        flag = flags[number] if flags else ""
        reasons = [
            *(_agreement_faults(own, group, min_kappa) if group else []),
            *(_reference_faults(share, min_reference_share) if votes.reference.any() else []),
            *([flag] if flag and exclude == "flagged" else []),
        ]
        found.append(
            Annotator(
                called[number],
                int(counts[number]),
                own,
                int(shared[number]),
                share,
                tuple(reasons),
                flag,
            )
        )
    return found


def _agreement(votes: Votes) -> tuple[np.ndarray, dict[int, dict[int, float]]]:
    """Return how many control images each annotator judged, and kappas with the control group."""
    from pqpp_metrics.functional.agreement import cohen_kappa

    judged = np.zeros(int(votes.item.max()) + 1, bool)
    judged[votes.item[votes.control]] = True
    rows = np.flatnonzero(~votes.control & judged[votes.item])
    rows = rows[np.argsort(votes.annotator[rows], kind="stable")]
    annotators, starts = np.unique(votes.annotator[rows], return_index=True)
    parts = np.split(rows, starts[1:]) if len(rows) else []
    kappas: dict[int, dict[int, float]] = {int(number): {} for number in annotators}
    is_ordered = votes.scale.level != "nominal" and votes.scale.name != "pqpp"
    weights = "quadratic" if is_ordered else None
    for member in np.unique(votes.annotator[votes.control]):
        own = votes.control & (votes.annotator == member)
        theirs = np.full(len(judged), np.nan)
        theirs[votes.item[own]] = votes.value[own]
        for number, part in zip(annotators, parts, strict=True):
            other = theirs[votes.item[part]]
            both = ~np.isnan(other)
            if both.any():
                kappa = cohen_kappa(votes.value[part][both], other[both], weights)
                kappas[int(number)][int(member)] = kappa
    return np.bincount(votes.annotator[rows], minlength=len(votes.annotator_names)), kappas


def _agreement_faults(kappas: dict[str, float], group: list[str], least: float) -> list[str]:
    if not kappas:
        return ["judged no image of the control group"]
    return [
        f"kappa {kappas[name]:.3f} with {name} is below {least:g}"
        if name in kappas
        else f"shares no image with {name}"
        for name in group
        if not kappas.get(name, -math.inf) >= least
    ]


def _reference_faults(share: float | None, least: float) -> list[str]:
    if share is None:
        return ["judged no reference image"]
    if share > least:
        return []
    return [f"called {share:.1%} of the reference images highly relevant, not over {least:.0%}"]


def trusted_votes(votes: Votes, annotators: list[Annotator], best: int = BEST) -> np.ndarray:
    """Return which votes count: of admitted annotators, of generated images, the best three.

    A prompt with more annotators keeps the votes of those with the highest mean kappa, equals in
    the order of their names; without a control group all votes are kept. It is the rule of
    `pqpp_metrics.functional.keep_best_annotators`, without a cell for every image and annotator.

    Returns:
        int64, their numbers: image by image, and of an image in the order of trust.
    """
    if not votes.has_annotators:
        rows = np.flatnonzero(~votes.control & ~votes.reference)
        return rows[np.argsort(votes.item[rows], kind="stable")]
    place = _places(votes, annotators)
    rows = np.flatnonzero(~votes.control & ~votes.reference & (place[votes.annotator] >= 0))
    if len(rows) and any(annotator.kappas for annotator in annotators):
        # The places of a prompt's annotators stand together, the best first.
        pair = votes.prompt[rows] * len(place) + place[votes.annotator[rows]]
        pairs, number = np.unique(pair, return_inverse=True)
        rows = rows[depths(pairs // len(place))[number] < best]
    return rows[np.lexsort((place[votes.annotator[rows]], votes.item[rows]))]


def vote_matrix(votes: Votes, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Lay votes out as a row an image, NaN where there is none.

    Args:
        votes: All votes.
        rows: Which are laid out, image by image.
        values: Their values.

    Returns:
        float64 (items, most votes of an image).
    """
    depth = depths(votes.item[rows])
    width = int(depth.max()) + 1 if len(depth) else 1
    matrix = np.full((len(votes.first), width), np.nan)
    matrix[votes.item[rows], depth] = values
    return matrix


def _places(votes: Votes, annotators: list[Annotator]) -> np.ndarray:
    """Return the place of each annotator in the order of trust, -1 for those not admitted."""
    admitted = [a for a in annotators if not a.reasons]
    ranked = sorted(admitted, key=lambda a: (-(a.kappa or 0.0), a.name))
    numbers = {name: number for number, name in enumerate(votes.annotator_names)}
    place = np.full(len(votes.annotator_names), -1, np.int64)
    place[[numbers[annotator.name] for annotator in ranked]] = np.arange(len(ranked))
    return place
