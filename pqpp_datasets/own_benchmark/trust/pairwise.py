"""How each voter on pairs agrees with the others, and who is flagged.

A vote says which of two images is preferred, or neither. It is compared with the others' on the
same two images, whichever stood first, by kappa with quadratic weights, a tie half-way; who agrees
by less than half of the usual is flagged as in `annotators`. A voter who nearly always takes the
same side is flagged beside that, if the others do not: it needs nobody else on the same pairs.
"""

from dataclasses import dataclass

import numpy as np

from pqpp_datasets.own_benchmark.trust.annotators import Agreements, agreements

_ONE_SIDE = 0.95
_LEAST_DECIDED = 20
_CHANCE = 0.01  # of flagging anybody for the side, over all voters


@dataclass(frozen=True)
class PairAgreements:
    """What the choices say of each voter, a place in each array one voter.

    Attributes:
        shared: Agreement with the others, as of ratings; its `label` and `share` are not used.
        majority: float64, of the votes beside a majority of others the share that are as it is; NaN
            where there is none.
        first: float64, the share of decided votes for the image that stood first.
        ties: float64, the share of ties.
        reasons: Why somebody is flagged; empty for all others.
    """

    shared: Agreements
    majority: np.ndarray
    first: np.ndarray
    ties: np.ndarray
    reasons: list[str]


def pair_agreements(
    annotator: np.ndarray,
    item: np.ndarray,
    prompt: np.ndarray,
    value: np.ndarray,
    turned: np.ndarray,
    annotators: int,
    seconds: np.ndarray | None = None,
) -> PairAgreements:
    """Compare each voter on pairs with the others.

    Args:
        annotator: Whole numbers from 0 (votes,).
        item: The pair of images of each vote, whole numbers from 0, whichever stands first.
        prompt: The prompt of each vote, likewise.
        value: float64 (votes,), 1 for one of the two, the same for all votes on a pair, -1 for the
            other, 0 for a tie.
        turned: bool (votes,), whether the one that 1 stands for stood second.
        annotators: How many there are.
        seconds: float64 (votes,), how long a vote took, NaN where unknown.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth, turned = rng.choice([-1.0, 1.0], 200), rng.random((4, 200)) < 0.5
        >>> left = np.where(turned[3], -1.0, 1.0)  # always the first
        >>> value = np.concatenate([truth, truth, truth, left])
        >>> item, who = np.tile(np.arange(200), 4), np.repeat(np.arange(4), 200)
        >>> found = pair_agreements(who, item, item, value, turned.ravel(), 4)
        >>> [reason[:36] for reason in found.reasons]
        ['', '', '', 'took the first in 100% of 200 decide']
    """
    shared = agreements(annotator, item, prompt, value, "ordinal", annotators, seconds)
    votes = np.bincount(annotator, minlength=annotators)
    decided = value != 0
    firsts = np.where(turned, -value, value) > 0
    sides = np.bincount(annotator[decided], minlength=annotators)
    taken = np.bincount(annotator[firsts], minlength=annotators)
    others = np.bincount(item, value)[item] - value
    beside = others != 0
    alike = np.bincount(
        annotator[beside & (np.sign(others) == np.sign(value))], minlength=annotators
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        first, ties = taken / sides, 1 - sides / votes
        majority = alike / np.bincount(annotator[beside], minlength=annotators)
    reasons = []
    for place, reason in enumerate(shared.reasons):
        side = _side(int(taken[place]), int(sides[place]), taken.sum(), sides.sum(), annotators)
        reason = reason.partition("; ")[2] or reason  # the commonest label is that of no side
        reasons.append("; ".join(filter(None, (side, reason))))
    return PairAgreements(shared, majority, first, ties, reasons)


def _side(taken: int, decided: int, all_taken: int, all_decided: int, annotators: int) -> str:
    """Say that a voter takes one side where the others do not; empty if that is not so."""
    from scipy import stats

    which = "first" if 2 * taken >= decided else "second"
    taken = taken if which == "first" else decided - taken
    rest = all_decided - decided
    usual: float = all_taken if which == "first" else all_decided - all_taken
    usual = (usual - taken + 1) / (rest + 2)  # of the others, never quite 0 or 1
    if decided < _LEAST_DECIDED or taken < _ONE_SIDE * decided:
        return ""
    if stats.binom.sf(taken - 1, decided, usual) > _CHANCE / annotators:
        return ""
    share = taken / decided
    return f"took the {which} in {share:.0%} of {decided} decided votes, the others in {usual:.0%}"
