"""Prediction-powered inference: values of ppi-py 0.2.3, and how often intervals cover."""

import numpy as np
import pytest

from pqpp_metrics.functional import judgments_needed, prediction_powered_mean

REFERENCE = [  # seed, judged, others, bias, weight; ppi_mean_pointestimate and ppi_mean_ci
    (0, 40, 400, 0.3, None, 0.5348994392338147, 0.4202891299116621, 0.6495097485559672),
    (0, 40, 400, 0.3, 1.0, 0.5358306863378304, 0.4225640725815819, 0.6490973000940788),
    (1, 25, 60, 0.0, None, 0.5435509024997491, 0.400310810608572, 0.6867909943903),
    (1, 25, 60, 0.0, 1.0, 0.5381942170567914, 0.39554367938819457, 0.6808447547253882),
    (2, 100, 1000, -0.2, None, 0.44191175272991445, 0.36857242143593205, 0.5152510840238969),
]


def draw_items(random, number, bias):
    z = random.normal(size=number)
    truth = (z + 0.5 * random.normal(size=number) > 0).astype(float)
    return truth, 1 / (1 + np.exp(-2 * z)) + bias


@pytest.mark.parametrize("case", REFERENCE, ids=str)
def test_values_equal_ppi_py(case):
    seed, judged, others, bias, weight, mean, low, high = case
    truth, scores = draw_items(np.random.default_rng(seed), judged + others, bias)
    parts = truth[:judged], scores[:judged], scores[judged:]
    found = prediction_powered_mean(*parts, weight=weight)
    assert [found["mean"], found["ci_low"], found["ci_high"]] == pytest.approx([mean, low, high])
    assert found["worth"] > judged == found["n"]


def test_intervals_cover_the_truth_despite_bias():
    random, covered, narrower = np.random.default_rng(0), 0, 0
    for _ in range(1000):
        truth, scores = draw_items(random, 1100, bias=0.4)
        found = prediction_powered_mean(truth[:100], scores[:100], scores[100:])
        covered += found["ci_low"] <= 0.5 <= found["ci_high"]
        judged_width = found["judged_ci_high"] - found["judged_ci_low"]
        narrower += found["ci_high"] - found["ci_low"] < judged_width
    assert 925 <= covered <= 970 and narrower == 1000


def test_constant_scores_are_not_used():
    found = prediction_powered_mean([0, 1, 1, 0], [0.5] * 4, [0.5] * 9)
    assert found["weight"] == 0 and found["mean"] == found["judged_mean"] == 0.5
    assert found["worth"] == 4


def test_needed_judgments_give_the_requested_interval():
    random = np.random.default_rng(3)
    truth, scores = draw_items(random, 4000, 0.0)
    rho, deviation = np.corrcoef(truth, scores)[0, 1], truth.std()
    needed = judgments_needed(0.04, deviation, rho, items=4000)
    widths = []
    for _ in range(50):
        order = random.permutation(4000)
        judged, rest = order[:needed], order[needed:]
        found = prediction_powered_mean(truth[judged], scores[judged], scores[rest])
        widths.append((found["ci_high"] - found["ci_low"]) / 2)
    assert np.mean(widths) == pytest.approx(0.04, rel=0.03)
    assert judgments_needed(0.04, deviation) == pytest.approx(1.96**2 / 4 / 0.04**2, rel=0.01)
    assert judgments_needed(0.01, 0.5, 0.1, items=100) == 100  # even all would not suffice
