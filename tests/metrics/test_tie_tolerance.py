"""Values that differ by float noise are ties in every function that ranks."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics.test_resampling import MEASURES

from pqpp_metrics import functional as F
from pqpp_metrics.functional._pairs import merge_ties

NOISY_03 = 0.1 + 0.2  # 0.30000000000000004
# Five queries, two of them equal in x but for noise. For Kendall's tau with ties, 9 of 10 pairs
# differ in x and agree in y, which has no tie: 9 / sqrt(9 * 10).
X, X_EXACT, Y = [0.3, NOISY_03, 0.1, 0.7, 0.9], [0.3, 0.3, 0.1, 0.7, 0.9], [3, 2, 1, 4, 5]
RANK_MEASURES = [F.kendall_qpp, F.spearman_qpp, F.smare]


def test_kendall_by_hand():
    assert F.kendall_qpp(X, Y)["kendall_qpp"] == pytest.approx(9 / math.sqrt(90), abs=1e-15)
    # As stored 0.3 < 0.30000000000000004 is one pair against the other nine: (9 - 1) / 10.
    assert F.kendall_qpp(X, Y, tie_tolerance=0)["kendall_qpp"] == pytest.approx(0.8, abs=1e-15)


@pytest.mark.parametrize("measure", RANK_MEASURES)
def test_noise_is_a_tie_for_every_measure_of_ranks(measure):
    name = measure.__name__
    exact = measure(X_EXACT, Y, tie_tolerance=0)
    assert measure(X, Y)[name] == pytest.approx(exact[name], abs=1e-15)
    assert measure(Y, X)[name] == pytest.approx(exact[name], abs=1e-15)
    assert measure(X, Y)["p_value"] == pytest.approx(exact["p_value"], abs=1e-12)
    assert measure(X, Y, tie_tolerance=0)[name] != pytest.approx(exact[name], abs=1e-6)


def test_noise_is_a_tie_in_pairwise_accuracy():
    pairs, preferred = [[NOISY_03, 0.3], [0.9, 0.1]], [1, 1]
    found = F.pairwise_accuracy(pairs, preferred)
    assert (found["pairwise_accuracy"], found["n_score_ties"]) == (0.5, 1)
    found = F.pairwise_accuracy(pairs, preferred, tie_tolerance=0)
    assert (found["pairwise_accuracy"], found["n_score_ties"]) == (1.0, 0)
    huge = F.pairwise_accuracy([[-1.7e308, 1.7e308]], [-1])
    assert huge["pairwise_accuracy"] == 1.0


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_noise_far_below_the_steps_is_undone(values, random):
    """Integers with noise of 1e-15 of their size have the order of the integers."""
    exact = np.array(values, dtype=float)
    noisy = exact * np.array([1 + random.choice([-2, 0, 2]) * 2.0**-52 for _ in values])
    merged = merge_ties(noisy, 1e-12)
    assert merged.shape == exact.shape
    if len(set(values)) > 1:
        for first, second in itertools.combinations(range(len(values)), 2):
            assert np.sign(merged[first] - merged[second]) == np.sign(exact[first] - exact[second])
    again = merge_ties(merged, 1e-12)
    assert again.tolist() == merged.tolist()


def test_largest_and_smallest_numbers_are_not_merged():
    assert merge_ties(np.array([-1.7e308, 1.7e308]), 1e-12).tolist() == [-1.7e308, 1.7e308]
    assert merge_ties(np.array([5e-324, 1e-323]), 1e-12).tolist() == [5e-324, 1e-323]


def test_columns_at_once_equal_single_functions():
    """Rows without a true value are left out."""
    rng = np.random.default_rng(5)
    x, y = rng.random((30, 3)).round(1), rng.random((30, 3)).round(1)
    y[::4, 1] = math.nan
    y[1:, 2] = math.nan
    measures = ("pearson", "spearman", "kendall", "smare", "rmse")
    found = F.qpp_values(x, y, measures)
    assert tuple(found) == measures
    for column in range(2):
        known = ~np.isnan(y[:, column])
        pair = x[known, column], y[known, column]
        for name in measures:
            assert found[name][column] == pytest.approx(MEASURES[name](*pair), abs=1e-12)
    assert all(math.isnan(values[2]) for values in found.values())
