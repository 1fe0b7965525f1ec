"""Scores of predictors that know how sure they are."""

import numpy as np
import pytest

from pqpp_models import Predictor
from pqpp_models.bench.calibrated import drawbench_and_gimbrr, evaluate_calibrated
from pqpp_models.bench.generalisation import ScoredPrompts
from pqpp_models.predictor import Uncertain


class Known:
    """Predicts what it is told, with deviations of 1 and rising distances."""

    name, targets = "known", ("mean_hbpp", "mean_rr")
    values = np.array([[0.0, 0.1], [1.0, 0.2], [2.0, 0.4], [1.5, 0.3]])

    def predict(self, rows, targets):
        return self.predict_with_uncertainty(rows, targets).values

    def predict_with_uncertainty(self, rows, targets="mean_hbpp,mean_rr"):
        values = self.values[: len(rows), : 1 if len(targets) == 1 or targets == "mean_hbpp" else 2]
        distance = np.arange(len(values)) / 4
        return Uncertain(values, np.ones_like(values), distance, distance > 0.4)


def test_scores_worked_by_hand():
    true = Known.values.copy()
    true[1, 0] += 2  # one error above 1.645
    other = ScoredPrompts("mine", ["a", "b", "c"], [0.0, 1.0, 0.5])
    found = evaluate_calibrated(Known(), ["a"] * 4, true, {"mine": other})
    assert found["coverage_validation"] == 7 / 8
    assert found["validation"]["mean_rr"] == [1.0, 1.0]
    # Of the six pairs of mean_hbpp, (1, 2) and (1, 1.5) stand the other way round.
    assert found["validation"]["mean_hbpp"][1] == pytest.approx(2 / 6, abs=1e-4)
    assert found["validation_near"][1] == found["validation_near"][0] == 1.0
    mine = found["mine"]
    assert mine["prompts"] == 3 and mine["spearman"] == 0.5
    assert mine["far"] == pytest.approx(1 / 3, abs=1e-4) and mine["coverage"] == 1.0
    assert "within_tasks" not in mine


@pytest.mark.realdata
def test_the_card_of_the_shipped_predictor_tells_other_sets_as_they_are(real_data):
    sets = drawbench_and_gimbrr(str(real_data / "pqpp" / "v1.1"), str(real_data / "gimbrr"))
    assert {name: len(one.prompts) for name, one in sets.items()} == {
        "drawbench": 120,
        "gimbrr": 1602,
    }
    static = Predictor.from_pretrained("static")
    prompts = ["a cat", "two dogs", "a bird in a tree", "three red cups"]
    found = evaluate_calibrated(static, prompts, np.arange(36).reshape(4, 9) / 36, sets)
    for name in sets:
        written, now = static.details["evaluation"][name], found[name]
        assert now.pop("interval") == pytest.approx(written.pop("interval"), abs=2e-4)
        assert now == pytest.approx(written, abs=2e-4)
