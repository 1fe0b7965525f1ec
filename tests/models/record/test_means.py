"""Mean targets are predicted as the mean of their parts."""

import json

import numpy as np
import pytest
from models.made_up import made_up

from pqpp_models import TARGETS, Predictor
from pqpp_models.record.record import find_mean_targets
from pqpp_models.text.ridge.fitting import fit

PROMPTS = ["A man riding a wave.", "two oranges near a bus", "", "qwx zzyv 77"]


def make_scores(seed=0, n=120):
    prompts, scores = made_up(n, seed)
    for mean in (2, 5, 8):
        scores[:, mean] = scores[:, [mean - 2, mean - 1]].mean(axis=1)
    return prompts, scores


@pytest.fixture(scope="module")
def ridge():
    return fit(*make_scores(), TARGETS)


def predict(predictor, targets=None):
    names = targets or predictor.targets
    return dict(zip(names, predictor.predict(PROMPTS, names).T, strict=True))


def test_mean_targets_average_their_parts(ridge):
    all_nine, alone = predict(ridge), predict(ridge, ("mean_hbpp",))
    expected = (all_nine["glide_hbpp"] + all_nine["sdxl_hbpp"]) / 2
    np.testing.assert_array_equal(all_nine["mean_hbpp"], expected)
    np.testing.assert_array_equal(alone["mean_hbpp"], expected)  # without the parts
    estimates = ridge.predict_with_uncertainty(PROMPTS, ("mean_hbpp", "clip_rr"))
    np.testing.assert_array_equal(estimates.values[:, 0], expected)
    assert estimates.values.shape == estimates.deviations.shape == (4, 2)
    np.testing.assert_array_equal(np.isnan(estimates.deviations[:, 0]), np.isnan(expected))


def test_saves_mean_targets(ridge, tmp_path):
    folder = ridge.save_pretrained(tmp_path / "saved")
    config = json.loads((folder / "config.json").read_text())
    assert config["means_from_parts"] == ["mean_hbpp", "mean_p10", "mean_rr"]
    restored = Predictor.from_pretrained(folder)
    np.testing.assert_array_equal(restored.predict(PROMPTS), ridge.predict(PROMPTS))
    del config["means_from_parts"]
    (folder / "config.json").write_text(json.dumps(config))
    older = predict(Predictor.from_pretrained(folder))
    assert not np.array_equal(older["mean_hbpp"], predict(ridge)["mean_hbpp"], equal_nan=True)
    np.testing.assert_array_equal(older["sdxl_hbpp"], predict(ridge)["sdxl_hbpp"])


def test_weighted_means_are_separate_targets():
    names = ("a_rating", "b_rating", "mean_rating")
    rows = np.array([[1.0, 3.0, 2.0], [2.0, 5.0, 3.5], [np.nan, 4.0, 4.0]])
    assert find_mean_targets(names, rows) == ("mean_rating",)
    assert find_mean_targets(names, rows[2:]) == ()  # no row has all three
    rows[1, 2] = 3.0  # weighted by numbers of votes
    assert find_mean_targets(names, rows) == ()


def test_rounded_scores_count_as_means():
    names = ("a_rr", "b_rr", "mean_rr")
    a, b = np.random.default_rng(0).random((2, 50)).round(2)
    assert find_mean_targets(names, np.column_stack([a, b, ((a + b) / 2).round(2)])) == ("mean_rr",)


@pytest.mark.realdata
def test_deviations_of_means_cover_nine_in_ten(read_split):
    """A mean keeps its own deviation, since the errors of its parts are correlated."""
    prompts, true = read_split("validation")
    static = Predictor.from_pretrained("static-train")  # not fitted to validation
    assert static.record.means == ("mean_hbpp", "mean_p10", "mean_rr")
    estimates = static.predict_with_uncertainty(prompts, TARGETS)
    np.testing.assert_array_equal(estimates.values[:, 2], estimates.values[:, :2].mean(axis=1))
    coverage = (np.abs(true - estimates.values) <= 1.645 * estimates.deviations).mean(axis=0)
    assert (coverage[[2, 5, 8]] > 0.87).all() and (coverage[[2, 5, 8]] < 0.93).all()
