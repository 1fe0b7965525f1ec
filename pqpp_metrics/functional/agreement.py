"""Chance-corrected agreement of raters, accuracy on preferences, and strengths of models.

If all ratings are the same label, observed and chance agreement are both 1 and the formulas divide
0 by 0. The value is then 1, the limit for unanimous ratings as a second label becomes rare.
Intervals are over items, from each item's influence on the coefficient (`interval` "influence"),
and computed when they are read.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from statistics import NormalDist

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._categories import (
    as_labels,
    encode_categories,
    encode_labels,
    to_label_array,
)
from pqpp_metrics.functional._containers import Floats, Integers, Values
from pqpp_metrics.functional._pairs import TIE_TOLERANCE
from pqpp_metrics.functional._result import Result
from pqpp_metrics.functional._studentised import make_rate_result
from pqpp_metrics.functional._votes import compute_disagreement, get_ac1, get_agreement_interval


def fleiss_kappa(ratings: Values, confidence: float = 0.95, interval: str = "influence") -> Result:
    """Return Fleiss' kappa: agreement of several raters on categories, beyond chance.

    Fleiss, "Measuring Nominal Scale Agreement Among Many Raters", Psychological Bulletin 76,
    1971; PQPP, section 3.1. Every item needs the same number of ratings, not the same raters.

    Args:
        ratings: The label that each rater gave, shape (items, raters), at least 2 raters; text,
            numbers or booleans, none missing (`krippendorff_alpha` allows missing ratings). A table
            that looks like counts, items by categories, gives a warning.
        confidence: Level of the interval, between 0 and 1.
        interval: "influence" (default) or "none".

    Returns:
        `Result` with "fleiss_kappa": 1 is full agreement, 0 is the agreement expected by chance,
        and the minimum is -1 / (raters - 1); "ci_low" and "ci_high", the interval; and "n", the
        number of items.

    Example:
        >>> result = fleiss_kappa([["a", "a", "a"], ["b", "b", "b"], ["a", "b", "a"]])
        >>> round(result.statistic, 4), result.n
        (0.55, 3)
    """
    (codes,), categories = encode_labels(2, ratings=ratings)
    items, raters = codes.shape
    if raters < 2:
        raise _inputs.shape_error("ratings", codes, "must have at least 2 raters")
    if items > 2 and isinstance(categories[0], int) and categories[0] >= 0:
        sums = np.array(categories)[codes].sum(axis=1)
        differ = (np.sort(codes, axis=1) != np.sort(codes[0])).any()
        if differ and sums[0] > 1 and (sums == sums[0]).all():
            fault = f"each row of `ratings` sums to {sums[0]}, like counts of categories"
            warnings.warn(f"{fault}; use each rater's label, shape (items, raters)", stacklevel=2)
    item = np.repeat(np.arange(items), raters)
    ratio, effects = compute_disagreement(item, codes.ravel(), "nominal")
    get_ends = partial(get_agreement_interval, 1 - ratio, effects, item)
    return Result("fleiss_kappa", 1 - ratio, None, items, confidence, interval, get_ends)


def cohen_kappa(
    predictions: Values,
    references: Values,
    weights: str | None = None,
    confidence: float = 0.95,
    interval: str = "influence",
) -> Result:
    """Return Cohen's kappa: agreement of two raters on categories, beyond chance.

    Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
    Measurement 20, 1960; PQPP, section 3.1.

    Args:
        predictions: Labels of one rater, shape (items,): text, numbers or booleans.
        references: Labels of the other rater, same shape and type.
        weights: Weight of a disagreement: None (default), the same for all; "linear" or "quadratic"
            in the distance of the two categories in ascending order (Cohen 1968).
        confidence: Level of the interval, between 0 and 1.
        interval: "influence" (default) or "none".

    Returns:
        `Result` with "cohen_kappa" in [-1, 1]: 1 is full agreement, 0 is the agreement expected by
        chance; "ci_low" and "ci_high", the interval; and "n", the number of items.

    Example:
        >>> result = cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0])
        >>> round(result.statistic, 4), result.n
        (0.5, 4)
    """
    if weights is not None:
        _inputs.require_choice("weights", weights, ("linear", "quadratic"))
    (left, right), _ = encode_labels(1, predictions=predictions, references=references)
    value, effects = _compute_kappa(left, right, weights)
    get_ends = partial(get_agreement_interval, value, effects, np.arange(len(left)))
    return Result("cohen_kappa", value, None, len(left), confidence, interval, get_ends)


def _compute_kappa(left, right, weights):
    """Return weighted kappa of two raters' category codes, and each item's influence on it."""
    n, codes = len(left), np.unique(np.concatenate([left, right]), return_inverse=True)[1]
    left, right = codes[:n], codes[n:]
    values, distances = np.arange(int(codes.max()) + 1), np.abs(left - right).astype(np.float64)
    # The disagreement expected by chance needs only each rater's shares, no table of all pairs.
    shares = [np.bincount(side, minlength=len(values)) / n for side in (left, right)]
    means = [share @ values for share in shares]
    # The mean distance of each category from the ratings of each rater.
    if weights is None:
        distances, expected = np.sign(distances), [1 - share for share in shares]
    elif weights == "linear":  # as many steps as there are between them
        steps = [np.cumsum([0, *(1 - 2 * np.cumsum(share)[:-1])]) for share in shares]
        expected = [mean - step for mean, step in zip(means, steps, strict=True)]
    else:
        pairs, distances = zip(shares, means, strict=True), distances**2
        expected = [(values - mean) ** 2 + share @ (values - mean) ** 2 for share, mean in pairs]
    if not (by_chance := shares[0] @ expected[1]):
        return 1.0, np.zeros(n)
    ratio, by_item = float(distances.mean() / by_chance), expected[1][left] + expected[0][right]
    effects = ratio * (by_item - 2 * by_chance) - (distances - distances.mean())
    return 1 - ratio, effects / by_chance


def krippendorff_alpha(
    ratings: Values, level: str = "nominal", confidence: float = 0.95, interval: str = "influence"
) -> Result:
    """Return Krippendorff's alpha: agreement of raters, with missing ratings allowed.

    Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011; VISTAR, section 4.1.

    Args:
        ratings: The rating of each rater, shape (items, raters): numbers, or for "nominal" text;
            NaN or None if missing. Items with fewer than two ratings are left out. The package
            krippendorff has (raters, items): a table with more than twice as many columns as rows
            gives a warning.
        level: The level of measurement, which defines the distance of two ratings: "nominal"
            (default), whether they differ; "ordinal", the number of ratings between them;
            "interval", their difference.
        confidence: Level of the interval, between 0 and 1.
        interval: "influence" (default) or "none".

    Returns:
        `Result` with "krippendorff_alpha": 1 is full agreement, 0 is the agreement expected by
        chance, and negative values are systematic disagreement; "ci_low" and "ci_high", the
        interval; and "n", the number of items with two or more ratings.

    Example:
        >>> result = krippendorff_alpha([[1, 1], [2, 2], [1, 2], [3, float("nan")]])
        >>> round(result.statistic, 4), result.n
        (0.4444, 3)
    """
    _inputs.require_choice("level", level, ("nominal", "ordinal", "interval"))
    items, values = _flatten_ratings(ratings, 2, level)
    ratio, effects = compute_disagreement(items, values, level)
    value = 1 - ratio * (len(values) - 1) / len(values)
    get_ends, n = partial(get_agreement_interval, value, effects, items), int(items.max()) + 1
    return Result("krippendorff_alpha", value, None, n, confidence, interval, get_ends)


def _flatten_ratings(ratings: Values, ge: int, level: str = "nominal") -> tuple[Integers, Floats]:
    """Return the item and the value of each rating, of items with at least `ge` ratings."""
    labels = to_label_array("ratings", ratings)
    if labels.dtype == object and any(isinstance(label, str) for label in labels.flat):
        if level != "nominal":
            raise MetricInputError(f"`ratings` must be numbers for the level {level}; got text")
        is_given = np.array([label is not None and label == label for label in labels.flat])
        (codes,), _ = encode_categories(as_labels("ratings", labels.ravel()[is_given]))
        ratings = np.full(labels.shape, math.nan)
        ratings[is_given.reshape(labels.shape)] = codes
    values = _inputs.as_floats("ratings", ratings, ndim=2, finite=False)
    if np.isinf(values).any():
        raise MetricInputError("`ratings` contains infinities; use NaN for a missing rating")
    present = ~np.isnan(values)
    number = present.sum(axis=1)
    if values.shape[1] > 2 * len(values):
        fault = f"`ratings` has {len(values)} items and {values.shape[1]} raters"
        warnings.warn(f"{fault}; if rows are raters, transpose `ratings`", stacklevel=3)
    if not (number >= 2).any():
        raise MetricInputError("`ratings` must have at least one item with two ratings")
    is_used = number >= ge
    return np.nonzero(present[is_used])[0], values[is_used][present[is_used]]


def gwet_ac1(ratings: Values, confidence: float = 0.95, interval: str = "influence") -> Result:
    """Return Gwet's AC1: agreement of raters beyond chance, suited to rare categories.

    Gwet, "Computing Inter-Rater Reliability and Its Variance in the Presence of High Agreement",
    British Journal of Mathematical and Statistical Psychology 61, 2008. If almost all ratings are
    one category, kappa is low even if raters agree; AC1 is not.

    Args:
        ratings: Labels, shape (items, raters): numbers or text, NaN or None if missing. The
            categories are the labels that occur. An item with one rating affects only the chance
            agreement, and an item without ratings is ignored.
        confidence: Level of the interval, between 0 and 1.
        interval: "influence" (default: Student's t by Gwet's variance over items, which are
            assumed to be independent) or "none".

    Returns:
        `Result` with "gwet_ac1", from -1 to 1 (full agreement, or a single label), 0 for the
        agreement expected by chance; "ci_low" and "ci_high", NaN for a single item; "n", the number
        of items.

    Example:
        >>> round(gwet_ac1([[1, 1], [1, 1], [1, 1], [1, 0]]).statistic, 4)
        0.68
    """
    from scipy.special import stdtrit

    value, influences = get_ac1(*_flatten_ratings(ratings, 1))
    n = len(influences)

    def get_ends(confidence):
        if n < 2:
            return math.nan, math.nan
        margin = float(stdtrit(n - 1, (1 + confidence) / 2) * influences.std(ddof=1) / n**0.5)
        return max(value - margin, -1.0), min(value + margin, 1.0)

    return Result("gwet_ac1", value, None, n, confidence, interval, get_ends)


def icc(ratings: Values, confidence: float = 0.95) -> Result:
    """Return the intraclass correlation of raters who all rated the same items.

    ICC(2,1) and ICC(2,k) of Shrout and Fleiss, "Intraclass Correlations: Uses in Assessing Rater
    Reliability", Psychological Bulletin 86, 1979; the interval is theirs, by Satterthwaite's
    degrees of freedom. The model is two-way random, with absolute agreement. With few raters the
    intervals are too narrow if raters differ much: in 4,000 simulated studies of 50 items and three
    raters, 95% intervals contained the true value in 95% of the studies if the variance of raters'
    means was a tenth of that of the items' means, in 90% if the two were equal, and in 86% if it
    was twice as large.

    Args:
        ratings: Numbers, shape (items, raters), at least 2 of each, none missing.
        confidence: Level of the intervals, above 0 and below 1.

    Returns:
        `Result` with "icc", the coefficient of a single rater, from -1 to 1; "ci_low" and
        "ci_high", its interval; "n", the number of items; "average", the coefficient of the mean of
        all raters, from minus infinity to 1; "average_low" and "average_high", its interval. Values
        are NaN if all ratings are equal.

    Example:
        >>> result = icc([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9]])
        >>> round(result.statistic, 4), round(result["average"], 4)
        (0.3259, 0.6591)
    """
    from scipy.special import fdtri

    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    values = _inputs.as_floats("ratings", ratings, ndim=2)
    n, k = values.shape
    if min(n, k) < 2:
        raise _inputs.shape_error("ratings", values, "must have at least 2 items and 2 raters")
    items, raters = values.mean(axis=1), values.mean(axis=0)
    rest = values - items[:, None] - raters + values.mean()
    between, by_rater = k * items.var(ddof=1), n * raters.var(ddof=1)
    error = (rest * rest).sum() / ((n - 1) * (k - 1))
    others = k * by_rater + (k * n - k - n) * error
    with np.errstate(invalid="ignore"):
        single = n * (between - error) / (n * between + others)

    def get_ends(confidence):
        if not others > 0:
            return float(single), float(single)
        part = (n * (1 + (k - 1) * single) - k * single) * error
        squares = (n - 1) * (k * single * by_rater) ** 2 + part * part
        with np.errstate(invalid="ignore", divide="ignore"):
            freedom = (n - 1) * (k - 1) * (k * single * by_rater + part) ** 2 / squares
            level = (1 + confidence) / 2
            f, g = fdtri(n - 1, freedom, level), fdtri(freedom, n - 1, level)
            low = n * (between - f * error) / (f * others + n * between)
            high = n * (g * between - error) / (others + n * g * between)
        return max(float(low), -1.0), min(float(high), 1.0)

    single_rater = np.array([single, *get_ends(confidence)])
    with np.errstate(divide="ignore"):  # the interval of an average may begin at minus infinity
        averages = k * single_rater / np.maximum(1 + (k - 1) * single_rater, 0)
    average, low, high = averages.tolist()
    more = {"average": average, "average_low": low, "average_high": high}
    return Result("icc", float(single), None, n, confidence, "influence", get_ends, more=more)


def pairwise_accuracy(
    predictions: Values,
    references: Values,
    score_ties: str = "wrong",
    tie_tolerance: float = TIE_TOLERANCE,
    confidence: float = 0.95,
) -> Result:
    """Return pairwise accuracy: how often the preferred of two images has the higher score.

    VISTAR, section 4.2 (PPA): pairs without a human preference are dropped, and a prediction is
    correct if the preferred image has the strictly higher score.

    Args:
        predictions: Scores of both images, shape (pairs, 2), higher is better, finite.
        references: Human preference, shape (pairs,): 1 the first image, -1 the second, 0 none.
        score_ties: How a pair with equal scores is counted: "wrong" (default, as in the paper),
            "half" correct, or "dropped".
        tie_tolerance: Scores that differ by at most this share of the range of all scores are
            treated as equal, to remove float noise; 0: only equal scores are.
        confidence: Level of Wilson's interval, between 0 and 1.

    Returns:
        `Result` with "pairwise_accuracy" in [0, 1], "ci_low" and "ci_high", all NaN if no pair is
        left; "n", the number of counted pairs; "n_ties", the number of pairs without a human
        preference; "n_score_ties", the number of other pairs with equal scores.

    Example:
        >>> result = pairwise_accuracy([[0.9, 0.1], [0.2, 0.8], [0.5, 0.4]], [1, 1, 0])
        >>> result.statistic, result.n, result["n_ties"]
        (0.5, 2, 1)
    """
    _inputs.require_choice("score_ties", score_ties, ("wrong", "half", "dropped"))
    tie_tolerance = _inputs.require_between("tie_tolerance", tie_tolerance, 0, 1, from_low=True)
    scores = _inputs.as_floats("predictions", predictions, ndim=2)
    preference = _inputs.as_floats("references", references, ndim=1)
    if scores.shape != (len(preference), 2):
        rule = f"must have shape ({len(preference)}, 2): two scores per value of `references`"
        raise _inputs.shape_error("predictions", scores, rule)
    meaning = "must be 1 (first image), -1 (second image) or 0 (neither)"
    _inputs.require_values("references", preference, (-1, 0, 1), meaning)
    decided = preference != 0
    limit = 2 * tie_tolerance * (scores.max() / 2 - scores.min() / 2)  # halves cannot overflow
    with np.errstate(over="ignore"):
        difference = scores[decided, 0] - scores[decided, 1]
    predicted = np.where(np.abs(difference) > limit, np.sign(difference), 0)
    tied, n = int(np.count_nonzero(predicted == 0)), len(predicted)
    correct = float(np.count_nonzero(predicted == preference[decided]))
    if score_ties == "half":
        correct += tied / 2
    elif score_ties == "dropped":
        n -= tied
    more = {"n_ties": int(np.count_nonzero(~decided)), "n_score_ties": tied}
    return make_rate_result("pairwise_accuracy", correct, n, confidence, more)


_MAX_STEPS = 200


def bradley_terry(
    wins: Values, prior_wins: float = 0.0, confidence: float = 0.95
) -> dict[str, Floats]:
    """Return the strength of each model in the Bradley-Terry model, with an interval.

    Model i is preferred to j with probability 1 / (1 + exp(s_j - s_i)); the strengths s are the
    maximum likelihood estimates with mean 0. A tie counts as half a win for each model. Bradley and
    Terry, "Rank Analysis of Incomplete Block Designs", Biometrika 39, 1952; the interval is Wald's,
    from the observed information on strengths of mean 0.

    The estimates are unique only if, for any division of the models into two groups, each group has
    won against the other (Ford 1957). A model that never lost, or models that were never compared
    with the other models, cause an error, which `prior_wins` avoids.

    Args:
        wins: How often the model of the row was preferred to the model of the column, shape
            (models, models) with at least 2 models, not negative; ties are halves; 0 on the
            diagonal.
        prior_wins: Number of wins that are added for each model over each other model, which
            shrinks the strengths; default: 0.
        confidence: Level of the intervals, above 0 and below 1.

    Returns:
        dict of numpy float64 arrays (models,): "strength", natural logarithms with mean 0;
        "standard_error"; "low" and "high", the ends of the interval.

    Raises:
        MetricInputError: wrong shape, negative or infinite values, or strengths that are not
            unique.

    Example:
        >>> result = bradley_terry([[0, 3], [1, 0]])
        >>> result["strength"].round(4).tolist()  # half of log(3) above and below 0
        [0.5493, -0.5493]
    """
    wins = _inputs.as_floats("wins", wins, ndim=2)
    models = len(wins)
    if wins.shape != (models, models) or models < 2:
        raise _inputs.shape_error("wins", wins, "must be a square matrix with at least 2 models")
    if (wins < 0).any() or np.diagonal(wins).any():
        raise MetricInputError("`wins` must not be negative, and must be 0 on the diagonal")
    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    prior_wins = _inputs.require_between("prior_wins", prior_wins, 0, 1e300, from_low=True)
    wins = wins + prior_wins * (1 - np.eye(models))
    is_connected = (wins > 0) | np.eye(models, dtype=bool)
    for _ in range(models.bit_length()):
        is_connected = (is_connected.astype(float) @ is_connected) > 0
    if not is_connected.all():  # some models never lost to the others
        row, column = np.argwhere(~is_connected)[0]
        fault = f"`wins` has no chain of wins from model {row} to model {column}"
        raise MetricInputError(f"{fault}; remove one of these models, or set prior_wins to 0.5")
    strength, information = _fit_strengths(wins)
    # The pseudo-inverse leaves out a common shift of all strengths, since their mean is 0.
    error = np.sqrt(np.diagonal(np.linalg.pinv(information, hermitian=True)))
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * error
    ends = {"low": strength - margin, "high": strength + margin}
    return {"strength": strength, "standard_error": error} | ends


def _fit_strengths(wins):
    """Fit the strengths by Newton's method; return them and their Fisher information."""
    games = wins + wins.T
    strength = np.zeros(len(wins))
    for _ in range(_MAX_STEPS):
        p = 0.5 * (1 + np.tanh((strength[:, None] - strength) / 2))
        weight = games * p * p.T
        information = np.diag(weight.sum(axis=1)) - weight
        step = np.linalg.pinv(information, hermitian=True) @ (wins - games * p).sum(axis=1)
        size = np.abs(step).max()
        strength = strength + step / max(1.0, size)  # a longer step may miss the maximum
        if size < 1e-12:
            break
    return strength - strength.mean(), information
