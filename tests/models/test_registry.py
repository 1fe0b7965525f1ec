import importlib

import pytest

from pqpp_models import (
    DEFAULT_PREDICTOR,
    MissingResourceError,
    Predictor,
    PredictorError,
    UnknownPredictorError,
    expand_predictors,
    list_predictors,
    register_predictor,
    registry,
)
from pqpp_models.measures.linguistic import MEASURES


def test_every_registered_name_loads(monkeypatch, tmp_path):
    (tmp_path / "captions.txt").write_text("a red cat\n")
    (tmp_path / "words.vec").write_text("cat 1 0\n")
    monkeypatch.setenv("PQPP_COLLECTION", str(tmp_path / "captions.txt"))
    monkeypatch.setenv("PQPP_WORD_VECTORS", str(tmp_path / "words.vec"))
    scored, measures = expand_predictors("post_retrieval"), expand_predictors(registry.FAMILIES)
    for name in list_predictors():
        predictor = Predictor.from_pretrained(name)
        assert predictor.name == name.removesuffix("-train")  # a build of the same type
        assert predictor.inputs == ("text+scores" if name in scored else "text")
        assert predictor.supervised == (name not in measures)


def test_the_default_comes_first_and_the_eight_features_before_other_measures():
    assert DEFAULT_PREDICTOR == "static"
    names, measures = list_predictors(), expand_predictors(registry.FAMILIES)
    assert names[:2] == ["static", "static-train"]
    assert [name for name in names if name in measures][:8] == [*MEASURES]
    assert expand_predictors("linguistic") == tuple(MEASURES)


def test_those_like_the_default_follow_it_whatever_others_are_called(monkeypatch):
    others = {"aaa": registry.PREDICTORS["static"]} | dict(registry.PREDICTORS)
    monkeypatch.setattr(registry, "PREDICTORS", others)
    assert list_predictors()[:3] == ["static", "static-train", "aaa"]


@pytest.mark.parametrize("group", ["ego_network", "pre_retrieval", "post_retrieval"])
def test_the_unsupervised_families_are_groups(group):
    module = importlib.import_module(f"pqpp_models.measures.{group}.measures")
    assert expand_predictors(group) == tuple(module.MEASURES)


@pytest.mark.parametrize(
    ("name", "variable"), [("avg_idf", "PQPP_COLLECTION"), ("pagerank", "PQPP_WORD_VECTORS")]
)
def test_what_a_name_needs_beside_is_said(name, variable, monkeypatch):
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(MissingResourceError, match=f"set {variable} to"):
        Predictor.from_pretrained(name)


def test_groups_are_expanded_and_repetitions_dropped():
    expanded = expand_predictors(["n_words", " linguistic", "./a folder", "static", "n_words"])
    assert expanded[:2] == ("n_words", "n_synsets")
    assert expanded[-2:] == ("./a folder", "static")
    assert len(expanded) == 10


@pytest.mark.parametrize("names", ["", " , ", []])
def test_no_name_is_refused(names):
    with pytest.raises(PredictorError, match="no predictor was named"):
        expand_predictors(names)


@pytest.mark.parametrize("name", ["static", "linguistic"])
def test_taken_names_are_refused(name):
    with pytest.raises(PredictorError, match="registered already"):
        register_predictor(name, "elsewhere:Other")


def test_a_predictor_of_ones_own(monkeypatch):
    monkeypatch.setattr(registry, "PREDICTORS", dict(registry.PREDICTORS))
    register_predictor("mine", "pqpp_models.measures.predictor:MeasurePredictor")
    assert "mine" in list_predictors()
    with pytest.raises(UnknownPredictorError):  # the class itself knows no such feature
        Predictor.from_pretrained("mine")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("statik", "did you mean 'static'"),
        ("linguistic", "it is a group of 8; name one of them, like n_synsets or n_words or mean"),
        ("qqq", "called 'qqq'; `pqpp models list` names all"),
        ("", "`pqpp models list` names all"),
    ],
)
def test_unknown_names_are_refused(name, said):
    with pytest.raises(UnknownPredictorError, match=said) as caught:
        Predictor.from_pretrained(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["avg_idff", "n_wrods", "sigma", "idf", "zzz"])
def test_an_unknown_name_gets_three_suggestions_at_most(name):
    with pytest.raises(UnknownPredictorError) as caught:
        Predictor.from_pretrained(name)
    named = [known for known in list_predictors() if repr(known) in str(caught.value)]
    assert len(named) <= 3 and (named or "models list" in str(caught.value))
