"""Fitting the lexical predictor."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from models.made_up import made_up
from scipy.stats import kendalltau, norm, rankdata
from sklearn.kernel_ridge import KernelRidge
from support.processes import run_python

import pqpp_models
from pqpp_models import TARGETS, Predictor, PredictorError
from pqpp_models.text.lexical.fitting import Recipe, _goal, _mean_pearson, _solve, data_fingerprint
from pqpp_models.text.lexical.predictor import SHIPPED, LexicalPredictor

ONE = ["mean_hbpp"]


def test_learns_what_words_tell(fitted):
    prompts, scores = made_up(100, seed=1)
    found = fitted.predict(prompts)
    for column in range(9):
        assert np.corrcoef(found[:, column], scores[:, column])[0, 1] > 0.6
    assert abs(found.mean(axis=0) - scores.mean(axis=0)).max() < 0.15


def test_order_of_targets_is_the_callers():
    prompts, scores = made_up(80)
    both = LexicalPredictor.fit(prompts, scores[:, [8, 2]], ["mean_rr", "mean_hbpp"])
    assert both.targets == ("mean_rr", "mean_hbpp")
    found = both.predict(prompts, "mean_hbpp")[:, 0]
    assert np.corrcoef(found, scores[:, 2])[0, 1] > 0.6


def test_rows_without_a_score_are_left_out_for_that_target():
    prompts, scores = made_up(100)
    scores[:70, 2] = np.nan
    fitted = LexicalPredictor.fit(prompts, scores)
    assert fitted.details["training"]["n_scores"]["mean_hbpp"] == 30
    assert fitted.details["training"]["n_scores"]["mean_rr"] == 100
    assert np.isfinite(fitted.predict(prompts)).all()


def test_solution_is_that_of_kernel_ridge():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 5)), rng.normal(size=(30, 2))
    kernel, rows = x @ x.T, np.arange(30) < 25
    offset, dual = _solve(kernel, rows, y, 3.0)
    outside = KernelRidge(alpha=3.0, kernel="precomputed").fit(kernel[:25, :25], y[:25] - offset)
    np.testing.assert_allclose(dual, outside.dual_coef_, atol=1e-10)
    np.testing.assert_allclose(offset, y[:25].mean(axis=0))


def test_goal_is_half_value_half_rank():
    values = np.array([0.1, np.nan, 0.4, 0.1, 0.9])
    there = values[~np.isnan(values)]
    expected = (there - there.mean()) / there.std() / 2
    expected += norm.ppf((rankdata(there) - 0.5) / 4) / 2
    np.testing.assert_allclose(_goal(values, 0.5)[[0, 2, 3, 4]], expected)
    assert np.isnan(_goal(values, 0.5)[1])


def test_mean_pearson():
    rng = np.random.default_rng(0)
    x, y, fold = rng.normal(size=60), rng.normal(size=60), np.arange(60) % 3
    parts = [np.corrcoef(x[fold == f], y[fold == f])[0, 1] for f in range(3)]
    assert _mean_pearson(x, y, fold) == pytest.approx(np.mean(parts))
    y[fold == 1] = np.nan
    assert _mean_pearson(x, y, fold) == pytest.approx(np.mean([parts[0], parts[2]]))
    assert _mean_pearson(np.ones(60), x, fold) == 0.0


def test_constant_target_is_predicted_as_it_is():
    prompts, _ = made_up(40)
    fitted = LexicalPredictor.fit(prompts, np.full((40, 1), 0.25), ["mean_rr"])
    np.testing.assert_allclose(fitted.predict(["a cat", "?"]), 0.25, atol=1e-6)


def test_prompts_without_any_word_can_be_fitted_to():
    fitted = LexicalPredictor.fit([""] * 20, np.linspace(0, 1, 20)[:, None], ["mean_rr"])
    np.testing.assert_allclose(fitted._score(["", "a cat"], ("mean_rr",)), 0.5, atol=1e-6)


def test_surrogates_survive_saving(tmp_path):
    prompts = [f"a \ud800 cat {n}" for n in range(20)]
    fitted = LexicalPredictor.fit(prompts, np.linspace(0, 1, 20)[:, None], ["mean_rr"])
    loaded = Predictor.from_pretrained(fitted.save_pretrained(tmp_path / "x"))
    np.testing.assert_array_equal(loaded.predict(prompts), fitted.predict(prompts))


@pytest.mark.parametrize(
    ("prompts", "scores", "said"),
    [
        (["a"] * 20, np.zeros(20), r"shape \(20,\), but 20 prompts and 1 targets need \(20, 1\)"),
        (["a"] * 20, np.zeros((19, 1)), r"shape \(19, 1\)"),
        (["a"] * 20, np.zeros((20, 2)), r"shape \(20, 2\)"),
        (["a"] * 19, np.zeros((19, 1)), "has 19 scores; a fit needs at least 20"),
        (["a"] * 30, np.r_[np.zeros(19), [np.nan] * 11][:, None], "has 19 scores"),
        (["a"] * 20, np.full((20, 1), 2.5), "from 2.5 to 2.5, but its range is -1 to 2"),
        (["a"] * 20, np.full((20, 1), np.inf), "from inf to inf"),
        (["a"] * 20_001, np.zeros((20_001, 1)), "20001 prompts are too many"),
        (["a"] * 19 + [None], np.zeros((20, 1)), "index 19 is a NoneType"),
    ],
)
def test_what_cannot_be_fitted_to_is_refused(prompts, scores, said):
    with pytest.raises(PredictorError, match=said):
        LexicalPredictor.fit(prompts, scores, ONE)


def test_fingerprint():
    base = data_fingerprint(["a", "b"], [[0.5], [np.nan]])
    assert base == data_fingerprint(["a", "b"], np.array([[0.5], [-np.nan]], dtype=">f8"))
    others = [(["ab", ""], [[0.5], [np.nan]]), (["b", "a"], [[0.5], [np.nan]])]
    others += [(["a", "b"], [[0.5], [0.0]])]
    assert base not in [data_fingerprint(*other) for other in others]


FIT = """
import sys
import numpy as np
from pqpp_models.text.lexical.predictor import LexicalPredictor
prompts = [f"{a} {b} {c}" for a in ("red", "tan", "big") for b in ("cat", "dog", "bird")
           for c in ("sits", "on a mat", "in \\u4e00")]
