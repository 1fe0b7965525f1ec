"""Behaviour of all predictors: blank and unread prompts, scores of measures, directions."""

import pickle

import numpy as np
import pytest

from pqpp_models import TARGETS, Predictor
from pqpp_models.predict import predict, predict_columns

MIXED = ["A man riding a wave.", "", "a red cat", " \n\t", "two dogs"]
KNOWN = [0, 2, 4]


def test_blank_prompts_have_no_distance_and_are_in_domain():
    predictor = Predictor.from_pretrained("static")
    estimates = predictor.predict_with_uncertainty(MIXED, "mean_rr,mean_hbpp")
    for array in estimates[:3]:
        assert np.isnan(array[[1, 3]]).all() and np.isfinite(array[KNOWN]).all()
    assert estimates.out_of_domain.tolist() == [False] * 5
    np.testing.assert_array_equal(estimates.values, predictor.predict(MIXED, "mean_rr,mean_hbpp"))
    columns = predict_columns(predictor, predictor.read_rows(MIXED), "mean_rr")
    assert [columns[n][1] for n in ("mean_rr", "distance", "out_of_domain")] == [None, None, False]


def test_unread_prompts_get_nan_or_the_average():
    prompts = ["qwx zzyv 77", "ein Hund auf dem Sofa", "a cat"]
    empty, average = (predict(prompts, "mean_rr", unread=option) for option in ("empty", "average"))
    assert empty["mean_rr"].isna().tolist() == [True, True, False] == list(empty["out_of_domain"])
    known = Predictor.from_pretrained("static").predict(prompts, "mean_rr")
    assert average["mean_rr"].to_numpy() == pytest.approx(known[:, 0])


def test_measures_have_one_score_for_all_targets():
    predictor = Predictor.from_pretrained("mean_word_length")
    assert predictor.list_columns(None) == ("score",)
    assert predictor.predict(["a red"]).tolist() == [[2.0]]
    assert predictor.predict(["a red"], "mean_rr,mean_hbpp").tolist() == [[2.0, 2.0]]
    for targets in (None, "mean_rr,mean_hbpp"):
        table = predict(["a red"], targets, "mean_word_length")
        assert table.to_dict("list") == {"prompt": ["a red"], "score": [2.0]}
    assert predict(["a red"]).columns.tolist()[1:11] == ["alignment", *TARGETS]


@pytest.mark.daily
@pytest.mark.realdata
def test_directions_match_validation_correlations(read_split, nltk_data, real_data, monkeypatch):
    """A direction needs two of the three means at p < .01, and none with the other sign."""
    from scipy.stats import pearsonr

    from pqpp_models import expand_group_names

    captions = real_data / "captions" / "coco_val2014_captions.txt"
    monkeypatch.setenv("PQPP_COLLECTION", str(captions))
    prompts, scores = read_split("validation")
    means = [scores[:, TARGETS.index(f"mean_{one}")] for one in ("hbpp", "p10", "rr")]
    for name in expand_group_names("linguistic,pre_retrieval"):
        predictor = Predictor.from_pretrained(name)
        predictions = predictor.predict(prompts)[:, 0]
        tests = [pearsonr(predictions, true) for true in means]
        signs = [np.sign(one.statistic) for one in tests if one.pvalue < 0.01]
        agree = len(signs) >= 2 and len(set(signs)) == 1
        expected = {1.0: "easier", -1.0: "harder"}[signs[0]] if agree else "unknown"
        assert predictor.higher_is == expected, (name, tests)


@pytest.mark.parametrize("recipe", [{"dataset": "pqpp", "subset": "sample"}, {"dataset": "sample"}])
def test_sample_does_not_count_as_trained_on_pqpp(recipe):
    predictor = Predictor.from_pretrained("n_words")
    predictor.details = {"recipe": recipe}
    assert predictor.trained_on == "sample"


def test_reads_the_training_split_from_no_other_sentence():
    predictor = Predictor.from_pretrained("static")
    predictor.details = {"data": "our ratings of pqpp prompts, split across two labs"}
    assert (predictor.trained_on, predictor.fitted_on) == (None, None)


@pytest.mark.parametrize("name", ["static", "n_words"])
def test_can_be_pickled(name):
    predictor = Predictor.from_pretrained(name)
    copy = pickle.loads(pickle.dumps(predictor))
    np.testing.assert_array_equal(copy.predict(MIXED), predictor.predict(MIXED))
