"""What a training leaves behind: card, trackers, grid, early stopping, publishing."""

import json
import sys
import types
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from support.tiny_models import load_script, save_text_encoder  # noqa: E402

from pqpp_models import Predictor  # noqa: E402
from pqpp_models.training.grid import grid_search  # noqa: E402


@pytest.fixture
def script():
    return load_script("train_bert")


@pytest.fixture
def recipe(script, tmp_path, cache):
    return script.BertRecipe(
        dataset_config="sample",
        model=str(save_text_encoder(tmp_path / "encoder")),
        output_dir=str(tmp_path / "run"),
        targets=["mean_hbpp"],
        epochs=2,
        batch_size=32,
        learning_rate=1e-3,
    )


def run(script, recipe):
    training = script.load_rows(recipe, recipe.train_split)
    validation = script.load_rows(recipe, recipe.validation_split)
    return script.train_bert(recipe, training, validation)


def test_learning_happens(script, recipe):
    recipe.epochs, recipe.batch_size, recipe.learning_rate = 8, 8, 2e-3
    assert run(script, recipe).best["kendall"] > 0.25


def test_the_card_tells_what_happened(script, recipe):
    progress = run(script, recipe)
    card = (Path(recipe.output_dir) / "model" / "README.md").read_text()
    assert "model-index" in card and "kendall_qpp" in card
    assert f"{progress.best['mean_hbpp_kendall']:.3f}" in card
    assert "`learning_rate`: 0.001" in card and "240, SHA-256" in card
    assert recipe.output_dir not in card
    from huggingface_hub import ModelCard

    parsed = ModelCard(card).data
    assert parsed.eval_results[0].dataset_config == "sample"


def test_trackers_get_the_loss_and_the_metrics(script, recipe):
    pytest.importorskip("tensorboard", reason="the tracker is TensorBoard")
    recipe.report_to, recipe.log_steps = ["tensorboard"], 1
    run(script, recipe)
    assert list((Path(recipe.output_dir) / "logs").rglob("events*"))


def test_early_stopping_keeps_the_best_epoch(script, recipe):
    recipe.epochs, recipe.early_stopping_patience = 30, 2
    scores = iter([0.1, 0.3, 0.2, 0.25, 0.4])
    script.correlations = lambda *_: dict.fromkeys(("pearson", "kendall"), next(scores))
    progress = run(script, recipe)
    assert (progress.epoch, progress.best_epoch) == (4, 1)


def test_the_grid_publishes_the_best_cell_and_does_no_cell_twice(script, recipe):
    recipe.grid_learning_rates, recipe.grid_weight_decays = [1e-3, 1e-8], [0.0]
    trained = []

    def train_one(one):
        trained.append(one.learning_rate)
        return run(script, one)

    found = grid_search(recipe, train_one)
    assert found[0]["kendall"] >= found[1]["kendall"]
    assert grid_search(recipe, train_one) == found
    assert trained == [1e-3, 1e-8]
    folder = Path(recipe.output_dir)
    assert json.loads((folder / "grid.json").read_text()) == found
    config = json.loads((folder / "model" / "config.json").read_text())
    assert config["training"]["recipe"]["learning_rate"] == found[0]["learning_rate"]
    assert isinstance(Predictor.from_pretrained(folder / "model"), script.BertPredictor)


def test_it_is_pushed_when_that_is_wanted(script, recipe, monkeypatch):
    pushed = []
    hub = types.ModuleType("pqpp_models.hub")
    hub.push_to_hub = lambda folder, name, private: pushed.append((folder.name, name, private))
    monkeypatch.setitem(sys.modules, "pqpp_models.hub", hub)
    recipe.push_to_hub, recipe.hub_model_id, recipe.hub_private = True, "me/mine", True
    run(script, recipe)
    assert pushed == [("model", "me/mine", True)]


def test_accumulation_counts_steps_of_the_optimizer(script, recipe):
    recipe.gradient_accumulation_steps, recipe.batch_size = 3, 8
    assert run(script, recipe).step == 20


def test_columns_that_are_missing_are_told(script, recipe, tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"prompt": ["a"]}).to_parquet(tmp_path / "d" / "train.parquet")
    recipe.dataset, recipe.dataset_config = str(tmp_path / "d"), None
    with pytest.raises(ValueError, match="has no column mean_hbpp; it has prompt"):
        script.load_rows(recipe, "train")


def test_sixteen_bits_on_a_cpu(script, recipe, request):
    from accelerate.state import AcceleratorState

    whole = run(script, recipe)
    AcceleratorState._reset_state()  # a process trains in one number format, this one in two
    request.addfinalizer(AcceleratorState._reset_state)
    recipe.mixed_precision, recipe.output_dir = "bf16", recipe.output_dir + "-bf16"
    half = run(script, recipe)
    assert half.step == whole.step and half.history != whole.history
    config = json.loads((Path(recipe.output_dir) / "model" / "config.json").read_text())
    assert config["training"]["recipe"]["mixed_precision"] == "bf16"
    folders = [Path(folder) / "model" for folder in (recipe.output_dir[:-5], recipe.output_dir)]
    plain, found = map(Predictor.from_pretrained, folders)
    assert found.model.dtype == torch.float32
    prompts = ["a red cat", "two dogs and a bird"]
    assert found.predict(prompts) == pytest.approx(plain.predict(prompts), abs=0.15)


def test_one_source_only(script, recipe, tmp_path):
    datasets = pytest.importorskip("datasets")
    columns = {"prompt": list("abcd"), "mean_hbpp": [0.1, 0.2, 0.3, 0.4]}
    for name, more in (("with", {"source": ["x", "y", "x", "y"]}), ("without", {})):
        made = datasets.Dataset.from_dict(columns | more)
        made.to_parquet(tmp_path / name / "train.parquet")
    recipe.dataset, recipe.dataset_config, recipe.source = str(tmp_path / "with"), None, "y"
    recipe.max_train_rows = 1
    assert script.load_rows(recipe, "train").prompts == ["b"]
    recipe.source = "z"
    with pytest.raises(ValueError, match="`source` is 'z'; train has x, y"):
        script.load_rows(recipe, "train")
    recipe.dataset = str(tmp_path / "without")
    with pytest.raises(ValueError, match="train has no column source"):
        script.load_rows(recipe, "train")
