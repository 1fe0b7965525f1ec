"""Cohen's kappa of labels that have been checked."""

import math

import numpy as np

from pqpp_metrics.functional._categories import category_codes


def kappa_of(left, right, weights=None, single_class="one"):
    """As `cohen_kappa`, of checked labels."""
    (left, right), categories = category_codes(left, right)
    size = len(categories)
    table = np.bincount(left * size + right, minlength=size * size).reshape(size, size)
    occurs = (table.sum(axis=0) + table.sum(axis=1)) > 0
    table = table[np.ix_(occurs, occurs)]
    if len(table) == 1:
        return 1.0 if single_class == "one" else math.nan
    place = np.arange(len(table))
    distance = np.abs(place[:, None] - place)
    cost = {None: distance > 0, "linear": distance, "quadratic": distance**2}[weights]
    by_chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(left)
    return float(1 - (cost * table).sum() / (cost * by_chance).sum())
