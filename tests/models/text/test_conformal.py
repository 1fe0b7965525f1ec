"""Calibrations: units, priors, coverage of intervals and distances."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from pqpp_models.text.calibration import (
    CALIBRATION,
    SPREAD,
    Z90,
    CalibratedPredictor,
    calibrate_across_sources,
    calibrate_targets,
    compute_deviations,
    find_conformal_quantile,
    measure_distance,
    mix_with_prior,
    read_calibration,
    to_normal_scores,
)
from pqpp_models.text.reading.known_words import KnownWords

SHORT, LONG = "a dog", "a dog and a cat and a bird and a cow and a horse and a fish"


def make_scores(n, seed, sizes=(0.2, 1.0)):
    """Return scores, values and prompts, with larger errors for long prompts."""
    random = np.random.default_rng(seed)
    long = random.random(n) < 0.5
    scores = random.normal(size=n)
    noise = random.normal(size=n) * np.where(long, *sizes[::-1])
    return scores, 2 + 0.5 * scores + noise, [LONG if one else SHORT for one in long], long


def test_conformal_quantile_matches_hand_computed_ranks():
    ratio = np.arange(1.0, 20.0)
    # .9 * (19 + 1) = 18: the 18th of 19.
    assert find_conformal_quantile(ratio) == 18.0
    assert find_conformal_quantile(ratio[::-1]) == 18.0
    # .9 * (9 + 1) = 9 of 9; .9 * (5 + 1) = 5.4 is above 5, so the largest.
    assert find_conformal_quantile(ratio[:9]) == 9.0
    assert find_conformal_quantile(ratio[:5]) == 5.0
    # .9 * (10 + 1) = 9.9: the 10th; the plain quantile would be the 9th.
    assert find_conformal_quantile(ratio[:10]) == 10.0


def test_normal_scores_break_ties():
    values = np.array([3.0, 9.0, -1.0, 4.0])
    assert to_normal_scores(values) == pytest.approx(norm.ppf((rankdata(values) - 0.5) / 4))
    tied = to_normal_scores(np.zeros(100))
    assert len(set(tied)) == 100 and tied.std() == pytest.approx(0.99, abs=0.02)
    assert tied.tolist() == to_normal_scores(np.zeros(100)).tolist()
    assert abs(np.corrcoef(tied, np.arange(100))[0, 1]) < 0.3


def test_calibration_recovers_units_and_priors():
    scores, true, prompts, _ = make_scores(4000, 0)
    calibration = calibrate_targets(
        np.c_[scores, -scores], np.c_[true, true], prompts, np.full(4000, 0.3)
    )
    assert calibration["slope"] == pytest.approx([0.5, 0.0], abs=0.05)
    assert calibration["offset"] == pytest.approx([2.0, true.mean()], abs=0.05)
    assert calibration["prior"] == pytest.approx([true.mean()] * 2, abs=1e-5)
    assert calibration["prior_deviation"] == pytest.approx([true.std()] * 2, abs=1e-5)
    assert {name: one.shape for name, one in calibration.items()} == {
        name: (2, *shape) for name, shape in CALIBRATION.items()
    }


def test_intervals_cover_small_and_large_errors():
    scores, true, prompts, _ = make_scores(3000, 1)
    calibration = calibrate_targets(scores[:, None], true[:, None], prompts, np.full(3000, 0.3))
    scores, true, prompts, long = make_scores(3000, 2)
    values = scores[:, None] * calibration["slope"] + calibration["offset"]
    deviations = compute_deviations(values, prompts, np.full(3000, 0.3), calibration)
    error = np.abs(true - values[:, 0])
    for rows in (long, ~long):
        assert 0.87 < (error <= Z90 * deviations[:, 0])[rows].mean() < 0.93
    assert deviations[long].min() / deviations[~long].max() == pytest.approx(5, rel=0.25)
    assert np.corrcoef(error, deviations[:, 0])[0, 1] > 0.4


def test_deviations_never_fall_with_distance():
    random = np.random.default_rng(0)
    scores, distance = random.normal(size=(2, 2000))
    distance = np.abs(distance) / 4
    for sign in (-1, 1):
        true = scores + random.normal(size=2000) * np.exp(sign * 2 * distance)
        calibration = calibrate_targets(scores[:, None], true[:, None], [SHORT] * 2000, distance)
        slope = calibration["spread"][0, SPREAD.index("distance")]
        assert slope == 0 if sign < 0 else slope == pytest.approx(2, abs=0.4)


def make_studies(seed, rho=(0.4, 0.5, 0.6), n=800):
    """Return three studies with different scales, one of them with ties."""
    random = np.random.default_rng(seed)
    parts = []
    for index, share in enumerate(rho):
        scores = random.normal(size=n)
        truth = share * scores + np.sqrt(1 - share**2) * random.normal(size=n)
        truth = (100 + 7 * truth, np.round(truth), np.exp(truth))[index]
        parts.append((scores + 0.3 * index, truth, [f"s{index}"] * n))
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


def fit_sources(seed):
    scores, truths, names = make_studies(seed)
    level = np.where(names == "s0", 0.6 + (truths - 100) / 35, np.nan)
    return level, calibrate_across_sources(scores, truths, names, level, scores)


def test_anchor_sets_level_and_ranks_set_slope():
    level, calibration = fit_sources(0)
    known = ~np.isnan(level)
    assert calibration["prior"] == pytest.approx([level[known].mean()])
    assert calibration["prior_deviation"] == pytest.approx([level[known].std()])
    scores, truths, names = make_studies(5)
    values = scores * calibration["slope"] + calibration["offset"]
    assert values[: len(values) // 3].mean() == pytest.approx(0.6, abs=0.03)
    # Normal scores on predictions centred in their study, each study with the same weight.
    goals = [to_normal_scores(truths[names == name]) for name in ("s0", "s1", "s2")]
    slope = np.polyfit(
        scores - 0.3 * (names == "s1") - 0.6 * (names == "s2"), np.concatenate(goals), 1
    )[0]
    assert calibration["slope"] / calibration["prior_deviation"] == pytest.approx(slope, rel=0.1)


def test_sources_have_equal_weight():
    scores, truths, names = make_studies(0)
    level, calibration = fit_sources(0)
    stretched = np.where(names == "s2", truths**3, truths)
    rescaled = calibrate_across_sources(scores, stretched, names, level, scores)
    for name in CALIBRATION:
        np.testing.assert_array_equal(rescaled[name], calibration[name])
    # The anchor has the same weight if its rows are repeated ten times.
    rows = np.r_[np.repeat(np.arange(800), 10), np.arange(800, 2400)]
    many = calibrate_across_sources(*(c[rows] for c in (scores, truths, names, level, scores)))
    assert many["slope"] == pytest.approx(calibration["slope"], rel=0.02)


def test_mixture_matches_sampled_moments():
    random = np.random.default_rng(0)
    prior = {"prior": np.array([1.0]), "prior_deviation": np.array([0.5])}
    value, deviation = mix_with_prior(np.array([[3.0]]), np.array([[0.2]]), np.array([0.3]), prior)
    samples = np.where(
        random.random(400_000) < 0.3,
        random.normal(3.0, 0.2, 400_000),
        random.normal(1.0, 0.5, 400_000),
    )
    assert value[0, 0] == pytest.approx(samples.mean(), abs=0.01)
    assert deviation[0, 0] == pytest.approx(samples.std(), abs=0.01)


class LengthPredictor(CalibratedPredictor):
    """A predictor that scores prompts by their number of characters."""

    name, targets, tables, details = "lengths", ("clip_p10", "clip_rr"), None, {}
    reference_points = np.ones((1, 1))  # a cosine of .5 with each prompt, so a distance of .5

    def __init__(self, calibration, known_words=None):
        self.calibration, self.known_words = calibration, known_words

    def compute_raw_scores(self, prompts):
        scores = np.array([[len(prompt) / 10] * 2 for prompt in prompts])
        return scores, np.full((len(prompts), 1), 0.5)

    @classmethod
    def from_checkpoint(cls, folder, config, tensors):
        return cls(read_calibration(config, tensors)["calibration"])


ARRAYS = {
    "slope": np.array([0.1, 0.2]),
    "offset": np.array([0.3, 0.1]),
    "prior": np.array([0.6, 0.25]),
    "prior_deviation": np.array([0.3, 0.2]),
    "spread": np.array([[-2.5, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.07, 0.8], [-9.0, *[0] * 8]]),
}


def test_predictions_match_hand_computed_values():
    predictor = LengthPredictor(ARRAYS)
    result = predictor.predict_with_uncertainty(["two dogs on a mat"])
    assert result.values[0] == pytest.approx([0.3 + 0.17, 0.1 + 0.34])
    deviate = (0.47 - 0.6) / 0.3
    log = -2.5 + 0.1 * deviate - 0.2 * deviate + 0.15 + 0.4 * np.log(6) + 0.5 * 0 + 0.6 * 1
    log += 0.07 * np.log(18)
    assert result.deviations[0] == pytest.approx([np.exp(log), np.exp(-9)])
    # One more spatial word, and one more word.
    result = predictor.predict_with_uncertainty(["a dogs left on a mat"])
    deviate = (0.3 + 0.2 - 0.6) / 0.3
    log = -2.5 + 0.1 * deviate - 0.2 * deviate + 0.15 + 0.4 * np.log(7) + 0.5 * 1
    log += 0.07 * np.log(21)
    assert result.deviations[0, 0] == pytest.approx(np.exp(log))
    # Text to draw; a full stop, a capital and repeated blanks do not count as characters.
    result = predictor.predict_with_uncertainty(["a  Sign on a mat.", "a hand on a mat"])
    ratio = result.deviations[0, 0] / result.deviations[1, 0]
    assert result.values[0, 0] == result.values[1, 0]
    deviate = [(value - 0.6) / 0.3 for value in result.values[:, 0]]
    assert np.log(ratio) == pytest.approx(0.8 - 0.1 * (deviate[0] - deviate[1]))
    # A deviation is at most twice the prior's.
    more = LengthPredictor({**ARRAYS, "spread": ARRAYS["spread"] + np.array([[0], [20]])})
    result = more.predict_with_uncertainty(["two dogs left of a mat"])
    assert result.deviations[0, 1] == pytest.approx(0.4)
    assert not result.out_of_domain.any()


def test_unread_prompts_get_prior():
    known = KnownWords.fit(["a red dog on the beach", "two dogs on a mat"] * 50)
    predictor = LengthPredictor(ARRAYS, known)
    prompts = ["two dogs on a mat", "xqw zzt", "", "пёс на пляже"]
    result = predictor.predict_with_uncertainty(prompts)
    assert result.out_of_domain.tolist() == [False, True, False, True]
    for row in (1, 3):
        assert result.values[row] == pytest.approx(ARRAYS["prior"])
        assert result.deviations[row] == pytest.approx(ARRAYS["prior_deviation"])
    assert np.isnan(result.values[2]).all() and np.isnan(result.distance[2])
    plain = LengthPredictor(ARRAYS).predict_with_uncertainty(["two dogs on a mat"])
    assert result.values[0].tolist() == plain.values[0].tolist()
    assert "not read as plain English" in predictor.domain_note


def test_distance_averages_nearest_five():
    angles = np.deg2rad([0, 10, 20, 30, 40, 50, 170])
    points = np.array([np.cos(angles), np.sin(angles)])
    distance = measure_distance(points[:, :1].T, points)
    assert distance == pytest.approx([1 - np.cos(angles[:5]).mean()], abs=1e-6)
    alone = measure_distance(points[:, :1].T, points, exclude_self=True)
    assert alone == pytest.approx([1 - np.cos(angles[1:6]).mean()], abs=1e-6)
    pair = measure_distance(points[:, :1].T, points[:, :2])
    assert pair == pytest.approx([1 - np.cos(angles[:2]).mean()], abs=1e-6)
