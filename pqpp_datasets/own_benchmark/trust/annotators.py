"""Each annotator's agreement with the others, and flags for unusual annotators.

An annotator is compared with all others who rated the same images. Random or constant answers have
an expected agreement of 0; the usual agreement of a study is the median over its annotators. An
annotator whose agreement is below half of the usual agreement is flagged if there are enough votes:
the standard error must be at most a quarter of the usual agreement, so that false positive and
false negative rates are near 2%. With fewer votes, `undecided` is true.

Votes on pairs of images are compared with others' votes on the same pair, by kappa with quadratic
weights; a tie is half-way between the two choices. Each vote counts in both orders of the images,
so that it does not matter which one is called the first. The rule for flags is the same.
An annotator who, unlike others, nearly always chooses the same side is also flagged, even without
votes of others on the same pairs.

If many annotators answer at random, the plain mean of the others' votes is mostly noise, and good
annotators agree with it only a little more than bad ones. Therefore annotators are also compared
with a weighted mean of the others' votes: an annotator's weight is their own correlation with such
a mean (0 if negative), computed iteratively from equal weights.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from pqpp_datasets.own_benchmark.trust.figures import mirror_choices
from pqpp_datasets.own_benchmark.trust.reason import Reason
from pqpp_datasets.own_benchmark.votes.votes import Votes

_MIN_SHARED = 20  # minimum shared votes to count for the usual agreement, and for a weight
_MAX_LABELS = 25  # scales with more labels are compared by correlation
_CONSTANT_SHARE = 0.95  # minimum share of one label to name it in the reason
_SIDE_SHARE = 0.95
_MIN_DECIDED = 20
_MIN_SCALE_VOTES = 10
_FALSE_FLAG_RATE = 0.01  # probability of a wrong flag for one side, over all voters

_MAX_CELLS = 2_000_000
"""Maximum number of groups of prompts for standard errors, times the number of annotators."""

# The agreement of each annotator, and its standard error.
Measured = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class SharedVotes:
    """The votes on images that several annotators rated; arrays have shape (votes,).

    Attributes:
        annotator: Annotator of each vote, integers from 0.
        item: Image of each vote, integers from 0.
        group: Group of prompts of each vote, integers from 0; votes in a group may be correlated.
        others: Number of other votes on the image of each vote.
        min_shared: Minimum number of an annotator's votes for the usual agreement, and a weight.
    """

    annotator: np.ndarray
    item: np.ndarray
    group: np.ndarray
    others: np.ndarray
    annotators: int
    min_shared: int = _MIN_SHARED

    def sum_votes(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the sum of the weights (default: 1 each) of each annotator's votes, float64."""
        return np.bincount(self.annotator, weights, self.annotators).astype(np.float64)

    def average_other_votes(self, weights: np.ndarray) -> np.ndarray:
        """Return, for each vote, the mean of `weights` over the other votes on its image."""
        return (np.bincount(self.item, weights)[self.item] - weights) / self.others

    def estimate_errors(self, residuals: np.ndarray) -> np.ndarray:
        """Return the standard error of each annotator's mean, given residuals with mean 0.

        Groups of prompts are the independent units; with fewer than three, the error is infinite.
        """
        groups = int(self.group.max(initial=0)) + 1
        cell = self.annotator * np.int64(groups) + self.group
        size = self.annotators * groups
        summed = np.bincount(cell, residuals, size).reshape(-1, groups)
        counts = np.count_nonzero(np.bincount(cell, minlength=size).reshape(-1, groups), axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = (summed * summed).sum(axis=1) * counts / (counts - 1)
            return np.where(counts > 2, np.sqrt(squares) / self.sum_votes(), np.inf)

    def correlate(self, value: np.ndarray, other: np.ndarray, with_errors: bool = True) -> Measured:
        """Return the correlation of two values of each annotator's votes, and its standard error.

        The correlation is 0 if only `value` is constant, and NaN if `other` is. Errors, which take
        most of the time, are NaN unless `with_errors` is set.
        """
        x, y = value, other
        # Constant values have a tiny deviation from rounding.
        tolerance = 1e-9 * float(np.abs(value).max(initial=0.0))
        counts = self.sum_votes()
        with np.errstate(invalid="ignore", divide="ignore"):
            for _ in range(2):  # the second time removes rounding errors
                x, y = (z - (self.sum_votes(z) / counts)[self.annotator] for z in (x, y))
            deviations = [np.sqrt(self.sum_votes(z * z) / counts) for z in (x, y)]
            x, y = (z / d[self.annotator] for z, d in zip((x, y), deviations, strict=True))
            raw = self.sum_votes(x * y) / counts
            is_constant = (deviations[0] <= tolerance) & (deviations[1] > tolerance)
            r = np.select([np.minimum(*deviations) > tolerance, is_constant], [raw, 0.0], np.nan)
            if not with_errors:
                return r, np.full(self.annotators, np.nan)
            residuals = x * y - raw[self.annotator] * (x * x + y * y) / 2
            error = self.estimate_errors(np.where(np.isfinite(residuals), residuals, 0.0))
            return r, np.where(is_constant, 1 / np.sqrt(counts), error)


_ITERATIONS = 10
_MIN_WEIGHT = 0.01
"""Minimum weight, relative to the largest, so that each image has a weighted mean."""
_Z95 = 1.96
_Z99 = 2.33  # at most 1% of honest annotators are flagged


class TrustedAgreement(NamedTuple):
    """Each annotator's agreement with the weighted mean of the others; one entry per annotator.

    Attributes:
        agreement: Correlation with the weighted mean of the others' votes, float64; NaN if unknown.
        error: Standard error of the correlation over prompts, float64.
        median: Median agreement, weighted by the annotators' weights; NaN if unknown.
    """

    agreement: np.ndarray
    error: np.ndarray
    median: float


def compute_trusted_agreement(votes: SharedVotes, value: np.ndarray) -> TrustedAgreement:
    """Compute each annotator's agreement with the others, weighted by their own agreement.

    Args:
        votes: The annotators and images of the votes.
        value: Value of each vote, float64.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth, noise = np.tile(np.arange(200.0) % 5, 4), rng.integers(0, 5, 800)
        >>> value = np.where(np.arange(800) < 400, truth, noise)  # two of four at random
        >>> who, item = np.repeat(np.arange(4), 200), np.tile(np.arange(200), 4)
        >>> votes = SharedVotes(who, item, item, np.full(800, 3), 4)
        >>> result = compute_trusted_agreement(votes, value)
        >>> (result.agreement < result.median / 2).tolist()
        [False, False, True, True]
    """
    weight = np.ones(votes.annotators)
    agreement = error = np.full(votes.annotators, np.nan)
    has_enough = votes.sum_votes() >= votes.min_shared
    for iteration in range(1, _ITERATIONS + 1):
        own = weight[votes.annotator]
        totals, weights = (np.bincount(votes.item, x)[votes.item] - x for x in (own * value, own))
        agreement, error = votes.correlate(value, totals / weights, iteration == _ITERATIONS)
        is_known = has_enough & np.isfinite(agreement)
        positive = np.maximum(np.nan_to_num(agreement), 0.0)
        positive[~is_known] = np.median(positive[is_known]) if is_known.any() else 1.0
        maximum = positive.max(initial=0.0)
        if not maximum > 0:
            return TrustedAgreement(agreement, error, np.nan)
        weight = np.maximum(positive / maximum, _MIN_WEIGHT)
    median = np.nan
    if is_known.any():  # the weighted median
        method: dict[str, Any] = {"weights": weight[is_known], "method": "inverted_cdf"}
        median = float(np.quantile(agreement[is_known], 0.5, **method))
    return TrustedAgreement(agreement, error, median)


@dataclass(frozen=True)
class Agreements:
    """Statistics of annotators' votes; arrays have one entry per annotator.

    Attributes:
        measure: Measure of `agreement`: "kappa", "weighted kappa" (quadratic) or "correlation".
        votes: Number of votes, int64.
        shared: Number of votes on images that others also rated, int64.
        agreement: Agreement with the others, -1 to 1, float64; 0 for constant votes if the others
            vary, NaN without shared votes or if all votes are equal.
        error: Standard error of the agreement over prompts, float64.
        label: Most frequent value (the lowest of several), float64.
        share: Share of votes with that value, float64.
        median: Median agreement; NaN if unknown.
        undecided: Whether the annotator has too few votes for a decision, bool.
        reasons: Reasons for the flags; "" for annotators without one.
        first: For choices between two images, the share of the first image among votes that are not
            ties, float64; `label` and `share` are then without meaning.
        ties: For choices, the share of ties, float64.
    """

    measure: str
    votes: np.ndarray
    shared: np.ndarray
    agreement: np.ndarray
    error: np.ndarray
    label: np.ndarray
    share: np.ndarray
    median: float
    trusted: TrustedAgreement
    undecided: np.ndarray
    reasons: list[str]
    first: np.ndarray | None = None
    ties: np.ndarray | None = None

    @property
    def interval(self) -> np.ndarray:
        """95% interval of each agreement by Fisher's z; float64, shape (annotators, 2)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            half = _Z95 * self.error / (1 - self.agreement**2)
            ends = np.arctanh(self.agreement)[:, None] + half[:, None] * [-1, 1]
        return np.where(abs(self.agreement[:, None]) < 1, np.tanh(ends), self.agreement[:, None])


def compute_agreements(votes: Votes) -> Agreements | None:
    """Compare each annotator with the others, without reference images; None without annotators."""
    if not votes.has_annotators or votes.reference.all():
        return None
    rows = ~votes.reference
    cells = (votes.annotator[rows], votes.item[rows], votes.prompt[rows], votes.value[rows])
    if votes.turned is None:
        return compare_annotators(*cells, votes.scale.level, len(votes.annotator_names))
    return compare_voters(*cells, votes.turned[rows], len(votes.annotator_names))


def compare_annotators(
    annotator: np.ndarray,
    item: np.ndarray,
    prompt: np.ndarray,
    value: np.ndarray,
    level: str,
    annotators: int,
    min_shared: int = _MIN_SHARED,
) -> Agreements:
    """Compare each annotator with the others; flag those who agree less than half as much as usual.

    On a nominal scale, agreement is Cohen's kappa, and on an ordinal scale kappa with quadratic
    weights, between the annotator's votes and each vote of others on the same image; an annotator's
    comparisons on an image have a total weight of 1. On an interval scale, or with more than 25
    distinct values, agreement is the correlation with the mean of the others' votes on the image.

    Args:
        annotator: Annotator of each vote, integers from 0, shape (votes,).
        item: Image of each vote, integers from 0; an annotator has one vote per image.
        prompt: Prompt of each vote, integers from 0; votes on a prompt may be correlated.
        value: Value of each vote, float64 without NaN.
        level: "nominal", "ordinal" or "interval".
        min_shared: See `SharedVotes`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth = np.tile(rng.integers(0, 2, 200), 4)
        >>> value = np.where(np.arange(800) < 600, truth, rng.integers(0, 2, 800)).astype(float)
        >>> item, who = np.tile(np.arange(200), 4), np.repeat(np.arange(4), 200)
        >>> result = compare_annotators(who, item, item, value, "nominal", 4)
        >>> [bool(reason) for reason in result.reasons]
        [False, False, False, True]
    """
    values, code = np.unique(value, return_inverse=True)
    votes = np.bincount(annotator, minlength=annotators)
    cells = (np.ones(len(code), np.int64), (annotator, code))
    value_counts = sparse.coo_array(cells, shape=(annotators, len(values))).tocsr()
    label = np.ravel(value_counts.argmax(axis=1))  # older scipy returns matrices
    share = np.ravel(value_counts.max(axis=1).toarray()) / np.maximum(votes, 1)
    others = (np.bincount(item) - 1)[item]
    rows = np.flatnonzero(others)
    groups = prompt[rows] % max(16, _MAX_CELLS // annotators)
    columns = annotator[rows], item[rows], groups, others[rows], annotators
    overlap, code, ratings = SharedVotes(*columns, min_shared), code[rows], value[rows]
    if level == "interval" or len(values) > _MAX_LABELS:
        measure = Reason("correlation")
        agreement, error = overlap.correlate(ratings, overlap.average_other_votes(ratings))
    elif level == "ordinal":
        measure = Reason("weighted kappa")
        agreement, error = _compute_kappas(overlap, [code.astype(np.float64)])
    else:
        measure = Reason("kappa")
        indicators = ((code == n).astype(np.float64) for n in range(len(values)))
        agreement, error = _compute_kappas(overlap, indicators)
    shared = np.bincount(overlap.annotator, minlength=annotators)
    is_known = np.isfinite(agreement) & (shared >= min_shared)
    median = float(np.median(agreement[is_known])) if is_known.any() else np.nan
    # Few votes suffice if the label is always the same and most others gave another one.
    cell = pd.factorize(overlap.item * len(values) + code)[0]
    disagreements = overlap.sum_votes((np.bincount(cell)[cell] - 1) / overlap.others < 0.5)
    is_constant = (share >= _CONSTANT_SHARE) & (disagreements >= min_shared)
    trusted = compute_trusted_agreement(overlap, ratings)
    with np.errstate(invalid="ignore"):
        is_decided = (error <= median / 4) | (is_constant & (median > 0))
        is_low = is_decided & (agreement < median / 2)
        is_sure = trusted.error <= trusted.median / (2 * _Z99)
        is_untrusted = is_sure & (trusted.agreement < trusted.median / 2)
    reasons = [""] * annotators
    for index in np.flatnonzero(is_low | is_untrusted):
        comparison = agreement[index], median, measure
        if not is_low[index]:
            correlation = Reason("agreement-weighted correlation")
            comparison = trusted.agreement[index], trusted.median, correlation
        reasons[index] = _explain_low_agreement(*comparison, values[label[index]], share[index])
    if level == "interval":
        reasons = [*map(_find_other_scales(annotator, value).get, range(annotators), reasons)]
    label = np.where(votes > 0, values[label], np.nan)
    statistics = votes, shared, agreement, error, label, share, median
    return Agreements(measure, *statistics, trusted, ~(is_decided | is_untrusted), reasons)


def _explain_low_agreement(
    agreement: float, median: float, measure: str, label: float, share: float
) -> Reason:
    agreement = round(agreement, 2) + 0.0  # no -0.00
    reason = Reason(
        "agreement with others is %(agreement).2f (%(measure)s), below half the median of "
        "%(usual).2f",
        **{"agreement": agreement, "usual": median, "measure": measure},
    )
    if agreement < -median / 2:
        reason = Reason("%(why)s; perhaps the scale was reversed", why=reason)
    if share >= _CONSTANT_SHARE:
        values = {"label": label, "share": 100 * share, "low": reason}
        reason = Reason("gave %(label)g in %(share).0f%% of votes; %(low)s", **values)
    return reason


def _find_other_scales(annotator: np.ndarray, value: np.ndarray) -> dict[int, str]:
    """Return the annotators whose votes seem to be on another scale, with the reasons."""
    # Their 90% quantile is below the median of the others' 10% quantiles, or vice versa.
    # Annotators with fewer than ten votes are ignored.
    votes = pd.Series(value).groupby(annotator)
    ranges = votes.quantile(np.array([0.1, 0.9])).unstack()[votes.size() >= _MIN_SCALE_VOTES]
    quantiles, n, reasons = ranges.to_numpy(), len(ranges), dict[int, str]()
    order = quantiles.argsort(axis=0)
    ordered, rank = np.take_along_axis(quantiles, order, axis=0), order.argsort(axis=0)
    # The middle of the others: indices from an annotator's own rank on move up by one.
    middle = [np.minimum(k + (rank <= k), n - 1) for k in ((n - 2) // 2, (n - 1) // 2)]
    medians = np.mean([np.take_along_axis(ordered, index, axis=0) for index in middle], axis=0)
    is_other = (quantiles[:, 1] < medians[:, 0]) | (quantiles[:, 0] > medians[:, 1])
    for number in np.flatnonzero(is_other).tolist():
        (low, high), (few, many) = quantiles[number], medians[number]
        reasons[ranges.index[number]] = Reason(
            "votes are mostly %(low)g to %(high)g, others' %(few)g to %(many)g (another scale)",
            **{"low": low, "high": high, "few": few, "many": many},
        )
    return reasons


def _compute_kappas(votes: SharedVotes, columns: Iterable[np.ndarray]) -> Measured:
    """Return each annotator's kappa with the others, and its standard error."""
    # The disagreement of two votes is the sum of squared differences over `columns`: an indicator
    # column per label gives Cohen's kappa, and one column of label ranks gives quadratic weights.
    # The error is that of the observed disagreement, divided by the expected one, so it is not 0
    # for constant votes.
    observed, expected = np.zeros(len(votes.item)), np.zeros(votes.annotators)
    counts = votes.sum_votes()
    with np.errstate(invalid="ignore", divide="ignore"):
        for column in columns:
            squares = column * column
            others, other_squares = map(votes.average_other_votes, (column, squares))
            observed += squares - 2 * column * others + other_squares
            expected += (votes.sum_votes(squares) + votes.sum_votes(other_squares)) / counts
            expected -= 2 * votes.sum_votes(column) * votes.sum_votes(others) / counts**2
        mean = votes.sum_votes(observed) / counts
        expected = np.where(expected > 1e-12, expected, np.nan)
        errors = votes.estimate_errors(observed - mean[votes.annotator])
        return 1 - mean / expected, errors / expected


def compare_voters(
    annotator: np.ndarray,
    item: np.ndarray,
    prompt: np.ndarray,
    value: np.ndarray,
    turned: np.ndarray,
    annotators: int,
) -> Agreements:
    """Compare each voter's choices between pairs of images with the others' choices.

    Args:
        annotator: Voter of each vote, integers from 0, shape (votes,).
        item: Pair of images of each vote, whatever their order, integers from 0.
        prompt: Prompt of each vote, integers from 0.
        value: 1 for one image of the pair, the same one in all votes, -1 for the other, 0 for a
            tie; float64.
        turned: Whether the image of value 1 was second, bool.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth, turned = rng.choice([-1.0, 1.0], 200), rng.random((4, 200)) < 0.5
        >>> left = np.where(turned[3], -1.0, 1.0)  # always the first
        >>> value = np.concatenate([truth, truth, truth, left])
        >>> item, who = np.tile(np.arange(200), 4), np.repeat(np.arange(4), 200)
        >>> result = compare_voters(who, item, item, value, turned.ravel(), 4)
        >>> [reason[:26] for reason in result.reasons]
        ['', '', '', 'chose the first image in 1']
    """
    from scipy import stats

    items, values = mirror_choices(item, value)
    columns = np.tile(annotator, 2), items, np.tile(prompt, 2), values
    both = compare_annotators(*columns, "ordinal", annotators, 2 * _MIN_SHARED)
    agreements = replace(both, votes=both.votes // 2, shared=both.shared // 2)
    decided = np.bincount(annotator[value != 0], minlength=annotators)
    is_first = np.where(turned, -value, value) > 0
    first_counts = np.bincount(annotator[is_first], minlength=annotators)
    with np.errstate(invalid="ignore", divide="ignore"):
        first, ties = first_counts / decided, 1 - decided / agreements.votes
    prefers_first = 2 * first_counts >= decided
    preferred = np.where(prefers_first, first_counts, decided - first_counts)
    total = np.where(prefers_first, first_counts.sum(), (decided - first_counts).sum())
    usual = (total - preferred + 1) / (decided.sum() - decided + 2)  # of the others, never 0 or 1
    is_biased = (decided >= _MIN_DECIDED) & (preferred >= _SIDE_SHARE * decided)
    is_biased &= stats.binom.sf(preferred - 1, decided, usual) <= _FALSE_FLAG_RATE / annotators
    reasons = []
    for n, reason in enumerate(agreements.reasons):
        # The most frequent label says nothing about sides.
        reason = getattr(reason, "facts", {}).get("low", reason)
        if is_biased[n]:
            share = 100 * preferred[n] / decided[n]
            rest = Reason(
                "%(share).0f%% of %(votes)d decided votes (others: %(usual).0f%%)",
                **{"share": share, "votes": decided[n], "usual": 100 * usual[n]},
            )
            side = Reason("chose the second image in %(rest)s", rest=rest)
            if prefers_first[n]:
                side = Reason("chose the first image in %(rest)s", rest=rest)
            reason = Reason("%(a)s; %(b)s", a=side, b=reason) if reason else side
        reasons.append(reason)
    return replace(agreements, reasons=reasons, first=first, ties=ties)
