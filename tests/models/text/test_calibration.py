"""Distances by hand."""

import numpy as np
import pytest

from pqpp_models.text.calibration import distance_to_nearest


def test_distances_are_means_over_the_nearest_five():
    angles = np.deg2rad([0, 10, 20, 30, 40, 50, 170])
    points = np.array([np.cos(angles), np.sin(angles)])
    found = distance_to_nearest(points[:, :1].T, points)
    assert found == pytest.approx([1 - np.cos(angles[:5]).mean()])
    alone = distance_to_nearest(points[:, :1].T, points, own=True)
    assert alone == pytest.approx([1 - np.cos(angles[1:6]).mean()])
    few = distance_to_nearest(points[:, :1].T, points[:, :2])
    assert few == pytest.approx([1 - np.cos(angles[:2]).mean()])
