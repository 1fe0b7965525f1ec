"""What predictors score on validation and on studies, and the linear model beside them."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from pqpp_models.predictor import Uncertain
from pqpp_models.scored_prompts import ScoredPrompts
from pqpp_models.text.training.data import (
    FEWER_WORDS,
    evaluate_calibrated,
    format_studies,
    study_row,
)
from pqpp_models.text.training.teacher_student import inside, leave_each_out


class ByLetters:
    """Predicts by the letters of a prompt; a full stop counts as five, a capital as ten."""

    def predict(self, rows, targets):
        assert targets == "alignment"
        marks = [len(row) + 4 * row.count(".") + 9 * sum(c.isupper() for c in row) for row in rows]
        return np.array(marks, dtype=float)[:, None]


def test_a_row_worked_by_hand():
    prompts = ["a cat", "a red dog.", "three big houses", "Two birds", "an elephant on a hill"]
    study = ScoredPrompts("mine", prompts, [0.1, 0.5, 0.3, 0.9, 0.7], ["x", "x", "x", "y", "y"])
    row = study_row(study, ByLetters(), {"other": np.arange(5.0)})
    letters = [5, 14, 16, 18, 21]
    assert row["spearman"] == pytest.approx(spearmanr(letters, study.scores)[0], abs=1e-4)
    assert row["interval"][0] < row["spearman"] < row["interval"][1]
    words = [-2, -3, -3, -2, -5]
    assert row[FEWER_WORDS] == pytest.approx(spearmanr(words, study.scores)[0], abs=1e-4)
    assert row["other"] == pytest.approx(spearmanr(range(5), study.scores)[0], abs=1e-4)
    # Of x alone: letters 5, 14, 16 with .1, .5, .3; y has two prompts only.
    assert row["within_tasks"] == pytest.approx(0.5)
    assert row["prompts"] == 5 and "mean" in format_studies({"mine": row})


def studies_of(slopes, seed=0, noise=0.1):
    """Return states and scores of studies, each with a slope and a scale of its own."""
    random = np.random.default_rng(seed)
    states = {name: random.normal(size=(80, 6)).astype(np.float32) for name in slopes}
    scores = {
        name: 100 * slope * states[name][:, 0] + noise * random.normal(size=80) - 7
        for name, slope in slopes.items()
    }
    return states, scores


def test_each_study_is_predicted_by_the_others_alone():
    states, scores = studies_of({"a": 1.0, "b": 5.0, "odd": -1.0})
    found = leave_each_out(states, scores)
    # Both others say that the first column helps; it hurts in the odd one out.
    assert spearmanr(found["odd"], scores["odd"])[0] < -0.9
    changed = leave_each_out(states, {**scores, "odd": scores["odd"][::-1]})
    assert np.corrcoef(found["odd"], changed["odd"])[0, 1] > 0.98  # but for the strength


def test_inside_a_study_no_prompt_is_predicted_by_itself():
    states, scores = studies_of({"a": 1.0})
    assert spearmanr(inside(states["a"], scores["a"], 0), scores["a"])[0] > 0.95
    noise = np.random.default_rng(5).normal(size=80)
    assert abs(spearmanr(inside(states["a"], noise, 0), noise)[0]) < 0.35


class Known:
    """Predicts what it is told, with deviations of 1 and rising distances."""

    name, targets = "known", ("mean_hbpp", "mean_rr")
    values = np.array([[0.0, 0.1], [1.0, 0.2], [2.0, 0.4], [1.5, 0.3]])

    def predict_with_uncertainty(self, rows, targets):
        values = self.values[: len(rows)]
        distance = np.arange(len(values)) / 4
        return Uncertain(values, np.ones_like(values), distance, distance > 0.4, [])


def test_scores_worked_by_hand():
    true = Known.values.copy()
    true[1, 0] += 2  # one error above 1.645
    found = evaluate_calibrated(Known(), ["a"] * 4, true, Known.targets)
    assert found["coverage_validation"] == 7 / 8
    assert found["validation"]["mean_rr"] == [1.0, 1.0]
    # Of the six pairs of mean_hbpp, (1, 2) and (1, 1.5) stand the other way round.
    assert found["validation"]["mean_hbpp"][1] == pytest.approx(2 / 6, abs=1e-4)
    assert found["validation_near"][1] == found["validation_near"][0] == 1.0
