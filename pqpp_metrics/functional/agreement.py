"""Agreement between raters beyond chance.

Where all raters gave all items one and the same label, observed and chance agreement are both 1
and the formulas divide 0 by 0. `single_class` says what is returned: "one" (default), the limit
of unanimous ratings as the second class gets rare, or "nan".
"""

from __future__ import annotations

import math

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._categories import as_labels, category_codes, kind_of
from pqpp_metrics.functional._disagreement import alpha_of
from pqpp_metrics.functional._inputs import as_floats, require_choice, require_same_shape, to_numpy
from pqpp_metrics.functional._kappa import kappa_of
from pqpp_metrics.functional._types import Values

_SINGLE_CLASS = ("one", "nan")
_LEVELS = ("nominal", "ordinal", "interval", "ratio")
# With few raters comparing every two is faster than counting labels.
_FEW_RATERS = 8
# A table with so many cells a label is filled faster than labels are sorted.
_FEW_CELLS = 8


def fleiss_kappa(ratings: Values, single_class: str = "one") -> float:
    """Fleiss' kappa: agreement of several raters on categories, beyond chance.

    Fleiss, "Measuring Nominal Scale Agreement Among Many Raters", Psychological Bulletin 76,
    1971; PQPP, section 3.1. The same raters need not rate every item, but as many.

    Args:
        ratings: The label that each rater gave, shape (items, raters), at least 2 raters; text,
            numbers, booleans or UUIDs, none missing (`krippendorff_alpha` allows that).
        single_class: What to return where only one label occurs: "one" or "nan".

    Returns:
        float: 1 is full agreement, 0 what chance gives, at least -1 / (raters - 1).

    Example:
        >>> round(fleiss_kappa([["a", "a", "a"], ["b", "b", "b"], ["a", "b", "a"]]), 4)
        0.55
    """
    require_choice("single_class", single_class, _SINGLE_CLASS)
    labels = as_labels("ratings", ratings, ndim=2)
    raters = labels.shape[1]
    if raters < 2:
        raise MetricInputError("`ratings` has one rater; agreement needs at least 2")
    (codes,), categories = category_codes(labels)
    share = np.bincount(codes.ravel(), minlength=len(categories)) / codes.size
    by_chance = float((share * share).sum())
    if share.max() == 1:
        return 1.0 if single_class == "one" else math.nan
    return (_agreeing_pairs(codes, len(categories)) - by_chance) / (1 - by_chance)


def _agreeing_pairs(codes, categories):
    """Share of agreeing pairs among all pairs of raters on the same item."""
    items, raters = codes.shape
    pairs = items * raters * (raters - 1) // 2
    if raters <= _FEW_RATERS:
        columns = np.ascontiguousarray(codes.T)
        agree = sum(
            int(np.count_nonzero(columns[first] == columns[second]))
            for first in range(raters)
            for second in range(first)
        )
        return agree / pairs
    numbered = (codes + categories * np.arange(items)[:, None]).ravel()
    if items * categories <= _FEW_CELLS * codes.size:
        counts = np.bincount(numbered, minlength=items * categories)
    else:
        counts = np.unique(numbered, return_counts=True)[1]
    return float((counts * (counts - 1)).sum()) / 2 / pairs


def cohen_kappa(
    predictions: Values, references: Values, weights: str | None = None, single_class: str = "one"
) -> float:
    """Cohen's kappa: agreement of two raters on categories, beyond chance.

    Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
    Measurement 20, 1960; PQPP, section 3.1.

    Args:
        predictions: Labels of one rater, shape (items,): text, numbers, booleans or UUIDs.
        references: Labels of the other, same shape and kind.
        weights: How much a disagreement counts: None (default) each the same, "linear" or
            "quadratic" in the distance of the categories' places in rising order (Cohen 1968).
        single_class: What to return where only one label occurs: "one" or "nan".

    Returns:
        float in [-1, 1]: 1 is full agreement, 0 what chance gives.

    Example:
        >>> round(cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0]), 4)
        0.5
    """
    require_choice("single_class", single_class, _SINGLE_CLASS)
    if weights is not None:
        require_choice("weights", weights, ("linear", "quadratic"))
    left, right = as_labels("predictions", predictions, 1), as_labels("references", references, 1)
    require_same_shape(predictions=left, references=right)
    if kind_of(left) != kind_of(right):
        raise MetricInputError(
            f"one side holds {kind_of(left)} and the other {kind_of(right)}; give both the same way"
        )
    return kappa_of(left, right, weights, single_class)


def krippendorff_alpha(ratings: Values, level: str = "nominal", single_class: str = "one") -> float:
    """Krippendorff's alpha: agreement of raters, some of whose ratings may be missing.

    Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011; VISTAR, section 4.1.

    Args:
        ratings: Numeric ratings, shape (items, raters), NaN where a rating is missing. Items
            with fewer than two ratings are left out.
        level: How far two ratings are apart: "nominal" (default) equal or not, "ordinal" the
            ratings between them, "interval" their difference, "ratio" the difference over the
            sum (ratings of 0 or above).
        single_class: What to return where only one rating occurs: "one" or "nan".

    Returns:
        float: 1 is full agreement, 0 what chance gives, negative systematic disagreement.

    Example:
        >>> round(krippendorff_alpha([[1, 1], [2, 2], [1, 2], [3, float("nan")]]), 4)
        0.4444
    """
    require_choice("single_class", single_class, _SINGLE_CLASS)
    require_choice("level", level, _LEVELS)
    values = to_numpy(as_floats("ratings", ratings, ndim=2)).astype(np.float64)
    if np.isinf(values).any():
        raise MetricInputError("`ratings` holds infinities; give NaN for a missing rating")
    present = ~np.isnan(values)
    pairable = present.sum(axis=1) >= 2
    if not pairable.any():
        raise MetricInputError("`ratings` has no item with two ratings; agreement needs one")
    items, _ = np.nonzero(present[pairable])
    return alpha_of(items, values[pairable][present[pairable]], level, single_class)
