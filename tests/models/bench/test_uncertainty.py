"""Coverage and sorting by hand and on planted errors."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata, spearmanr

from pqpp_models.bench.uncertainty import held_in_units, held_on_ranks
from pqpp_models.predictor import Uncertain


def planted(seed, n=4000, rho=0.6):
    random = np.random.default_rng(seed)
    scores = random.normal(size=n)
    large = random.random(n) < 0.5
    size = np.where(large, 1.3, 0.3) * np.sqrt(1 - rho**2) / np.sqrt((1.69 + 0.09) / 2)
    truth = rho * scores + size * random.normal(size=n)
    values, deviations = 0.6 + 0.2 * rho * scores, 0.2 * size
    found = Uncertain(values[:, None], deviations[:, None], np.zeros(n), np.arange(n) < n / 10)
    return found, np.exp(truth / 2)


def test_in_units_by_hand():
    values = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    true = np.array([[0.1, 0.0], [-0.2, 1.0], [0.3, 0.0], [4.0, 0.0]])
    deviations = np.array([[0.1, 1.0], [0.2, 1.0], [0.3, 1.0], [0.4, 2.0]])
    found = Uncertain(values, deviations, np.zeros(4), np.array([True, False, False, False]))
    first, second = held_in_units(found, true)
    assert first == (4, 0.75, 1.0, 0.25)
    assert second.coverage == 1.0


def test_on_ranks_intervals_of_planted_errors_cover():
    found, truth = planted(0)
    held = held_on_ranks(found, truth, 0.2)
    assert held.prompts == 4000 and held.far == 0.1
    assert held.coverage == pytest.approx(0.9, abs=0.04)
    goal = norm.ppf((rankdata(truth) - 0.5) / 4000)
    own = (found.values[:, 0] - found.values.mean()) / 0.2
    error = np.abs(goal - own)
    assert held.sorting == pytest.approx(spearmanr(error, found.deviations[:, 0])[0])
    assert held.sorting > 0.4
    half = found._replace(deviations=found.deviations / 2)
    assert held_on_ranks(half, truth, 0.2).coverage < 0.7


def test_equal_values_have_no_order():
    found, truth = planted(0)
    tied = np.round(truth)
    held = held_on_ranks(found, tied, 0.2)
    assert held_on_ranks(found, tied, 0.2) == held
    order = np.argsort(found.values[:, 0])
    ordered = Uncertain(*(part[order] for part in found))
    again = held_on_ranks(ordered, tied[order], 0.2)
    assert again == pytest.approx(held, abs=0.01)


def test_only_ranks_and_distances_from_the_mean_count():
    found, truth = planted(1)
    held = held_on_ranks(found, truth, 0.2)
    moved = found._replace(values=found.values + 5)
    assert held_on_ranks(moved, truth**3, 0.2) == pytest.approx(held)
    scaled = found._replace(values=found.values * 7, deviations=found.deviations * 7)
    assert held_on_ranks(scaled, truth, 1.4) == pytest.approx(held)


def test_as_if_predictions_varied_like_the_truth():
    found, truth = planted(2)
    other = found._replace(values=np.exp(9 * found.values))
    one, two = (held_on_ranks(f, truth, 0.2, shrunk=False) for f in (found, other))
    assert one == pytest.approx(two)
    assert one.coverage < held_on_ranks(found, truth, 0.2).coverage
