"""Routing by scores: hand-computed curves, brute force over orders, intervals that cover."""

import itertools

import numpy as np
import pytest

from pqpp_metrics.functional import compare_routings, routing_curve, routing_gain

rng = np.random.default_rng(5)


def area_by_hand(scores, weak, strong):
    """The mean over all orders that the scores allow of the area over the random line."""
    orders = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    areas = []
    for order in orders:
        quality = [np.mean(weak)]
        for sent in range(1, len(order) + 1):
            chosen = order[:sent]
            answers = [strong[i] if i in chosen else weak[i] for i in range(len(order))]
            quality.append(np.mean(answers))
        steps = [(a + b) / 2 for a, b in itertools.pairwise(quality)]
        areas.append(np.mean(steps) - (quality[0] + quality[-1]) / 2)
    return np.mean(areas)


@pytest.mark.parametrize("seed", range(8))
def test_area_is_the_mean_over_orders_of_tied_queries(seed):
    rng = np.random.default_rng(seed)
    scores, weak, strong = rng.integers(0, 3, 6), rng.normal(size=6), rng.normal(size=6)
    found = routing_gain(scores, weak, strong, resamples=10)
    assert found["routing_gain"] == pytest.approx(area_by_hand(scores, weak, strong), abs=1e-12)
    oracle = area_by_hand(strong - weak, weak, strong)
    assert found["oracle"] == pytest.approx(oracle, abs=1e-12)


def test_oracle_is_best_and_its_reverse_loses_as_much():
    weak, strong = rng.normal(size=200), rng.normal(size=200)
    best = routing_gain(strong - weak, weak, strong)
    worst = routing_gain(weak - strong, weak, strong)
    assert best["oracle_share"] == 1
    assert worst["routing_gain"] == pytest.approx(-best["routing_gain"], abs=1e-12)
    for _ in range(20):
        assert routing_gain(rng.normal(size=200), weak, strong)["oracle_share"] <= 1


def test_curve_ends_at_both_means_and_contains_the_80_percent():
    weak, strong = rng.normal(size=50), rng.normal(size=50) + 1
    scores = strong - weak + rng.normal(size=50)
    curve = routing_curve(scores, weak, strong)
    assert curve["qualities"][0] == pytest.approx(weak.mean())
    assert curve["qualities"][-1] == pytest.approx(strong.mean())
    share = routing_gain(scores, weak, strong)["share_for_80"]
    expected = weak.mean() + 0.8 * (strong.mean() - weak.mean())
    at_share = np.interp(share, curve["shares"], curve["qualities"])
    assert at_share == pytest.approx(expected)


def test_interval_covers_the_area_of_the_population():
    """Samples of 400 of a population with a known area: 95% intervals cover it in 88 to 100%."""
    rng = np.random.default_rng(0)
    weak, noise = rng.normal(size=40_000), rng.normal(size=40_000)
    strong = weak + noise + 1
    scores = noise + rng.normal(size=40_000)
    truth = routing_gain(scores, weak, strong, resamples=2)["routing_gain"]
    covered = 0
    for _ in range(100):
        sample = rng.integers(0, 40_000, 400)
        found = routing_gain(scores[sample], weak[sample], strong[sample], resamples=200)
        covered += found["ci_low"] <= truth <= found["ci_high"]
    assert covered >= 88


def test_shares_are_nan_without_a_gain():
    found = routing_gain([1, 2], [1, 1], [1, 1])
    assert np.isnan(found["oracle_share"]) and np.isnan(found["share_for_80"])


def test_better_scores_compare_as_better():
    weak, strong = rng.normal(size=300), rng.normal(size=300)
    close = strong - weak + 0.2 * rng.normal(size=300)
    found = compare_routings(close, rng.normal(size=300), weak, strong)
    assert found["ci_low"] > 0 and found["p_value"] < 0.01
    same = compare_routings(close, close, weak, strong)
    assert same["difference"] == 0 and same["p_value"] == 1
