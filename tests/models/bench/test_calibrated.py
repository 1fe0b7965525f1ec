"""Scores of predictors that know how sure they are."""

import numpy as np
import pytest

from pqpp_models.bench.calibrated import evaluate_calibrated
from pqpp_models.predictor import Uncertain


class Known:
    """Predicts what it is told, with deviations of 1 and rising distances."""

    name, targets = "known", ("mean_hbpp", "mean_rr")
    values = np.array([[0.0, 0.1], [1.0, 0.2], [2.0, 0.4], [1.5, 0.3]])

    def predict_with_uncertainty(self, rows, targets):
        values = self.values[: len(rows)]
        distance = np.arange(len(values)) / 4
        return Uncertain(values, np.ones_like(values), distance, distance > 0.4)


def test_scores_worked_by_hand():
    true = Known.values.copy()
    true[1, 0] += 2  # one error above 1.645
    found = evaluate_calibrated(Known(), ["a"] * 4, true, Known.targets)
    assert found["coverage_validation"] == 7 / 8
    assert found["validation"]["mean_rr"] == [1.0, 1.0]
    # Of the six pairs of mean_hbpp, (1, 2) and (1, 1.5) stand the other way round.
    assert found["validation"]["mean_hbpp"][1] == pytest.approx(2 / 6, abs=1e-4)
    assert found["validation_near"][1] == found["validation_near"][0] == 1.0
