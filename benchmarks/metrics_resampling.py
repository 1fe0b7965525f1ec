"""Kendall's tau with its interval, and its bootstrap, beside scipy's tau without one."""

import numpy as np
from metrics_timing import Row, best_of, floor_of, with_version
from scipy.stats import kendalltau

from pqpp_metrics.functional import kendall_qpp, paired_bootstrap

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
    x = rng.standard_normal(100_000)
    for kind, y in {"": x + rng.standard_normal(len(x)), ", graded": np.round(x)}.items():
        peer, ours = best_of(lambda y=y: kendalltau(x, y)), best_of(lambda y=y: kendall_qpp(x, y))
        task = f"kendall_qpp with its interval, {len(x):,} pairs{kind}"
        yield Row(task, f"{with_version('scipy')}, no interval", peer, ours, 0.5, floor_of(x, y))
