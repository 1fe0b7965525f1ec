"""What a training leaves behind: card, trackers, grid, early stopping, publishing."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from safetensors.torch import load_file  # noqa: E402
from support.tiny_models import save_text_encoder, trainer  # noqa: E402

from pqpp_cli.main import main  # noqa: E402
from pqpp_files.errors import PqppError  # noqa: E402
from pqpp_hub import HubError  # noqa: E402
from pqpp_models import ModelError, Predictor  # noqa: E402


@pytest.fixture
def script():
    return trainer("bert")


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


def test_learning_happens(script, recipe):
    recipe.num_train_epochs, recipe.per_device_train_batch_size = 8, 8
    recipe.learning_rate = 2e-3
    assert script.train(recipe).validation["kendall"] > 0.25


@pytest.mark.parametrize(
    ("broken", "kept"), [("loss", "checkpoint-9"), ("weight", "checkpoint-9"), (None, None)]
)
def test_a_diverged_training_keeps_the_last_good_checkpoint(
    script, recipe, monkeypatch, broken, kept
):
    model, steps = script.BertForPerformancePrediction, 0
    forward = model.forward

    def breaks(self, *inputs, **named):
        nonlocal steps
        output, steps = forward(self, *inputs, **named), steps + self.training
        if steps == 11 and self.training:
            if broken == "loss":
                output.loss = output.loss * float("nan")
            else:
                self.head.output.bias.data[0] = float("inf")
        return output

    recipe.save_strategy, recipe.save_steps, recipe.logging_steps = "steps", 3, 100
    if broken:
        monkeypatch.setattr(model, "forward", breaks)
    else:
        recipe.learning_rate, recipe.max_grad_norm = 1e30, 1e30
    with pytest.raises(PqppError, match=r"training diverged: .* at step"):
        script.train(recipe)
    folder = Path(recipe.output_dir)
    # 8 steps an epoch: the first one ended well, step 12 was not kept.
    found = sorted(path.name for path in folder.glob("checkpoint-*"))
    assert found == ([kept] if kept else [])
    for path in folder.rglob("*.safetensors"):
        assert all(torch.isfinite(one).all() for one in load_file(path).values())
    assert not (folder / "model").exists()


def test_the_card_tells_what_happened(script, recipe):
    outcome = script.train(recipe)
    card = (Path(recipe.output_dir) / "model" / "README.md").read_text()
    assert "model-index" in card and "kendall_qpp" in card
    assert f"{outcome.validation['mean_hbpp_kendall']:.3f}" in card
    assert "`learning_rate`: 0.001" in card and "240, SHA-256" in card
    assert recipe.output_dir not in card
    from huggingface_hub import ModelCard

    parsed = ModelCard(card).data
    assert parsed.eval_results[0].dataset_config == "sample"


def test_what_transformers_refuses_is_one_line(script, recipe):
    recipe.report_to = ["nope"]
    with pytest.raises(PqppError, match="nope") as caught:
        script.train(recipe)
    assert "\n" not in str(caught.value)
    recipe.report_to, recipe.training_arguments = [], {"lerning_rate": "1"}
    with pytest.raises(PqppError, match="lerning_rate"):
        script.train(recipe)


def test_any_training_argument_is_taken(script, recipe):
    recipe.training_arguments = {"optim": "adafactor", "max_steps": "3"}
    assert script.train(recipe).steps == 3


def test_early_stopping_keeps_the_best_epoch(script, recipe, monkeypatch):
    recipe.num_train_epochs, recipe.early_stopping_patience = 30, 2
    scores = iter([0.1, 0.3, 0.2, 0.25, 0.4])
    metrics = lambda *_: dict.fromkeys(("pearson", "kendall"), next(scores))  # noqa: E731
    monkeypatch.setattr(script, "correlate_scores", metrics)
    outcome = script.train(recipe)
    assert (outcome.epochs, outcome.best_epoch) == (4, 2)
    recipe.resume_from_checkpoint = "last"  # which does not go on
    assert script.train(recipe).epochs == 4


def test_the_head_learns_at_its_own_rate(script, recipe, monkeypatch):
    recipe.head_learning_rate, recipe.lr_scheduler_type = 1e-2, "constant"
    seen = []
    create = script.PerformanceTrainer.create_optimizer

    def create_and_note(self, model=None):
        optimizer = create(self, model)
        names = {id(one): name for name, one in self.model.named_parameters()}
        for group in optimizer.param_groups:
            seen.extend(
                (names[id(one)], group["lr"], group["weight_decay"]) for one in group["params"]
            )
        return optimizer

    monkeypatch.setattr(script.PerformanceTrainer, "create_optimizer", create_and_note)
    script.train(recipe)
    rates = {name: (rate, decay) for name, rate, decay in seen}
    assert rates["head.output.weight"] == (1e-2, 0.01) and rates["head.output.bias"][1] == 0
    assert rates["backbone.encoder.layer.0.output.dense.weight"] == (1e-3, 0.01)
    assert rates["backbone.encoder.layer.0.output.LayerNorm.weight"] == (1e-3, 0)


def test_a_push_that_the_hub_would_refuse_is_told_before_the_training(script, recipe, monkeypatch):
    def refuse(*_, **__):
        raise HubError("the Hub model 'me/mine' may not be written")

    monkeypatch.setattr("pqpp_backbones.training.publish.push_files", refuse)
    recipe.push_to_hub, recipe.hub_model_id = True, "me/mine"
    with pytest.raises(HubError, match="may not be written"):
        script.train(recipe)
    assert not list(Path(recipe.output_dir).rglob("*.safetensors"))
    recipe.push_to_hub = False
    script.train(recipe)  # nobody is asked


def test_sixteen_bits_on_a_cpu(script, recipe, request):
    from accelerate.state import AcceleratorState

    whole = script.train(recipe)
    AcceleratorState._reset_state()  # a process trains in one number format, this one in two
    request.addfinalizer(AcceleratorState._reset_state)
    recipe.bf16, recipe.output_dir = True, recipe.output_dir + "-bf16"
    half = script.train(recipe)
    assert half.steps == whole.steps and half.validation != whole.validation
    folders = [Path(folder) / "model" for folder in (recipe.output_dir[:-5], recipe.output_dir)]
    plain, found = map(Predictor.from_pretrained, folders)
    assert found.details["recipe"]["bf16"] and found.model.dtype == torch.float32
    prompts = ["a red cat", "two dogs and a bird"]
    assert found.predict(prompts) == pytest.approx(plain.predict(prompts), abs=0.15)


def test_one_source_only(script, recipe, tmp_path):
    datasets = pytest.importorskip("datasets")
    columns = {"prompt": list("abcd"), "mean_hbpp": [0.1, 0.2, 0.3, 0.4]}
    for name, more in (("with", {"source": ["x", "y", "x", "y"]}), ("without", {})):
        made = datasets.Dataset.from_dict(columns | more)
        made.to_parquet(tmp_path / name / "train.parquet")
    recipe.dataset, recipe.subset, recipe.source = str(tmp_path / "with"), None, "y"
    recipe.max_train_rows = 1
    assert script.load_rows(recipe, "train").prompts == ["b"]
    recipe.source = "z"
    with pytest.raises(ValueError, match=r"no source 'z' .sources: x, y."):
        script.load_rows(recipe, "train")
    recipe.dataset = str(tmp_path / "without")
    with pytest.raises(ValueError, match=r"sources: none"):
        script.load_rows(recipe, "train")


GOOD = {"prompt": ["a cat", "a dog"], "mean_hbpp": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("rows", "more", "message"),
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
def test_datasets_that_cannot_be_learned_from(script, recipe, tmp_path, rows, more, message):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({**GOOD, **rows}).to_parquet(tmp_path / "d" / "train.parquet")
    recipe.dataset, recipe.subset = str(tmp_path / "d"), None
    for name, value in more.items():
        setattr(recipe, name, value)
    with pytest.raises(PqppError, match=message) as caught:
        script.load_rows(recipe, recipe.train_split)
    assert "\n" not in str(caught.value)


def run_in_main(script, *flags):
    """Run `pqpp train` in this process."""
    return main(["train", script, *map(str, flags)])


def test_captions_and_models_that_are_not_there_end_a_script(tmp_path, capsys):
    data = tmp_path / "data"
    write_tiny_dataset(data)
    captions = tmp_path / "captions.txt"
    flags = ["--captions", captions, "--output", tmp_path / "out", "--dataset", data]
    flags += ["--config", "text_ensemble"]
    flags += ["--subset", "none"]
    assert run_in_main("text_ensemble", *flags) == 2
    said = capsys.readouterr().err  # a long path is shortened in its middle
    assert "error: --captions: no such file '" in said and "captions.txt'; check" in said
    captions.write_text("two red birds\n")
    small = save_text_encoder(tmp_path / "small")  # the recipe wants layer 6
    assert run_in_main("text_ensemble", *flags, "--model", small) == 2
    assert "choose layers from 0 to" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def write_tiny_dataset(folder):
    """Write two splits of two prompts with all targets."""
    import pandas as pd

    from pqpp_models import TARGETS

    folder.mkdir()
    for split, prompts in (("train", ["a cat", "a dog"]), ("validation", ["a bird", "a cow"])):
        table = pd.DataFrame({"prompt": prompts, **{target: [0.1, 0.2] for target in TARGETS}})
        table.to_csv(folder / f"{split}.csv", index=False)


def test_an_encoder_with_a_damaged_tokenizer_is_refused(script, recipe):
    (Path(recipe.model) / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match="tokenizer"):
        script.train(recipe)


def test_the_length_of_prompts_fits_the_encoder(script, recipe):
    recipe.max_length = 129  # the tiny encoder has 128 positions
    with pytest.raises(ValueError, match="`max_length` must be at most 128"):
        script.train(recipe)
    assert not Path(recipe.output_dir).exists()
    recipe.max_length = None
    script.train(recipe)
    config = json.loads((Path(recipe.output_dir) / "model" / "config.json").read_text())
    assert config["max_length"] == config["training"]["recipe"]["max_length"] == 128


def test_an_output_of_another_kind_is_refused_before_the_training(tmp_path, capsys):
    for folder in (tmp_path / "one", tmp_path / "runs" / "model"):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text('{"predictor_type": "static"}')
    (tmp_path / "none").mkdir()  # nor does it hold a dataset, which would be told otherwise
    none = ["--dataset", tmp_path / "none", "--output_dir", tmp_path / "runs"]
    for script in ("bert", "clip", "correlation_cnn"):
        assert run_in_main(script, *none) == 2
        assert "contains a 'static'" in capsys.readouterr().err
