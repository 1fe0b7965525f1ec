import pytest

from pqpp_models import (
    Predictor,
    PredictorError,
    expand_group_names,
    list_predictors,
    register_predictor,
    registry,
)


def test_every_registered_name_loads(monkeypatch, tmp_path):
    (tmp_path / "captions.txt").write_text("a red cat\n")
    (tmp_path / "words.vec").write_text("cat 1 0\n")
    monkeypatch.setenv("PQPP_COLLECTION", str(tmp_path / "captions.txt"))
    monkeypatch.setenv("PQPP_WORD_VECTORS", str(tmp_path / "words.vec"))
    scored, measures = expand_group_names("post_retrieval"), expand_group_names(registry.FAMILIES)
    for name in list_predictors():
        predictor = Predictor.from_pretrained(name)
        assert predictor.name == name.removesuffix("-train")  # a build of the same type
        assert predictor.inputs == ("text+scores" if name in scored else "text")
        assert predictor.supervised == (name not in measures)


def test_expands_groups_without_duplicates():
    expanded = expand_group_names(["n_words", " linguistic", "./a folder", "static", "n_words"])
    assert expanded[:2] == ("n_words", "n_synsets")
    assert expanded[-2:] == ("./a folder", "static")
    assert len(expanded) == 10


def test_registers_custom_predictor(monkeypatch):
    monkeypatch.setattr(registry, "PREDICTORS", dict(registry.PREDICTORS))
    register_predictor("mine", "pqpp_models.measures.predictor:MeasurePredictor")
    assert "mine" in list_predictors()
    with pytest.raises(PredictorError):  # the class itself knows no such feature
        Predictor.from_pretrained("mine")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("statik", "did you mean 'static'"),
        ("linguistic", "is a group of predictors; choose one, such as n_synsets or n_words"),
        ("", "pqpp models list"),
    ],
)
def test_rejects_unknown_names(name, message):
    with pytest.raises(PredictorError, match=message) as caught:
        Predictor.from_pretrained(name)
    assert "\n" not in str(caught.value)
