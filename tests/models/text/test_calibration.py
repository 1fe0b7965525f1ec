"""Calibration: units, deviations that cover, distances by hand."""

import numpy as np
import pytest

from pqpp_models.text.calibration import distance_to_nearest, fit_calibration


def test_deviations_cover_nine_in_ten():
    random = np.random.default_rng(0)
    scores = random.normal(size=(4000, 2))
    distance = random.uniform(0, 1, 4000).astype(np.float32)
    true = 0.5 * scores + 1 + random.normal(size=scores.shape) * (0.1 + distance)[:, None]
    found = fit_calibration(scores, true, distance, np.array([0.5, 0.9]), [True, False])
    assert found["slope"] == pytest.approx([0.5, 0.5], abs=0.05)
    assert found["offset"] == pytest.approx([1, 1], abs=0.05)
    assert (found["spread"][:, 1] > 0.5).all()
    assert found["spread"][0, 4] > 0 == found["spread"][1, 4]


def test_distances_are_means_over_the_nearest_five():
    angles = np.deg2rad([0, 10, 20, 30, 40, 50, 170])
    points = np.array([np.cos(angles), np.sin(angles)])
    found = distance_to_nearest(points[:, :1].T, points)
    assert found == pytest.approx([1 - np.cos(angles[:5]).mean()])
    alone = distance_to_nearest(points[:, :1].T, points, own=True)
    assert alone == pytest.approx([1 - np.cos(angles[1:6]).mean()])
    few = distance_to_nearest(points[:, :1].T, points[:, :2])
    assert few == pytest.approx([1 - np.cos(angles[:2]).mean()])
