import pytest

from pqpp_models import (
    DEFAULT_PREDICTOR,
    Predictor,
    PredictorError,
    UnknownPredictorError,
    expand_predictors,
    list_predictors,
    register_predictor,
    registry,
)
from pqpp_models.linguistic import FEATURES


def test_every_registered_name_loads():
    for name in list_predictors():
        predictor = Predictor.from_pretrained(name)
        assert predictor.name == name
        assert predictor.inputs == "text"
        assert predictor.supervised == (name == "lexical")


def test_the_default_comes_first_and_the_eight_features_follow():
    assert list_predictors() == [DEFAULT_PREDICTOR, *FEATURES]
    assert expand_predictors("linguistic") == tuple(FEATURES)


def test_groups_are_expanded_and_repetitions_dropped():
    expanded = expand_predictors(["n_words", " linguistic", "./a folder", "lexical", "n_words"])
    assert expanded[:2] == ("n_words", "n_synsets")
    assert expanded[-2:] == ("./a folder", "lexical")
    assert len(expanded) == 10


@pytest.mark.parametrize("names", ["", " , ", []])
def test_no_name_is_refused(names):
    with pytest.raises(PredictorError, match="no predictor was named"):
        expand_predictors(names)


@pytest.mark.parametrize("name", ["lexical", "linguistic"])
def test_taken_names_are_refused(name):
    with pytest.raises(PredictorError, match="registered already"):
        register_predictor(name, "elsewhere:Other")


def test_a_predictor_of_ones_own(monkeypatch):
    monkeypatch.setattr(registry, "PREDICTORS", dict(registry.PREDICTORS))
    register_predictor("mine", "pqpp_models.linguistic:LinguisticPredictor")
    assert "mine" in list_predictors()
    with pytest.raises(UnknownPredictorError):  # the class itself knows no such feature
        Predictor.from_pretrained("mine")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lexicle", "did you mean 'lexical'"),
        ("linguistic", "it is a group; name one of n_synsets"),
        ("qqq", "known: lexical, n_synsets"),
        ("", "known: lexical"),
    ],
)
def test_unknown_names_are_refused(name, said):
    with pytest.raises(UnknownPredictorError, match=said) as caught:
        Predictor.from_pretrained(name)
    assert "\n" not in str(caught.value)
