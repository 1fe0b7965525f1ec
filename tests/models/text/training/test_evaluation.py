"""Evaluation on validation and studies, and the pooled model of several studies."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from pqpp_models import Predictor
from pqpp_models.predictor import Estimates
from pqpp_models.text.training.data import (
    FEWER_WORDS,
    bootstrap_interval,
    evaluate_calibrated,
    evaluate_study,
    format_studies,
    score_brevity,
)
from pqpp_models.text.training.pooling import StudyFeatures, pool_studies
from pqpp_models.text.training.studies import Study
from pqpp_models.text.training.trainers import cross_predict_studies


def test_evaluates_study_like_scipy():
    prompts = ["a cat", "a red dog.", "three big houses", "Two birds", "an elephant on a hill"]
    study = Study(prompts, [0.1, 0.5, 0.3, 0.9, 0.7], ["x", "x", "x", "y", "y"])
    letters = np.array([5.0, 14.0, 16.0, 18.0, 21.0])
    row = evaluate_study(study, letters)
    assert row["spearman"] == pytest.approx(spearmanr(letters, study.scores)[0], abs=1e-4)
    assert row["interval"][0] < row["spearman"] < row["interval"][1]
    words = [-2, -3, -3, -2, -5]
    assert row[FEWER_WORDS] == pytest.approx(spearmanr(words, study.scores)[0], abs=1e-4)
    # Only group x: letters 5, 14, 16 with .1, .5, .3; y has only two prompts.
    assert row["within_tasks"] == pytest.approx(0.5)
    assert row["prompts"] == 5 and "mean" in format_studies({"mine": row})


def make_studies(slopes, length=0.0):
    """Return studies whose scores rise with the first of six features and fall with length.

    The second feature is the log number of words.
    """
    random, studies = np.random.default_rng(0), {}
    for name, slope in slopes.items():
        features, words = random.normal(size=(80, 6)), random.integers(3, 30, 80)
        features[:, 1] = np.log(words)
        noise = 0.1 * random.normal(size=80)
        scores = slope * features[:, 0] - length * np.log(words) + noise
        studies[name] = StudyFeatures([features], np.log(words + 1.0), scores)
    return studies


def predict_study(studies, name):
    """Predict a study by the others."""
    others = {other: study for other, study in studies.items() if other != name}
    return pool_studies(others)(studies[name].features, studies[name].lengths)


def test_predicts_study_from_others_only():
    studies = make_studies({"a": 1.0, "b": 5.0, "odd": -1.0})
    predictions = predict_study(studies, "odd")
    # The first feature raises scores in the other studies, and lowers them in this one.
    assert spearmanr(predictions, studies["odd"].goals)[0] < -0.9


def test_length_effect_is_mean_over_studies():
    studies = make_studies(dict.fromkeys("abcd", 1.0))
    for name, effect in zip("abc", (1.5, 0.0, -1.5), strict=True):
        goals = studies[name].goals - effect * studies[name].lengths
        studies[name] = replace(studies[name], goals=goals)
    assert abs(np.corrcoef(predict_study(studies, "d"), studies["d"].lengths)[0, 1]) < 0.25
    disliked = make_studies(dict.fromkeys("abcd", 1.0), length=1.0)
    assert np.corrcoef(predict_study(disliked, "d"), disliked["d"].lengths)[0, 1] < -0.3


def test_bootstraps_mean_over_studies():
    low, high = bootstrap_interval([0.0, 1.0], seed=0)
    assert (low, high) == (0.0, 1.0)  # a quarter of the samples each is twice the same study


DOCS = Path(__file__).parents[4] / "docs"
TABLE = json.loads((DOCS / "leave_one_out.json").read_text("utf-8"))


def test_pages_quote_leave_one_out_table():
    def format_number(value, digits):
        return f"{value:.{digits}f}".replace("0.", ".", 1)

    page, readme = ((DOCS / name).read_text("utf-8") for name in ("worth.md", "../README.md"))
    for row in TABLE["studies"].values():
        low, high = (format_number(end, 2) for end in row["interval"])
        cells = [f"{row['prompts']:,}", format_number(row["spearman"], 3), f"{low} to {high}"]
        cells.append(format_number(row["fewer words"], 3))
        assert f"| {' | '.join(cells)} |" in page
    mean = np.mean([row["spearman"] for row in TABLE["studies"].values()])
    low, high = (format_number(end, 2) for end in TABLE["mean_interval"])
    assert f"**{format_number(mean, 3)}** | {low} to {high}" in page
    assert f"{format_number(mean, 2)} [{low}, {high}]" in readme


@pytest.mark.daily
@pytest.mark.realdata
def test_leave_one_out_table_is_reproducible(real_studies):
    studies = cross_predict_studies(real_studies)[1]
    for name, row in TABLE["studies"].items():
        assert studies[name]["spearman"] == pytest.approx(row["spearman"], abs=0.02), name


@pytest.mark.realdata
def test_alignment_hardly_depends_on_length(real_studies):
    prompts = real_studies["aigiqa"].prompts[::4]
    predictions = Predictor.from_pretrained("static").predict(prompts, "alignment")[:, 0]
    assert abs(np.corrcoef(predictions, score_brevity(prompts))[0, 1]) < 0.15


class KnownPredictor:
    """A predictor of fixed values, with deviations of 1 and rising distances."""

    name, targets = "known", ("mean_hbpp", "mean_rr")
    values = np.array([[0.0, 0.1], [1.0, 0.2], [2.0, 0.4], [1.5, 0.3]])

    def predict_with_uncertainty(self, rows, targets):
        values = self.values[: len(rows)]
        distance = np.arange(len(values)) / 4
        return Estimates(values, np.ones_like(values), distance, distance > 0.4, [])


def test_evaluates_calibrated_predictor():
    true = KnownPredictor.values.copy()
    true[1, 0] += 2  # one error above 1.645
    result = evaluate_calibrated(KnownPredictor(), ["a"] * 4, true, KnownPredictor.targets)
    assert result["coverage_validation"] == 7 / 8
    assert result["validation"]["mean_rr"] == [1.0, 1.0]
    # Of the six pairs of mean_hbpp, (1, 2) and (1, 1.5) are discordant.
    assert result["validation"]["mean_hbpp"][1] == pytest.approx(2 / 6, abs=1e-4)
    assert result["validation_near"][1] == result["validation_near"][0] == 1.0
