"""Agreement of raters on 100,000 items: this project beside statsmodels and scikit-learn."""

import numpy as np
from metrics_timing import Row, best_of, floor_of, with_version

from pqpp_metrics.functional import cohen_kappa, fleiss_kappa

ITEMS, RATERS, CATEGORIES = 100_000, 3, 5


def rows():
    """Compare from the raw labels of every rater."""
    ratings = np.random.default_rng(0).integers(0, CATEGORIES, (ITEMS, RATERS))
    size = f"{ITEMS:,} x {RATERS}, {CATEGORIES} categories"
    ours = best_of(lambda: fleiss_kappa(ratings), repeats=15)
    yield Row(f"Fleiss' kappa, {size}", with_version("statsmodels"), _fleiss(ratings), ours, 20)
    left, right = ratings[:, 0].copy(), ratings[:, 1].copy()
    ours = best_of(lambda: cohen_kappa(left, right), repeats=15)
    yield Row(
        f"Cohen's kappa, {ITEMS:,} x 2, {CATEGORIES} categories",
        with_version("scikit-learn"),
        _cohen(left, right),
        ours,
        20,
    )
    words = np.array(["good", "fair", "poor", "bad", "none"])
    left, right = words[left].tolist(), words[right].tolist()
    ours = best_of(lambda: cohen_kappa(left, right), repeats=15)
    task = f"Cohen's kappa, {ITEMS:,} x 2, {CATEGORIES} categories, strings in lists"
    floor = floor_of(16 * ITEMS)  # a pointer a label
    yield Row(task, with_version("scikit-learn"), _cohen(left, right), ours, 8, floor)


def _fleiss(ratings):
    try:
        from statsmodels.stats import inter_rater
    except ImportError:
        return None
    return best_of(lambda: inter_rater.fleiss_kappa(inter_rater.aggregate_raters(ratings)[0]), 3)


def _cohen(left, right):
    try:
        from sklearn.metrics import cohen_kappa_score
    except ImportError:
        return None
    return best_of(lambda: cohen_kappa_score(left, right), 3)
