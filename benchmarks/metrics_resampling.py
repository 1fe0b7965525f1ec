"""Bootstrap of Kendall's tau: this project beside one call of scipy for every resample."""

import numpy as np
from metrics_timing import Row, best_of, with_version
from scipy.stats import kendalltau

from pqpp_metrics.functional import paired_bootstrap

PAIRS, RESAMPLES, TIMED = 2_000, 10_000, 50


def rows():
    """Compare two predictors on the same resamples; the peer is timed on a few and scaled up."""
    rng = np.random.default_rng(0)
    x, other = rng.standard_normal((2, PAIRS))
    y = x + rng.standard_normal(PAIRS)

    def peer():
        for _ in range(TIMED):
            drawn = rng.integers(0, PAIRS, PAIRS)
            kendalltau(x[drawn], y[drawn])
            kendalltau(other[drawn], y[drawn])

    task = f"bootstrap of Kendall, {RESAMPLES:,} resamples, {PAIRS:,} pairs, two predictors"
    seconds = best_of(peer, 2) * RESAMPLES / TIMED
    ours = best_of(lambda: paired_bootstrap(x, other, y, resamples=RESAMPLES), 2)
    yield Row(task, f"{with_version('scipy')}, scaled from {TIMED}", seconds, ours)
