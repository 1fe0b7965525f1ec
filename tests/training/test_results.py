"""Training runs: options, early stopping, divergence, the card, and refused inputs."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from safetensors.torch import load_file  # noqa: E402
from support.tiny_models import import_trainer, save_text_encoder  # noqa: E402

from pqpp_cli.main import main  # noqa: E402
from pqpp_files.errors import PqppError  # noqa: E402
from pqpp_hub import HubError  # noqa: E402
from pqpp_models import ModelError, Predictor  # noqa: E402


@pytest.fixture
def script():
    return import_trainer("bert")


@pytest.fixture
def recipe(script, tmp_path, cache):
    return script.BertRecipe(
        subset="sample",
        model=str(save_text_encoder(tmp_path / "encoder")),
        output_dir=str(tmp_path / "run"),
        targets=["mean_hbpp"],
        num_train_epochs=2,
        per_device_train_batch_size=32,
        learning_rate=1e-3,
    )


def test_training_improves_correlation(script, recipe):
    recipe.num_train_epochs, recipe.per_device_train_batch_size = 8, 8
    recipe.learning_rate = 2e-3
    assert script.train(recipe).validation["kendall"] > 0.25


@pytest.mark.parametrize(
    ("fault", "checkpoint"), [("loss", "checkpoint-9"), ("weight", "checkpoint-9"), (None, None)]
)
def test_diverged_training_keeps_last_valid_checkpoint(
    script, recipe, monkeypatch, fault, checkpoint
):
    model, steps = script.BertForPerformancePrediction, 0
    forward = model.forward

    def forward_and_break(self, *inputs, **named):
        nonlocal steps
        output, steps = forward(self, *inputs, **named), steps + self.training
        if steps == 11 and self.training:
            if fault == "loss":
                output.loss = output.loss * float("nan")
            else:
                self.head.output.bias.data[0] = float("inf")
        return output

    recipe.save_strategy, recipe.save_steps, recipe.logging_steps = "steps", 3, 100
    if fault:
        monkeypatch.setattr(model, "forward", forward_and_break)
    else:
        recipe.learning_rate, recipe.max_grad_norm = 1e30, 1e30
    with pytest.raises(PqppError, match=r"training diverged: .* at step"):
        script.train(recipe)
    folder = Path(recipe.output_dir)
    # An epoch has 8 steps. The checkpoint of step 9 is valid; that of step 12 was not written.
    checkpoints = sorted(path.name for path in folder.glob("checkpoint-*"))
    assert checkpoints[-1:] == ([checkpoint] if checkpoint else [])
    for path in folder.rglob("*.safetensors"):
        assert all(torch.isfinite(one).all() for one in load_file(path).values())
    assert not (folder / "model").exists()


def test_card_describes_training(script, recipe):
    from huggingface_hub import ModelCard

    recipe.targets = ["mean_rr", "mean_hbpp"]
    outcome = script.train(recipe)
    card = (Path(recipe.output_dir) / "model" / "README.md").read_text()
    assert "model-index" in card and "kendall_qpp" in card
    assert f"{outcome.validation['mean_hbpp_kendall']:.3f}" in card
    means = "| mean | {pearson:.3f} | {kendall:.3f} |".format(**outcome.validation)
    assert means in card
    assert "`learning_rate`: 0.001" in card and "240, SHA-256" in card
    assert recipe.output_dir not in card
    assert ModelCard(card).data.eval_results[0].dataset_config == "sample"
    predictor = Predictor.from_pretrained(Path(recipe.output_dir) / "model")
    data = predictor.details["data"]
    data["validation_fitted"] = 3
    card = predictor.render_card()
    assert "also trained on 3 of these prompts" in card and means in card
    # Scores on prompts that it was trained on are hidden.
    data["validation_fitted"] = data["validation_rows"]
    card = predictor.render_card()
    assert "also trained on the validation split" in card and means not in card
    assert not ModelCard(card).data.eval_results


def test_options_refused_by_transformers_give_one_line(script, recipe):
    recipe.report_to = ["nope"]
    with pytest.raises(PqppError, match="nope") as caught:
        script.train(recipe)
    assert "\n" not in str(caught.value)
    recipe.report_to = []
    no_validation = {"eval_strategy": "no", "save_strategy": "no"}
    for invalid in ({"lerning_rate": "1"}, {"metric_for_best_model": "kendal"}, no_validation):
        recipe.training_arguments = invalid
        with pytest.raises(PqppError, match=next(iter(invalid))):
            script.train(recipe)


def test_accepts_any_training_argument(script, recipe):
    recipe.training_arguments = {"optim": "adafactor", "max_steps": "3"}
    assert script.train(recipe).steps == 3


def test_early_stopping_keeps_the_best_epoch(script, recipe, monkeypatch, tmp_path):
    recipe.num_train_epochs, recipe.early_stopping_patience = 30, 2
    scores = iter([0.1, 0.3, 0.2, 0.25, 0.4])
    metrics = lambda *_: dict.fromkeys(("pearson", "kendall"), next(scores))  # noqa: E731
    monkeypatch.setattr(script, "correlate_scores", metrics)
    outcome = script.train(recipe)
    assert (outcome.epochs, outcome.best_epoch) == (4, 2)
    recipe.output_dir = str(Path(recipe.output_dir).rename(tmp_path / "moved"))
    recipe.resume_from_checkpoint = "last"  # training has already stopped
    outcome = script.train(recipe)
    assert (outcome.epochs, outcome.best_epoch) == (4, 2)
    assert_saved(recipe, "checkpoint-16")


def assert_saved(recipe, checkpoint):
    """Check that the model has the weights of a checkpoint."""
    folders = [Path(recipe.output_dir) / name for name in ("model", checkpoint)]
    saved, expected = (load_file(folder / "model.safetensors") for folder in folders)
    assert torch.equal(saved["head.output.weight"], expected["head.output.weight"])


def test_metric_and_steps_choose_the_weights_as_in_trainer(script, recipe, monkeypatch):
    recipe.save_strategy, recipe.save_steps = "steps", 3  # two epochs have 16 steps
    recipe.metric_for_best_model, recipe.early_stopping_patience = "pearson", 0
    scores = iter([0.2, 0.1, 0.3, 0.1, 0.2, 0.2])
    metrics = lambda *_: {"pearson": (score := next(scores)), "kendall": -score}  # noqa: E731
    monkeypatch.setattr(script, "correlate_scores", metrics)
    outcome = script.train(recipe)
    assert (outcome.steps, outcome.best_epoch) == (16, 2)
    assert outcome.validation == {"pearson": 0.3, "kendall": -0.3}
    assert_saved(recipe, "checkpoint-9")
    recipe.resume_from_checkpoint, recipe.num_train_epochs = "last", 3
    recipe.early_stopping_patience = 3  # the three evaluations since the best
    assert script.train(recipe).steps == 16


def test_head_has_its_own_learning_rate(script, recipe, monkeypatch):
    recipe.head_learning_rate, recipe.lr_scheduler_type = 1e-2, "constant"
    groups = []
    create = script.PerformanceTrainer.create_optimizer

    def create_and_note(self, model=None):
        optimizer = create(self, model)
        names = {id(one): name for name, one in self.model.named_parameters()}
        for group in optimizer.param_groups:
            groups.extend(
                (names[id(one)], group["lr"], group["weight_decay"]) for one in group["params"]
            )
        return optimizer

    monkeypatch.setattr(script.PerformanceTrainer, "create_optimizer", create_and_note)
    script.train(recipe)
    rates = {name: (rate, decay) for name, rate, decay in groups}
    assert rates["head.output.weight"] == (1e-2, 0.01) and rates["head.output.bias"][1] == 0
    assert rates["backbone.encoder.layer.0.output.dense.weight"] == (1e-3, 0.01)
    assert rates["backbone.encoder.layer.0.output.LayerNorm.weight"] == (1e-3, 0)


def test_checks_push_access_before_training(script, recipe, monkeypatch):
    def refuse(*_, **__):
        raise HubError("the Hub model 'me/mine' may not be written")

    monkeypatch.setattr("pqpp_backbones.training.publish.push_files", refuse)
    recipe.push_to_hub, recipe.hub_model_id = True, "me/mine"
    with pytest.raises(HubError, match="may not be written"):
        script.train(recipe)
    assert not list(Path(recipe.output_dir).rglob("*.safetensors"))
    recipe.push_to_hub = False
    script.train(recipe)  # the Hub is not asked


def test_trains_in_bfloat16_on_cpu(script, recipe, request):
    from accelerate.state import AcceleratorState

    full = script.train(recipe)
    AcceleratorState._reset_state()  # else a process can train in one number format only
    request.addfinalizer(AcceleratorState._reset_state)
    recipe.bf16, recipe.output_dir = True, recipe.output_dir + "-bf16"
    half = script.train(recipe)
    assert half.steps == full.steps and half.validation != full.validation
    folders = [Path(folder) / "model" for folder in (recipe.output_dir[:-5], recipe.output_dir)]
    reference, predictor = map(Predictor.from_pretrained, folders)
    assert predictor.details["recipe"]["bf16"] and predictor.model.dtype == torch.float32
    prompts = ["a red cat", "two dogs and a bird"]
    assert predictor.predict(prompts) == pytest.approx(reference.predict(prompts), abs=0.15)


def test_selects_rows_of_one_source(script, recipe, tmp_path):
    datasets = pytest.importorskip("datasets")
    columns = {"prompt": list("abcd"), "mean_hbpp": [0.1, 0.2, 0.3, 0.4]}
    for name, sources in (("with", {"source": ["x", "y", "x", "y"]}), ("without", {})):
        dataset = datasets.Dataset.from_dict(columns | sources)
        dataset.to_parquet(tmp_path / name / "train.parquet")
    recipe.dataset, recipe.subset, recipe.source = str(tmp_path / "with"), None, "y"
    recipe.max_train_rows = 1
    assert script.load_rows(recipe, "train").prompts == ["b"]
    recipe.source = "z"
    with pytest.raises(ValueError, match=r"no source 'z' .sources: x, y."):
        script.load_rows(recipe, "train")
    recipe.dataset = str(tmp_path / "without")
    with pytest.raises(ValueError, match=r"sources: none"):
        script.load_rows(recipe, "train")


VALID_ROWS = {"prompt": ["a cat", "a dog"], "mean_hbpp": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ({}, {"subset": "nope"}, r"cannot be loaded \(BuilderConfig 'nope' not found"),
        ({}, {"train_split": "foo"}, 'Unknown split "foo".*choose another'),
        ({}, {"train_split": "train[:0]"}, r'"train\[:0\]" corresponds to no data.*choose another'),
        ({"prompt": ["a cat", None]}, {}, "the prompt at index 1 is missing"),
        ({"prompt": [3, 4]}, {}, "the prompt at index 0 is 3, not a string"),
        ({"mean_hbpp": ["good", "bad"]}, {}, "'mean_hbpp' of train must be numeric, not string"),
        ({"mean_hbpp": [[0.1, 0.2]] * 2}, {}, "'mean_hbpp' of train must be numeric"),
    ],
)
def test_rejects_unusable_datasets(script, recipe, tmp_path, rows, options, message):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({**VALID_ROWS, **rows}).to_parquet(tmp_path / "d" / "train.parquet")
    recipe.dataset, recipe.subset = str(tmp_path / "d"), None
    for name, value in options.items():
        setattr(recipe, name, value)
    with pytest.raises(PqppError, match=message) as caught:
        script.load_rows(recipe, recipe.train_split)
    assert "\n" not in str(caught.value)


def test_rejects_damaged_tokenizer(script, recipe):
    (Path(recipe.model) / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match="tokenizer"):
        script.train(recipe)


def test_max_length_is_limited_by_encoder(script, recipe):
    recipe.max_length = 129  # the tiny encoder has 128 positions
    with pytest.raises(ValueError, match="`max_length` must be at most 128"):
        script.train(recipe)
    assert not Path(recipe.output_dir).exists()
    recipe.max_length = None
    script.train(recipe)
    config = json.loads((Path(recipe.output_dir) / "model" / "config.json").read_text())
    assert config["max_length"] == config["training"]["recipe"]["max_length"] == 128


def test_rejects_output_folder_of_another_predictor(tmp_path, capsys):
    for folder in (tmp_path / "one", tmp_path / "runs" / "model"):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text('{"predictor_type": "static"}')
    (tmp_path / "none").mkdir()  # without a dataset, so training would fail with another error
    flags = ["--dataset", str(tmp_path / "none"), "--output_dir", str(tmp_path / "runs")]
    for script in ("bert", "clip", "correlation_cnn"):
        assert main(["train", script, *flags]) == 2
        assert "contains a 'static'" in capsys.readouterr().err