scores = np.linspace(0, 1, 27 * 9).reshape(9, 27).T
LexicalPredictor.fit(prompts, scores).save_pretrained("fitted")
"""


def test_same_bytes_whatever_the_hash_seed(tmp_path):
    contents = []
    for seed in ("0", "1", "random"):
        place = tmp_path / seed
        place.mkdir()
        package = str(Path(pqpp_models.__file__).parents[1])
        done = run_python(FIT, place, PYTHONHASHSEED=seed, PYTHONPATH=package)
        assert done.returncode == 0, done.stderr
        contents.append({p.name: p.read_bytes() for p in (place / "fitted").iterdir()})
    assert contents[0] == contents[1] == contents[2]


@pytest.mark.realdata
def test_shipped_predictor_passes_its_bars(read_split):
    """Mean over the nine targets on validation: at least .37 Pearson and .25 Kendall."""
    prompts, scores = read_split("validation")
    found = Predictor.from_pretrained("lexical").predict(prompts)
    pearson = [np.corrcoef(found[:, t], scores[:, t])[0, 1] for t in range(9)]
    kendall = [kendalltau(found[:, t], scores[:, t]).statistic for t in range(9)]
    assert np.mean(pearson) >= 0.37
    assert np.mean(kendall) >= 0.25
    evaluation = Predictor.from_pretrained("lexical").details["evaluation"]
    rows = next(table for table in evaluation if table["title"].startswith("The validation"))[
        "rows"
    ]
    assert [row["target"] for row in rows[:9]] == list(TARGETS)
    np.testing.assert_allclose([row["pearson"] for row in rows[:9]], pearson, atol=1e-4)
    np.testing.assert_allclose([row["kendall"] for row in rows[:9]], kendall, atol=1e-4)


@pytest.mark.realdata
def test_shipped_predictor_was_fitted_to_the_train_split_alone(read_split):
    training = Predictor.from_pretrained("lexical").details["training"]
    assert training["fingerprint"] == data_fingerprint(*read_split("train"))


@pytest.mark.realdata
@pytest.mark.slow
def test_training_again_gives_the_shipped_weights(read_split, tmp_path):
    """The same bytes with the same versions; predictions within 1e-6 with others."""
    shipped = Predictor.from_pretrained("lexical")
    again = LexicalPredictor.fit(*read_split("train"), data=shipped.details["data"])
    prompts, _ = read_split("validation")
    np.testing.assert_allclose(again.predict(prompts), shipped.predict(prompts), atol=1e-6)
    training = dict(again.details["training"])
    recipe = Recipe(**{**training["recipe"], "ridges": tuple(training["recipe"]["ridges"])})
    assert recipe == Recipe()
    if training["versions"] == shipped.details["training"]["versions"]:
        name = "model.safetensors"
        folder = again.save_pretrained(tmp_path / "again")
        assert _sha256(folder / name) == _sha256(SHIPPED / name)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
