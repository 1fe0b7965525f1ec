"""A mean of human ratings with an interval that automated scores make narrower."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Values


def prediction_powered_mean(
    judgments: Values,
    scores: Values,
    other_scores: Values,
    confidence: float = 0.95,
    weight: float | None = None,
) -> dict[str, float]:
    """Return the mean of human ratings, with an interval that automated scores make narrower.

    The interval is valid whatever the bias of the scores, because the bias is measured on the items
    that people have rated, and then subtracted (Angelopoulos et al., "Prediction-Powered
    Inference", Science 382, 2023; with a weight of the scores: Angelopoulos, Duchi and Zrnic,
    "PPI++", arXiv 2311.01453). The rated items must be a random sample of all items.

    Args:
        judgments: Human ratings, shape (rated,), at least 2.
        scores: Automated scores of the same items in the same order, on any scale.
        other_scores: Automated scores of the items without ratings, shape (others,).
        confidence: Level of the intervals, between 0 and 1.
        weight: Factor of the scores, from 0 (not used) to 1 (as in the first paper); None
            (default): the factor with the least variance, as in PPI++.

    Returns:
        dict: "mean", "ci_low", "ci_high"; "weight"; "judged_mean", "judged_ci_low",
        "judged_ci_high", the same from the ratings alone; "worth", the number of ratings that alone
        would give an interval of this width; "n" and "others", the numbers of items with and
        without ratings. Intervals assume a normal distribution of the mean.

    Example:
        >>> truth, scores = [0, 1, 1, 0, 1, 1], [0.1, 0.9, 0.8, 0.2, 0.7, 0.6]
        >>> result = prediction_powered_mean(truth, scores, scores * 50)
        >>> round(result["mean"], 3), round(result["weight"], 3), round(result["worth"])
        (0.667, 1.0, 29)
    """
    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    truth, rated = _inputs.as_same_shape(1, judgments=judgments, scores=scores)
    others = _inputs.as_floats("other_scores", other_scores, 1)
    if len(truth) < 2:
        raise _inputs.shape_error("judgments", truth, "must have at least 2 values")
    if weight is None:  # PPI++, example 6.1; the variance is that of all scores
        spread = np.concatenate([rated, others]).var(ddof=1)
        covariance = ((truth - truth.mean()) * (rated - rated.mean())).mean()
        scale = (1 + len(rated) / len(others)) * spread
        weight = float(np.clip(covariance / scale, 0, 1)) if spread > 0 else 0.0
    elif not 0 <= weight <= 1:
        raise _inputs.not_allowed_error("weight", weight, "must be from 0 to 1")
    residuals = truth - weight * rated
    mean = float(weight * others.mean() + residuals.mean())
    variance = float(weight**2 * others.var() / len(others) + residuals.var() / len(truth))
    plain_variance = float(truth.var() / len(truth))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    margin, plain_margin = z * math.sqrt(variance), z * math.sqrt(plain_variance)
    return {
        "mean": mean,
        "ci_low": mean - margin,
        "ci_high": mean + margin,
        "weight": float(weight),
        "judged_mean": float(truth.mean()),
        "judged_ci_low": float(truth.mean() - plain_margin),
        "judged_ci_high": float(truth.mean() + plain_margin),
        "worth": len(truth) * plain_variance / variance if variance > 0 else math.inf,
        "n": len(truth),
        "others": len(others),
    }


def judgments_needed(
    half_width: float,
    deviation: float,
    correlation: float = 0.0,
    items: int | None = None,
    confidence: float = 0.95,
) -> int:
    """Return the number of items that people must rate for an interval of a given width.

    If n of N items are rated and scores correlate with ratings by rho, the variance of the best
    prediction-powered mean is that of the ratings times (1 - rho^2 (N - n) / N) / n.

    Args:
        half_width: Half of the interval's width, above 0.
        deviation: Standard deviation of the ratings; at most 0.5 for yes-or-no ratings.
        correlation: Pearson's r of scores and ratings; 0 (default): without scores.
        items: Number of all items, N; None (default): unlimited.
        confidence: Level of the interval, between 0 and 1.

    Returns:
        int: The least number, at least 2; `items` if even all items do not suffice.

    Example:
        >>> judgments_needed(0.05, 0.5), judgments_needed(0.05, 0.5, correlation=0.8)
        (385, 139)
    """
    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    half_width = _inputs.require_between("half_width", half_width, 0, math.inf)
    deviation = _inputs.require_between("deviation", deviation, 0, math.inf, from_low=True)
    if not -1 <= correlation <= 1:
        raise _inputs.not_allowed_error("correlation", correlation, "must be from -1 to 1")
    limit = math.inf if items is None else _inputs.require_int("items", items)
    # n = a (1 - r^2 (1 - n / N)) with a = (z s / h)^2, solved for n.
    without_scores = (NormalDist().inv_cdf((1 + confidence) / 2) * deviation / half_width) ** 2
    share = without_scores * correlation**2 / limit
    number = limit if share >= 1 else without_scores * (1 - correlation**2) / (1 - share)
    return int(min(max(2, math.ceil(number - 1e-9)), limit))
