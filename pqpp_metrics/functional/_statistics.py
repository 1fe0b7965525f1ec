"""Ranks and intervals that the QPP measures and tests share."""

import math

import numpy as np


def average_ranks(values):
    """Ranks from 1, equal values sharing the mean of theirs.

    Args:
        values: numpy array (n,) without NaN.

    Returns:
        float64 array (n,).
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts_group = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.flatnonzero(starts_group)
    ends = np.append(starts[1:], len(values))
    ranks = np.empty(len(values))
    ranks[order] = ((starts + ends + 1) / 2)[np.cumsum(starts_group) - 1]
    return ranks


def fisher_interval(value, n, variance, lost, confidence):
    """Confidence interval of a correlation by Fisher's z-transform.

    Args:
        value: The correlation.
        n: The number of pairs.
        variance: Numerator of the variance of z.
        lost: What is taken from n in its denominator.
        confidence: Level of the interval.

    Returns:
        Lower and upper bound; (NaN, NaN) for a NaN value or n <= lost. A value of 1 or -1 has
        an infinite z, and the interval is that single point.
    """
    from scipy.special import ndtri

    if math.isnan(value) or n <= lost:
        return math.nan, math.nan
    if abs(value) >= 1:
        return value, value
    reach = float(ndtri((1 + confidence) / 2)) * math.sqrt(variance / (n - lost))
    z = math.atanh(value)
    return math.tanh(z - reach), math.tanh(z + reach)


def mean_interval(values, confidence):
    """Student's t interval of the mean of independent values.

    Args:
        values: numpy array (n,).
        confidence: Level of the interval.

    Returns:
        Lower and upper bound; (NaN, NaN) for fewer than 2 values.
    """
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        return math.nan, math.nan
    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(values.std(ddof=1)) / math.sqrt(n)
    mean = float(values.mean())
    return mean - reach, mean + reach


def normal_two_sided(z):
    """Two-sided p-value of a standard normal value.

    Args:
        z: The value.

    Returns:
        The p-value as float; NaN for NaN.
    """
    return math.erfc(abs(z) / math.sqrt(2))
