"""How each annotator agrees with the others, and who is flagged.

An annotator is compared with everybody else who rated the same images. Somebody who answers at
random, or always alike, agrees with them by 0; the usual agreement of a study is the median of its
annotators'. The bound is half-way between the two: an annotator below it is flagged, if the votes
are enough to decide (the standard error is a quarter of the usual agreement at most, so that both
mistakes stay near 2%). With fewer votes, nobody is flagged and `undecided` is true.

A vote on a pair prefers one of two images, or neither. It is compared with the others'
on the same two images, in either order, by kappa with quadratic weights, a tie half-way; who
agrees by less than half of the usual is flagged likewise. An annotator who nearly always chooses
the same side, if the others do not, is flagged too: this needs nobody else on the same pairs.

Where many answer at random, the plain mean of the others is half noise, and good annotators agree
with it little more than bad ones. So what the others say is averaged by weights, which start equal
and then are each annotator's correlation with it (0 if that is negative), round after round.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from pqpp_datasets.own_benchmark.trust.reason import Reason
from pqpp_datasets.own_benchmark.votes.votes import Votes

_LEAST_SHARED = 20  # fewer votes beside others' have no say in what is usual, and the usual weight
_MANY_LABELS = 25  # a scale with more is compared by correlation
_ONE_LABEL = 0.95  # a share of one label that is told as the reason
_ONE_SIDE = 0.95
_LEAST_DECIDED = 20
_LEAST_RANGED = 10
_CHANCE = 0.01  # of flagging anybody for the side, over all voters

_CELLS = 2_000_000
"""Number of groups of prompts for the standard errors: this many cells, divided by annotators."""


@dataclass(frozen=True)
class SharedVotes:
    """The votes on images that others rated too.

    Attributes:
        annotator: Integers from 0 (votes,).
        item: The image of each vote, integers from 0.
        group: Groups of prompts, whose votes may err together.
        others: Number of other votes on the image.
        annotators: Number of annotators.
    """

    annotator: np.ndarray
    item: np.ndarray
    group: np.ndarray
    others: np.ndarray
    annotators: int

    def sum_votes(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum weights over each annotator's votes."""
        return np.bincount(self.annotator, weights, self.annotators).astype(np.float64)

    def average_others(self, weights: np.ndarray) -> np.ndarray:
        """Return, for each vote, the mean weight of the others' votes on the image."""
        total = np.bincount(self.item, weights)
        return (total[self.item] - weights) / self.others

    def estimate_errors(self, rests: np.ndarray) -> np.ndarray:
        """Return the standard error of each annotator's mean residual; residuals have mean 0.

        Residuals are summed per group of prompts first; with fewer than three groups the error is
        infinite.
        """
        groups = int(self.group.max(initial=0)) + 1
        cell = self.annotator * np.int64(groups) + self.group
        shape = (self.annotators, groups)
        summed = np.bincount(cell, rests, self.annotators * groups).reshape(shape)
        number = np.bincount(cell, minlength=self.annotators * groups).reshape(shape)
        number = np.count_nonzero(number, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = (summed * summed).sum(axis=1) * number / (number - 1)
            return np.where(number > 2, np.sqrt(spread) / self.sum_votes(), np.inf)

    def correlate(
        self, value: np.ndarray, other: np.ndarray, with_errors: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each annotator's correlation with other values, and the standard errors.

        The correlation is 0 if only one side is constant, NaN if both are. Without errors, which
        take most of the time, the second output is NaN.
        """
        x, y = value, other
        # Equal votes leave a rest of rounding; nothing that varies is so small.
        least = 1e-9 * float(np.abs(value).max(initial=0.0))
        number = self.sum_votes()
        with np.errstate(invalid="ignore", divide="ignore"):
            for _ in range(2):  # the second time takes the rounding's rest
                x, y = (z - (self.sum_votes(z) / number)[self.annotator] for z in (x, y))
            spread = [np.sqrt(self.sum_votes(z * z) / number) for z in (x, y)]
            x, y = (z / d[self.annotator] for z, d in zip((x, y), spread, strict=True))
            raw = self.sum_votes(x * y) / number
            constant = (spread[0] <= least) & (spread[1] > least)
            r = np.where(np.minimum(*spread) > least, raw, np.where(constant, 0.0, np.nan))
            if not with_errors:
                return r, np.full(self.annotators, np.nan)
            rests = x * y - raw[self.annotator] * (x * x + y * y) / 2
            error = self.estimate_errors(np.where(np.isfinite(rests), rests, 0.0))
            return r, np.where(constant, 1 / np.sqrt(number), error)


_ROUNDS = 10
_LEAST = 0.01
"""The least weight, of the greatest: images that only distrusted people rated have a mean too."""
_Z95 = 1.96
_Z99 = 2.33  # of honest ones no more than one in a hundred is below half of the usual


@dataclass(frozen=True)
class TrustedAgreement:
    """Each annotator's agreement with trusted annotators; arrays have one entry per annotator.

    Attributes:
        agreement: float64, the correlation with the others' weighted mean; NaN if unknown.
        error: float64, its standard error, over prompts.
        usual: The median agreement, weighted by annotator; NaN if unknown.
    """

    agreement: np.ndarray
    error: np.ndarray
    usual: float

    @property
    def low(self) -> np.ndarray:
        """Return which annotators agree less than half as much as usual, given enough votes."""
        with np.errstate(invalid="ignore"):
            decided = self.error <= self.usual / (2 * _Z99)
            return decided & (self.agreement < self.usual / 2)


def compute_trusted_agreement(votes: SharedVotes, value: np.ndarray) -> TrustedAgreement:
    """Weight annotators by their agreement with the others, who are weighted alike.

    Args:
        votes: The annotators and images of the votes.
        value: float64 (votes,).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth, noise = np.tile(np.arange(200.0) % 5, 4), rng.integers(0, 5, 800)
        >>> value = np.where(np.arange(800) < 400, truth, noise)  # two of four at random
        >>> who, item = np.repeat(np.arange(4), 200), np.tile(np.arange(200), 4)
        >>> votes = SharedVotes(who, item, item, np.full(800, 3), 4)
        >>> found = compute_trusted_agreement(votes, value)
        >>> found.low.tolist()
        [False, False, True, True]
    """
    weight = np.ones(votes.annotators)
    agreement = error = np.full(votes.annotators, np.nan)
    enough = votes.sum_votes() >= _LEAST_SHARED
    for number in range(1, _ROUNDS + 1):
        mine = weight[votes.annotator]  # of the others, the weighted mean
        total, weights = (np.bincount(votes.item, x)[votes.item] - x for x in (mine * value, mine))
        others = total / weights
        agreement, error = votes.correlate(value, others, number == _ROUNDS)
        seen = enough & np.isfinite(agreement)
        positive = np.maximum(np.nan_to_num(agreement), 0.0)
        positive[~seen] = np.median(positive[seen]) if seen.any() else 1.0
        greatest = positive.max(initial=0.0)
        if not greatest > 0:
            return TrustedAgreement(agreement, error, np.nan)
        weight = np.maximum(positive / greatest, _LEAST)
    seen = enough & np.isfinite(agreement)
    usual = np.nan
    if seen.any():  # half of the weight lies up to there
        how: dict[str, Any] = {"weights": weight[seen], "method": "inverted_cdf"}
        usual = float(np.quantile(agreement[seen], 0.5, **how))
    return TrustedAgreement(agreement, error, usual)


@dataclass(frozen=True)
class Agreements:
    """Statistics of annotators' votes; arrays have one entry per annotator.

    Attributes:
        measure: The measure of `agreement`: "kappa", "weighted kappa" (quadratic) or "correlation".
        votes: int64, the number of votes.
        shared: int64, the number of them on images that others rated too.
        agreement: float64, -1 to 1, with the others; 0 for constant votes if the others vary, NaN
            if nothing is shared or all votes are equal.
        error: float64, its standard error, over prompts.
        label: float64, the most frequent value; the lowest of equals.
        share: float64, the share of votes with it.
        seconds: float64, the median time of a vote, NaN if none is known; None without times.
        usual: The median agreement; NaN if it is unknown.
        trusted: Agreement with trusted annotators.
        undecided: bool, whether there are too few votes to decide.
        reasons: Reason of each flag; empty for others.
    """

    measure: str
    votes: np.ndarray
    shared: np.ndarray
    agreement: np.ndarray
    error: np.ndarray
    label: np.ndarray
    share: np.ndarray
    seconds: np.ndarray | None
    usual: float
    trusted: TrustedAgreement
    undecided: np.ndarray
    reasons: list[str]

    @property
    def interval(self) -> np.ndarray:
        """The ends of the 95% intervals of `agreement` on the scale of Fisher's z, over prompts.

        float64 (annotators, 2).
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            half = _Z95 * self.error / (1 - self.agreement**2)
            ends = np.arctanh(self.agreement)[:, None] + half[:, None] * [-1, 1]
        return np.where(abs(self.agreement[:, None]) < 1, np.tanh(ends), self.agreement[:, None])


def get_agreements(votes: Votes) -> Agreements | None:
    """Compare each annotator with the others; None without annotators.

    Reference images are left out, since agreement on them is too easy.
    """
    if not votes.has_annotators or votes.reference.all():
        return None
    rows = slice(None) if not votes.reference.any() else np.flatnonzero(~votes.reference)
    cells = (votes.annotator[rows], votes.item[rows], votes.prompt[rows], votes.value[rows])
    size = len(votes.annotator_names)
    seconds = None if votes.seconds is None else votes.seconds[rows]
    if votes.turned is None:
        return compare_annotators(*cells, votes.scale.level, size, seconds)
    pairs = compare_voters(*cells, votes.turned[rows], size, seconds)
    return replace(pairs.shared, reasons=pairs.reasons)


def compare_annotators(
    annotator: np.ndarray,
    item: np.ndarray,
    prompt: np.ndarray,
    value: np.ndarray,
    level: str,
    annotators: int,
    seconds: np.ndarray | None = None,
) -> Agreements:
    """Compare each annotator with the others, and flag agreement below half of the usual.

    On a nominal scale agreement is Cohen's kappa, on an ordinal one kappa with quadratic weights:
    of the annotator's votes with each vote of others on the same image, those of one image weighing
    1 together. On an interval scale, or with many different values, it is the correlation with the
    mean of the others' votes on the image (leave-one-out).

    Args:
        annotator: Whole numbers from 0 (votes,).
        item: The image of each vote, whole numbers from 0; one vote of an annotator on an image.
        prompt: The prompt of each vote; votes of one prompt may err together.
        value: float64 (votes,), without NaN.
        level: "nominal", "ordinal" or "interval".
        annotators: Number of annotators.
        seconds: float64 (votes,), how long a vote took, NaN if unknown.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth = np.tile(rng.integers(0, 2, 200), 4)
        >>> value = np.where(np.arange(800) < 600, truth, rng.integers(0, 2, 800)).astype(float)
        >>> item, who = np.tile(np.arange(200), 4), np.repeat(np.arange(4), 200)
        >>> found = compare_annotators(who, item, item, value, "nominal", 4)
        >>> [bool(reason) for reason in found.reasons]
        [False, False, False, True]
    """
    values = np.unique(value)
    code = np.searchsorted(values, value).astype(np.int32)
    votes = np.bincount(annotator, minlength=annotators)
    cells = (np.ones(len(code), np.int64), (annotator, code))
    value_counts = sparse.coo_array(cells, shape=(annotators, len(values))).tocsr()
    label = np.ravel(value_counts.argmax(axis=1))  # older scipy gives these as matrices
    share = np.ravel(value_counts.max(axis=1).toarray()) / np.maximum(votes, 1)
    times = None
    if seconds is not None:
        medians = pd.Series(seconds).groupby(annotator).median()
        times = medians.reindex(range(annotators)).to_numpy()
    others = (np.bincount(item) - 1)[item]
    kept = others > 0
    groups = prompt[kept] % max(16, _CELLS // annotators)
    overlap = SharedVotes(annotator[kept], item[kept], groups, others[kept], annotators)
    code = code[kept]
    if level == "interval" or len(values) > _MANY_LABELS:
        measure = Reason("correlation")
        own_value = values[code]
        agreement, error = overlap.correlate(own_value, overlap.average_others(own_value))
    elif level == "ordinal":
        measure = Reason("weighted kappa")
        agreement, error = _compare_by_kappa(overlap, [code.astype(np.float64)])
    else:
        measure = Reason("kappa")
        agreement, error = _compare_by_kappa(
            overlap, ((code == n).astype(np.float64) for n in range(len(values)))
        )
    shared = np.bincount(overlap.annotator, minlength=annotators)
    seen = np.isfinite(agreement) & (shared >= _LEAST_SHARED)
    usual = float(np.median(agreement[seen])) if seen.any() else np.nan
    # Always one label, where most others gave another: no chance of few votes.
    against = np.empty(len(code))  # the share of the others who gave the annotator's commonest
    for index in np.unique(label):
        rows = np.flatnonzero(label[overlap.annotator] == index)
        given_it = np.bincount(overlap.item, code == index)[overlap.item[rows]]
        against[rows] = (given_it - (code[rows] == index)) / overlap.others[rows]
    stubborn = (share >= _ONE_LABEL) & (overlap.sum_votes(against < 0.5) >= _LEAST_SHARED)
    with np.errstate(invalid="ignore"):
        decided = (error <= usual / 4) | (stubborn & (usual > 0))
        low = decided & (agreement < usual / 2)
    trusted = compute_trusted_agreement(overlap, values[code])
    reasons = [""] * annotators
    among = Reason("agreement-weighted correlation")
    for index in np.flatnonzero(low | trusted.low):
        facts = {"agreement": agreement[index], "usual": usual, "measure": measure}
        if not low[index]:
            facts = {"agreement": trusted.agreement[index], "usual": trusted.usual}
            facts["measure"] = among
        reason = Reason(
            "agreement with others is %(agreement).2f (%(measure)s), below half the median of "
            "%(usual).2f",
            **facts,
        )
        if share[index] >= _ONE_LABEL:
            own_value = {"label": values[label[index]], "share": 100 * share[index], "low": reason}
            reason = Reason("gave %(label)g in %(share).0f%% of votes; %(low)s", **own_value)
        reasons[index] = reason
    if level == "interval":
        reasons = [*map(_find_other_scales(annotator, value).get, range(annotators), reasons)]
    decided |= trusted.low
    label = np.where(votes > 0, values[label], np.nan)
    return Agreements(
        *(measure, votes, shared, agreement, error, label, share, times, usual, trusted),
        *(~decided, reasons),
    )


def _find_other_scales(annotator: np.ndarray, value: np.ndarray) -> dict[int, str]:
    """Find annotators whose votes are outside the others' range, as if on another scale.

    Nine tenths of the votes are below nine tenths of a typical annotator's votes, or above;
    annotators with fewer than ten votes are skipped.
    """
    votes = pd.Series(value).groupby(annotator)
    ranges = votes.quantile(np.array([0.1, 0.9])).unstack()[votes.size() >= _LEAST_RANGED]
    ends, reasons = ranges.to_numpy(), dict[int, str]()
    for number in range(len(ends) if len(ends) > 1 else 0):
        low, high = ends[number]
        few, many = np.median(np.delete(ends, number, axis=0), axis=0)
        if high < few or low > many:
            reasons[ranges.index[number]] = Reason(
                "votes mostly %(low)g to %(high)g, the others %(few)g to %(many)g: another scale?",
                **{"low": low, "high": high, "few": few, "many": many},
            )
    return reasons


def _compare_by_kappa(
    votes: SharedVotes, columns: Iterable[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return kappa of each annotator with the others, and its standard error.

    Two votes are as far apart as the sum of their squared differences in some columns: of a column
    for each label it is Cohen's kappa, of the labels' places alone that with quadratic weights. The
    error is that of the observed disagreement, at the expected one: it does not vanish for somebody
    who always gives one label.
    """
    apart, expected = np.zeros(len(votes.item)), np.zeros(votes.annotators)
    number = votes.sum_votes()
    with np.errstate(invalid="ignore", divide="ignore"):
        for own in columns:
            theirs, squares = votes.average_others(own), votes.average_others(own * own)
            apart += own * own - 2 * own * theirs + squares
            expected += (votes.sum_votes(own * own) + votes.sum_votes(squares)) / number
            expected -= 2 * votes.sum_votes(own) * votes.sum_votes(theirs) / number**2
        mean = votes.sum_votes(apart) / number
        expected = np.where(expected > 1e-12, expected, np.nan)
        return 1 - mean / expected, votes.estimate_errors(apart - mean[votes.annotator]) / expected


@dataclass(frozen=True)
class PairAgreements:
    """Statistics of voters' choices; arrays have one entry per voter.

    Attributes:
        shared: Agreement with the others, as for ratings; its `label` and `share` are not used.
        first: float64, the share of decided votes for the image that was first.
        ties: float64, the share of ties.
        reasons: Reason of each flag; empty for others.
    """

    shared: Agreements
    first: np.ndarray
    ties: np.ndarray
    reasons: list[str]


def compare_voters(
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
        annotator: Integers from 0 (votes,).
        item: The pair of images of each vote, in any order; integers from 0.
        prompt: The prompt of each vote.
        value: float64 (votes,), 1 for one of the two, the same for all votes on a pair, -1 for the
            other, 0 for a tie.
        turned: bool (votes,), whether the image of value 1 was second.
        annotators: Number of annotators.
        seconds: float64 (votes,), how long a vote took, NaN if unknown.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth, turned = rng.choice([-1.0, 1.0], 200), rng.random((4, 200)) < 0.5
        >>> left = np.where(turned[3], -1.0, 1.0)  # always the first
        >>> value = np.concatenate([truth, truth, truth, left])
        >>> item, who = np.tile(np.arange(200), 4), np.repeat(np.arange(4), 200)
        >>> found = compare_voters(who, item, item, value, turned.ravel(), 4)
        >>> [reason[:36] for reason in found.reasons]
        ['', '', '', 'chose the first in 100% of 200 decid']
    """
    shared = compare_annotators(annotator, item, prompt, value, "ordinal", annotators, seconds)
    votes = np.bincount(annotator, minlength=annotators)
    decided = value != 0
    firsts = np.where(turned, -value, value) > 0
    sides = np.bincount(annotator[decided], minlength=annotators)
    taken = np.bincount(annotator[firsts], minlength=annotators)
    with np.errstate(invalid="ignore", divide="ignore"):
        first, ties = taken / sides, 1 - sides / votes
    reasons = []
    for index, reason in enumerate(shared.reasons):
        side = _get_side(int(taken[index]), int(sides[index]), taken.sum(), sides.sum(), annotators)
        # The commonest label is that of no side.
        low = getattr(reason, "facts", {}).get("low", reason)
        reasons.append(Reason("%(a)s; %(b)s", a=side, b=low) if side and low else side or low)
    return PairAgreements(shared, first, ties, reasons)


def _get_side(taken: int, decided: int, all_taken: int, all_decided: int, annotators: int) -> str:
    """Return the reason if a voter favours one side and the others do not; else empty."""
    from scipy import stats

    which = "first" if 2 * taken >= decided else "second"
    taken = taken if which == "first" else decided - taken
    usual: float = all_taken if which == "first" else all_decided - all_taken
    usual = (usual - taken + 1) / (all_decided - decided + 2)  # of the others, never quite 0 or 1
    is_even = decided < _LEAST_DECIDED or taken < _ONE_SIDE * decided
    if is_even or stats.binom.sf(taken - 1, decided, usual) > _CHANCE / annotators:
        return ""
    facts: dict[str, Any] = {"share": 100 * taken / decided, "votes": decided, "usual": 100 * usual}
    rest = Reason("%(share).0f%% of %(votes)d decided votes (others: %(usual).0f%%)", **facts)
    if which == "first":
        return Reason("chose the first in %(rest)s", rest=rest)
    return Reason("chose the second in %(rest)s", rest=rest)
