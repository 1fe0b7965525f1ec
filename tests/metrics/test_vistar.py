import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import hwpq, light_direction, penetration, text_rendering
from pqpp_metrics.functional.vistar import _levenshtein

ANSWERS = {
    "positive": [[1, 1, 0], [1, 1, 1], [0, 0, 1]],
    "negative": [[0, 0, 0], [0, 1, 1], [0, 0, 0]],
    "levels": [1, 1, 3],
    "question_weights": [0.25, 0.75, 1.0],
    "level_weights": [0.4, 0, 0.6, 0],
}


def test_hwpq_by_hand():
    # Fact 0: yes, no -> 1. Fact 1: yes, yes -> 0. Fact 2: no -> 0.
    result = hwpq(**ANSWERS)
    assert result["hwpq"] == pytest.approx(0.4 * 0.25, abs=1e-15)
    np.testing.assert_array_equal(result["levels"], [0.25, np.nan, 0.0, np.nan])
    assert result["confirmed"].tolist() == [True, False, False]


@given(st.data())
def test_hwpq_equals_a_loop(data):
    k = data.draw(st.integers(1, 4))
    levels = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    answers = st.lists(
        st.lists(st.booleans(), min_size=k, max_size=k), min_size=len(levels), max_size=len(levels)
    )
    positive, negative = data.draw(answers), data.draw(answers)
    weights = [1 / levels.count(level) for level in levels]
    used = sorted(set(levels))
    level_weights = [1 / len(used) if level in used else 0 for level in range(1, 5)]
    expected = 0.0
    for p, n, level, weight in zip(positive, negative, levels, weights, strict=True):
        if sum(p) > k / 2 and not sum(n) > k / 2:
            expected += level_weights[level - 1] * weight
    result = hwpq(positive, negative, levels, weights, level_weights)
    assert result["hwpq"] == pytest.approx(expected, abs=1e-12)
    assert 0 <= result["hwpq"] <= 1 + 1e-12


def test_hwpq_of_tied_answers():
    changed = ANSWERS | {"positive": [[1, 0]] * 3, "negative": [[0, 0]] * 3}
    assert hwpq(**changed)["hwpq"] == 0
    assert hwpq(**changed, ties="true")["hwpq"] == pytest.approx(1)


@given(st.text("abc é", max_size=12), st.text("abc é", max_size=12))
def test_levenshtein_equals_nltk(left, right):
    assert _levenshtein(left, right) == pytest.importorskip("nltk").edit_distance(left, right)


def test_text_rendering_by_hand():
    result = text_rendering(["kitten on", ""], ["sitting on", "x"], weights=(0.25, 0.75))
    np.testing.assert_allclose(result["characters"], [1 - 3 / 10, 0])
    np.testing.assert_allclose(result["tokens"], [1 / 3, 0])
    np.testing.assert_allclose(result["text_rendering"], [0.25 * 0.7 + 0.75 / 3, 0])


def test_light_direction():
    angles = np.array([0, 30, 45, 90, 120, 180])
    inferred = np.stack([np.sin(np.radians(angles)), 0 * angles, np.cos(np.radians(angles))], 1)
    requested = np.tile([0.0, 0, 5e200], (6, 1))
    np.testing.assert_allclose(
        light_direction(3 * inferred, requested), np.clip(1 - angles / 90, 0, 1), atol=1e-15
    )
    tiny = light_direction([[1e-9, 0, 1]], [[0, 0, 1]])[0]
    assert 1 - tiny == pytest.approx(1e-9 / (math.pi / 2), rel=1e-6)


def test_penetration_with_the_corrected_weighting():
    result = penetration(
        [[1, 1.5], [3, 2]], [[1, 2], [0, 1]], [[0.5, 0.5], [1, 1]], 1e-9, weighting="corrected"
    )
    # C is .5 and 1: uncertain masks raise the first one to 1 - .25 * .5.
    assert result["weighted"] == pytest.approx([0.875, 1.0])
    assert result["penetration"] == pytest.approx(0.875)
    assert math.isnan(penetration([], [], [])["penetration"])
    with pytest.raises(MetricInputError, match="weighting"):
        penetration([[1, 2]], [[1, 2]], [[1, 1]], weighting="none")
