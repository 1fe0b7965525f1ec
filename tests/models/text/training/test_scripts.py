"""The training scripts of text predictors, from a recipe to an evaluated predictor."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from models.made_up import write_made_up
from support.alignment_folders import write_studies
from support.tiny_models import save_text_encoder, train

from pqpp_files.errors import PqppError
from pqpp_models import TARGETS, Predictor
from pqpp_models.errors import PredictorError
from pqpp_models.text.training import data
from pqpp_models.text.training.studies import SOURCES

FIT = "{kernel_layers: [2, 1], networks: 2, hidden_size: 8, epochs: 1}"
TUNED = "epochs: 1, batch_size: 16, max_length: 48"
STATIC = f"""
sources_dir: studies
teacher: {FIT}
tuned_on_targets: {{{TUNED}}}
tuned_on_sources: {{{TUNED}, trained_layers: 1}}
student:
  {{piece_size: 8, filters: 8, hidden_size: 8, point_size: 4, epochs: 1, alignment_epochs: 1}}
made_up: 0
"""
ENSEMBLE = f"""
fit: {FIT}
tuned: {{{TUNED}}}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A tiny encoder, a dataset, captions and the studies of `alignment`; in the current folder."""
    monkeypatch.chdir(tmp_path)
    save_text_encoder(tmp_path / "encoder")
    write_made_up(tmp_path)
    write_studies(tmp_path / "studies")
    return tmp_path


def flags(files, recipe):
    common = "model: encoder\ndataset: data\nlayers: [0, 1, 2]\ncaptions: captions.txt\n"
    common += "output: made\n"
    (files / "recipe.yaml").write_text(common + recipe)
    return ["--config", "recipe.yaml"]


@pytest.mark.parametrize("name", ["static", "text_ensemble"])
def test_checks_studies_before_training(files, name, monkeypatch):
    monkeypatch.setattr(data, "load_encoder", None)  # fails if training starts
    (files / "empty").mkdir()
    with pytest.raises(PredictorError, match="empty/agiqa' is not a folder"):
        recipe = STATIC if name == "static" else ENSEMBLE
        train(name, *flags(files, recipe), "--sources_dir", "empty")


def test_scores_excluded_studies(files):
    train("static", *flags(files, STATIC), "--without", "gimbrr,t2v")
    predictor = Predictor.from_pretrained("made")
    assert predictor.targets == ("alignment", *TARGETS)
    assert predictor.details["alignment_sources"] == [
        name for name in SOURCES if name not in ("gimbrr", "t2v")
    ]
    studies = predictor.details["evaluation"]["studies"]
    assert list(studies) == ["gimbrr", "t2v"]
    for row in studies.values():
        assert row["prompts"] == 6 and "spearman" in row
    record = predictor.record.rows
    assert record.contains(["agiqa a cat", "gimbrr a cat"]).tolist() == [True, False]


def test_result_of_another_run_is_kept(files, monkeypatch):
    evaluate = data.TextData.evaluate

    def evaluate_after_another_run(*inputs):
        Predictor.from_pretrained("static").save_pretrained("made")
        return evaluate(*inputs)

    monkeypatch.setattr(data.TextData, "evaluate", evaluate_after_another_run)
    with pytest.raises(PqppError, match="made"):
        train("static", *flags(files, STATIC))
    assert len(Predictor.from_pretrained("made").record.rows) > 100


def test_no_alignment_needs_no_studies(files):
    (files / "studies").rename(files / "elsewhere")
    recipe = STATIC.replace("sources_dir: studies\n", "")
    train("static", *flags(files, recipe), "--no_alignment")
    predictor = Predictor.from_pretrained("made")
    assert predictor.targets == TARGETS and predictor.predict(["a cat"]).shape == (1, len(TARGETS))
    assert len(predictor.record.rows) == 39
    details = predictor.details
    assert "alignment_sources" not in details and "tuned_on_sources" not in details["training"]
    card = (files / "made" / "README.md").read_text("utf-8")
    assert "alignment" not in card and "studies" not in card


def test_network_option_refits_only_alignment(files):
    train("static", *flags(files, STATIC), "--without", "aigiqa,imagenhub")
    train("static", *flags(files, STATIC), "--network", "made", "--output", "other")
    first, second = (Predictor.from_pretrained(name) for name in ("made", "other"))
    predictions, refitted = (one.predict(["a red cat", "two dogs"]) for one in (first, second))
    assert np.array_equal(predictions[:, 1:], refitted[:, 1:])
    assert not np.array_equal(predictions[:, 0], refitted[:, 0])
    for name, weight in first.network.weights.items():
        assert np.array_equal(weight, second.network.weights[name]), name
    assert second.details["alignment_sources"] == list(SOURCES)
    assert set(second.details["evaluation"]["studies"]) == set(SOURCES)
    assert second.record.rows.contains(["imagenhub a cat"]).all()
    assert not first.record.rows.contains(["imagenhub a cat"]).any()
    with pytest.raises(PqppError, match="`network` must be a static predictor of alignment"):
        options = ["--network", "static-train", "--output", "third"]
        train("static", *flags(files, STATIC), *options)


@pytest.mark.slow
def test_no_alignment_scores_studies_by_mean_hbpp(files):
    recipe = STATIC.replace("sources_dir: studies\n", "")
    for name, options in (("made", ["--sources_dir", "studies"]), ("other", [])):
        arguments = [*flags(files, recipe), "--no_alignment", "--output", name, *options]
        train("static", *arguments)
    weights = [(files / name / "model.safetensors").read_bytes() for name in ("made", "other")]
    assert weights[0] == weights[1]
    scored = Predictor.from_pretrained("made").details["evaluation"]["studies"]
    assert set(scored) == set(SOURCES)
    card = (files / "made" / "README.md").read_text("utf-8")
    assert "`mean_hbpp`" in card and "trained on none of" in card


@pytest.mark.parametrize("word", ["--without", "--leave_one_out"])
def test_no_alignment_rejects_excluded_studies(files, word):
    with pytest.raises(PqppError, match="need `alignment`"):
        (files / "t2v").write_text("{}")
        options = ["--no_alignment", word, "t2v"]
        train("static", *flags(files, STATIC), *options)


def test_reports_validation_rows_in_studies(files):
    path = files / "data" / "validation.csv"
    lines = path.read_text("utf-8").splitlines()
    numbers = lines[1].rpartition("validation,")[2]
    path.write_text("\n".join([*lines, f"agiqa a cat,{numbers}"]) + "\n", "utf-8")
    train("static", *flags(files, STATIC))
    assert Predictor.from_pretrained("made").details["evaluation"]["fitted_rows"] == 1
    card = (files / "made" / "README.md").read_text("utf-8")
    assert "fitted to 1 of these rows" in card and "nothing was fitted" not in card


def test_interrupted_evaluation_saves_nothing(files, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(data.TextData, "evaluate", stopped)
    with pytest.raises(KeyboardInterrupt):
        train("static", *flags(files, STATIC))
    assert not (files / "made").exists()


@pytest.mark.daily
def test_training_is_deterministic_in_bf16(files):
    result = {}
    for name, word in (("first", "no"), ("second", "bf16"), ("third", "bf16")):
        options = ["--output", name, "--mixed_precision", word]
        train("static", *flags(files, STATIC), *options)
        result[name] = (files / name / "model.safetensors").read_bytes()
    assert result["second"] == result["third"] != result["first"]
    predicted = [Predictor.from_pretrained(one).predict(["a cat"]) for one in ("first", "third")]
    training = Predictor.from_pretrained("second").details["training"]
    for group in ("tuned_on_targets", "tuned_on_sources", "student"):
        assert training[group]["mixed_precision"] == "bf16"
    np.testing.assert_allclose(*predicted, atol=0.05)


def test_leave_one_out_scores_each_study(files, capsys):
    options = ["--leave_one_out", "table.json", "--without", "t2v,genai"]
    train("static", *flags(files, STATIC), *options)
    table = json.loads((files / "table.json").read_text("utf-8"))
    assert list(table["studies"]) == ["t2v", "genai"] and not (files / "made").exists()
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last[0] == "mean" and {row["prompts"] for row in table["studies"].values()} == {6}


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (ENSEMBLE.replace("batch_size", "learning_rate: 1.0e+30, batch_size"), "tuned.learning_ra"),
        (
            ENSEMBLE.replace(
                "networks: 2", "networks: 2, learning_rate: 1.0e+30, epochs: 3"
            ).replace(", epochs: 1}", "}"),
            "of the networks",
        ),
    ],
)
def test_divergence_saves_nothing(files, recipe, message):
    with pytest.raises(PqppError, match=f"training diverged: .* lower .*{message}"):
        train("text_ensemble", *flags(files, recipe))
    assert not (files / "made").exists()


@pytest.mark.parametrize(("name", "recipe"), [("static", STATIC), ("text_ensemble", ENSEMBLE)])
def test_trains_from_recipe_and_release_reports_train_build(files, name, recipe):
    import pandas as pd

    train(name, *flags(files, recipe))
    predictor = Predictor.from_pretrained("made")
    training, scores = predictor.details["training"], predictor.details["evaluation"]
    assert predictor.name == name and predictor.details["data"] == "data, split train"
    assert training["prompts"] == 39 and training["encoder"] == "encoder"
    assert set(scores["validation"]) == {*TARGETS, "mean"}
    card = (files / "made" / "README.md").read_text("utf-8")
    assert "The validation split of data, to which nothing was fitted" in card
    assert "| mean_rr |" in card and "Sources" not in card and str(files) not in card
    validation = pd.read_csv(files / "data" / "validation.csv")["prompt"].drop(3).tolist()
    assert not predictor.record.rows.contains(validation).any()
    refit = ["--train_split", "train+validation", "--train_only", "made"]
    refit += ["--fitted_on_train", "me/mine", "--output", "release"]
    train(name, *flags(files, recipe), *refit)
    release = Predictor.from_pretrained("release")
    assert release.record.rows.contains(validation).all()
    assert release.record.fitted_on_train == "me/mine"
    evaluation = release.details["evaluation"]
    assert evaluation["validation"] == scores["validation"]
    assert evaluation["fitted_on"] == "train" and evaluation["fitted_rows"] == len(validation)
    card = (files / "release" / "README.md").read_text("utf-8")
    assert "| data | data, split train + validation" in card and "`me/mine`" in card
    assert "to which nothing was fitted" not in card
