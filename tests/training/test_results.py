"""What a training leaves behind: card, trackers, grid, early stopping, publishing."""

import json
import types
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from safetensors.torch import load_file  # noqa: E402
from support.tiny_models import (  # noqa: E402
    save_text_encoder,
    save_vit,
    trainer,
)

import pqpp_hub  # noqa: E402
from pqpp_backbones.encoder.tokens import length_sorted  # noqa: E402
from pqpp_backbones.training import loop  # noqa: E402
from pqpp_backbones.training.batches import in_order  # noqa: E402
from pqpp_cli.main import main  # noqa: E402
from pqpp_files.errors import MissingExtraError  # noqa: E402
from pqpp_files.options.option import RecipeError  # noqa: E402
from pqpp_hub import HubError  # noqa: E402
from pqpp_models import CheckpointError, Predictor  # noqa: E402
from pqpp_models.training.grid import grid_search  # noqa: E402


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


class Breaks(loop.Divergence):
    """Lets the loss of one step be NaN, or a weight where no step is named."""

    at = None

    def note(self, step, rate, loss):
        """See `Divergence`."""
        super().note(step, rate, loss * float("nan") if step == self.at else loss)

    def check(self, model=None):
        """See `Divergence`."""
        if self.at is None and model is not None and self._steps[-1][0] > 8:
            next(model.parameters()).data[0] = float("inf")
        super().check(model)


@pytest.mark.parametrize(
    ("at", "said"), [(11, "the loss is nan at step 11"), (None, "a weight is NaN or infinite at")]
)
def test_a_diverged_training_keeps_the_last_good_checkpoint(script, recipe, monkeypatch, at, said):
    recipe.checkpoint_steps, recipe.log_steps = 3, 100
    monkeypatch.setattr(Breaks, "at", at)
    monkeypatch.setattr(loop, "Divergence", Breaks)
    with pytest.raises(RecipeError, match=f"the training diverged: {said}.* rate 0.000") as caught:
        run(script, recipe)
    assert "take a lower learning_rate, and another output" in str(caught.value)
    folder = Path(recipe.output_dir)
    # 8 steps an epoch: the first one ended well, step 12 (9 with the weight) was not kept.
    kept = {None: "step-8", 11: "step-9"}[at]
    assert [path.name for path in (folder / "checkpoints").iterdir()] == [kept]
    for path in (folder / "checkpoints" / kept / "model.safetensors", folder / "best.safetensors"):
        assert all(torch.isfinite(one).all() for one in load_file(path).values())
    assert not (folder / "model").exists()


def test_a_second_training_is_kept_out_of_the_folder(script, recipe, monkeypatch):
    seen = []

    def second(*_):
        with pytest.raises(RecipeError, match=r"another training writes to .*run; wait for it, or"):
            run(script, recipe)
        seen.append(sorted(path.name for path in Path(recipe.output_dir).iterdir()))
        return {"pearson": 0.5, "kendall": 0.5}

    monkeypatch.setattr(script, "scaled_correlations", second)
    recipe.epochs = 1
    run(script, recipe)
    assert seen == [[".training.lock"]]
    found = sorted(path.name for path in Path(recipe.output_dir).iterdir())
    assert found == ["best.safetensors", "checkpoints", "model"]


def test_a_learning_rate_that_is_far_too_high(script, recipe):
    recipe.learning_rate, recipe.max_grad_norm = 1e30, 1e30
    with pytest.raises(RecipeError, match=r"diverged: the loss is nan at step 2, learning rate 9"):
        run(script, recipe)
    assert not list(Path(recipe.output_dir).rglob("*.safetensors"))


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


def test_trackers_that_are_not_there_are_told_before_the_training(script, recipe, monkeypatch):
    from accelerate.utils import LoggerType

    monkeypatch.setattr("accelerate.tracking.get_available_trackers", lambda: [LoggerType.WANDB])
    for names, kind, message in (
        (["wandb", "tensorboard"], MissingExtraError, r"'tensorboard'.*\[trackers\]"),
        (["all", "trackio"], MissingExtraError, r"'trackio'.*\[trackers\]"),
        (["nope"], RecipeError, "names 'nope'; choose among all, .*tensorboard"),
    ):
        recipe.report_to = names
        with pytest.raises(kind, match=message) as caught:
            run(script, recipe)
        assert "\n" not in str(caught.value)
    assert not Path(recipe.output_dir).exists()
    recipe.report_to = ["all", "wandb"]
    loop.check_trackers(recipe.report_to)


def test_early_stopping_keeps_the_best_epoch(script, recipe, monkeypatch):
    recipe.epochs, recipe.early_stopping_patience = 30, 2
    scores = iter([0.1, 0.3, 0.2, 0.25, 0.4])
    metrics = lambda *_: dict.fromkeys(("pearson", "kendall"), next(scores))  # noqa: E731
    monkeypatch.setattr(script, "scaled_correlations", metrics)
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


def test_it_is_pushed_when_that_is_wanted(script, recipe, monkeypatch, capsys):
    pushed, asked = [], []

    def push(folder, name, private):
        pushed.append((folder.name, name, private))
        there = ("https://hub/me/mine", True, False, ("x",), (), (), ())
        return pqpp_hub.PushReport(name, "main", *there, "c0ffee", False)

    monkeypatch.setattr("pqpp_models.training.trainer.push_to_hub", push)
    monkeypatch.setattr(pqpp_hub, "push_files", lambda *a, **k: asked.append((a, k, list(pushed))))
    recipe.push_to_hub, recipe.hub_model_id, recipe.hub_private = True, "me/mine", True
    run(script, recipe)
    assert pushed == [("model", "me/mine", True)]
    ((files, name, kind, *_), options, before) = asked[0]
    assert (files, name, kind, before) == ({}, "me/mine", "model", [])
    assert options["dry_run"] and options["private"]
    assert "pushed to me/mine: commit c0ffee at https://hub/me/mine\n" in capsys.readouterr().out
    card = (Path(recipe.output_dir) / "model" / "README.md").read_text()
    assert 'Predictor.from_pretrained("me/mine")' in card and "OWNER" not in card


def test_a_push_that_the_hub_would_refuse_is_told_before_the_training(script, recipe, monkeypatch):
    def refuse(*_, **__):
        raise HubError("the Hub model 'me/mine' may not be written")

    monkeypatch.setattr(pqpp_hub, "push_files", refuse)
    recipe.push_to_hub, recipe.hub_model_id = True, "me/mine"
    with pytest.raises(HubError, match="may not be written"):
        run(script, recipe)
    with pytest.raises(HubError, match="may not be written"):
        grid_search(recipe, lambda one: pytest.fail("a cell was trained"))
    assert not Path(recipe.output_dir).exists()
    recipe.push_to_hub = False
    run(script, recipe)  # nobody is asked


def test_accumulation_counts_steps_of_the_optimizer(script, recipe):
    recipe.gradient_accumulation_steps, recipe.batch_size = 3, 8
    assert run(script, recipe).step == 20


def test_columns_that_are_missing_are_told(script, recipe, tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"prompt": ["a"]}).to_parquet(tmp_path / "d" / "train.parquet")
    recipe.dataset, recipe.subset = str(tmp_path / "d"), None
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
    recipe.dataset, recipe.subset, recipe.source = str(tmp_path / "with"), None, "y"
    recipe.max_train_rows = 1
    assert script.load_rows(recipe, "train").prompts == ["b"]
    recipe.source = "z"
    with pytest.raises(ValueError, match="`source` is 'z'; train has x, y"):
        script.load_rows(recipe, "train")
    recipe.dataset = str(tmp_path / "without")
    with pytest.raises(ValueError, match="train has no column source"):
        script.load_rows(recipe, "train")


GOOD = {"prompt": ["a cat", "a dog"], "mean_hbpp": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        ({}, {"subset": "nope"}, r"cannot be loaded \(BuilderConfig 'nope' not found"),
        ({}, {"train_split": "foo"}, 'Unknown split "foo".*check .*and `train_split`'),
        ({}, {"train_split": "train[:0]"}, r'"train\[:0\]" corresponds to no data.*`train_split`'),
        ({"prompt": ["a cat", None]}, {}, "the prompt at index 1 of train is None, not a text"),
        ({"prompt": [3, 4]}, {}, "the prompt at index 0 of train is 3, not a text"),
        ({"mean_hbpp": ["good", "bad"]}, {}, "mean_hbpp of train holds string; give one number"),
        ({"mean_hbpp": [[0.1, 0.2]] * 2}, {}, "mean_hbpp of train holds .*; give one number"),
    ],
)
def test_datasets_that_cannot_be_learned_from(script, recipe, tmp_path, rows, more, message):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({**GOOD, **rows}).to_parquet(tmp_path / "d" / "train.parquet")
    recipe.dataset, recipe.subset = str(tmp_path / "d"), None
    for name, value in more.items():
        setattr(recipe, name, value)
    with pytest.raises(RecipeError, match=message) as caught:
        script.load_rows(recipe, recipe.train_split)
    assert "\n" not in str(caught.value)


def test_a_split_that_is_not_there_is_told_by_its_option(script, recipe, tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict(GOOD).to_parquet(tmp_path / "d" / "train.parquet")
    recipe.dataset, recipe.subset = str(tmp_path / "d"), None
    assert len(script.load_rows(recipe, "train")) == 2
    with pytest.raises(RecipeError, match=r"one of \['train'\]\); check .* `validation_split`"):
        script.load_rows(recipe, "validation")
    datasets.DatasetDict(train=datasets.Dataset.from_dict(GOOD)).save_to_disk(tmp_path / "saved")
    recipe.dataset = str(tmp_path / "saved")
    assert script.load_rows(recipe, "train").prompts == GOOD["prompt"]
    empty = datasets.Dataset.from_dict(GOOD).select([])
    empty.to_parquet(tmp_path / "e" / "train.parquet")
    recipe.dataset = str(tmp_path / "e")
    with pytest.raises(RecipeError, match="no data"):
        script.load_rows(recipe, "train")


def test_a_defect_of_a_benchmarks_reader_stays_visible():
    from datasets.exceptions import DatasetGenerationError

    from pqpp_backbones.training.reading import reading
    from pqpp_datasets.errors import OptionError

    with pytest.raises(DatasetGenerationError), reading("pqpp", "look"):
        raise DatasetGenerationError("ours") from IndexError("of ours")
    said = r"^theirs cannot be loaded \(a line\); look$"
    with pytest.raises(RecipeError, match=said), reading("theirs", "look"):
        raise DatasetGenerationError("theirs") from TypeError("a\nline.")
    with pytest.raises(OptionError, match="ours"), reading("pqpp", "look"):
        raise ValueError("the split names could not be parsed") from OptionError("ours")
    with pytest.raises(AttributeError), reading("theirs", "look"):
        raise AttributeError("a defect")


def run_in_main(script, *flags):
    """Run `pqpp train` in this process."""
    return main(["train", script, *map(str, flags)])


@pytest.mark.parametrize("script_name", ["text_ensemble", "static"])
@pytest.mark.parametrize(
    ("recipe_text", "message"),
    [
        (None, "{path} cannot be read (No such file or directory); check the path"),
        ("model: [", "{path} is no YAML (ParserError); check its form"),
        ("laiers: [1]", "a recipe has no `laiers`; did you mean 'layers'?"),
        ("GROUP: 3", "`GROUP` is 3; it must be a group of settings"),
    ],
)
def test_a_recipe_that_cannot_be_used_ends_a_script(
    script_name, recipe_text, message, tmp_path, capsys
):
    path = tmp_path / "recipe.yaml"
    group = "student" if script_name == "static" else "fit"
    if recipe_text is not None:
        path.write_text(recipe_text.replace("GROUP", group))
    message = message.replace("GROUP", group)
    flags = ["--config", path, "--captions", tmp_path / "no.txt", "--output", tmp_path / "out"]
    assert run_in_main(script_name, *flags) == 2
    assert capsys.readouterr().err == f"pqpp: error: {message.format(path=path)}\n"


@pytest.mark.parametrize("script_name", ["text_ensemble", "static"])
def test_scripts_of_text_predictors_refuse_what_is_missing(script_name, tmp_path, capsys):
    assert run_in_main(script_name, "--output", tmp_path / "out") == 2
    assert "error: --captions is missing: captions of the collection" in capsys.readouterr().err
    if script_name == "static":
        assert run_in_main(script_name, "--captions", __file__, "--without", "coco") == 2
        assert "error: --without is 'coco'; choose among agiqa, " in capsys.readouterr().err
    else:
        assert run_in_main(script_name, "--captions", __file__, "--folds", 1) == 2
        assert capsys.readouterr().err == "pqpp: error: --folds is 1; give 0, or 2 and more\n"
        (tmp_path / "tuned.yaml").write_text("tuned: {targets: [glide_hbpp]}\n")
        flags = ("--config", tmp_path / "tuned.yaml", "--targets", "mean_rr")
        assert run_in_main(script_name, "--captions", __file__, *flags) == 2
        said = "pqpp: error: `tuned.targets` has glide_hbpp, which is not in --targets\n"
        assert capsys.readouterr().err == said


@pytest.mark.parametrize("script_name", ["text_ensemble", "static"])
def test_a_finished_text_predictor_is_not_replaced_unasked(script_name, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "config.json").write_text(f'{{"predictor_type": "{script_name}", "format_version": 1}}')
    flags = ["--captions", __file__, "--output", out]
    assert run_in_main(script_name, *flags) == 2
    assert capsys.readouterr().err == (
        f"pqpp: error: {out} holds a finished model; add --overwrite to replace it, or name "
        "another --output-dir\n"
    )


def test_captions_and_models_that_are_not_there_end_a_script(tmp_path, capsys):
    data = tmp_path / "data"
    write_tiny_dataset(data)
    captions = tmp_path / "captions.txt"
    flags = ["--captions", captions, "--output", tmp_path / "out", "--dataset", data]
    flags += ["--config", "text_ensemble"]
    flags += ["--subset", "none"]
    assert run_in_main("text_ensemble", *flags) == 2
    said = capsys.readouterr().err  # a long path is shortened in its middle
    assert "error: --captions is '" in said and "captions.txt'; there is no such file" in said
    captions.write_text("two red birds\n")
    small = save_text_encoder(tmp_path / "small")  # the recipe wants layer 6
    assert run_in_main("text_ensemble", *flags, "--model", small) == 2
    assert "error: layer 6 was asked for; the encoder has 0 to 2\n" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def write_tiny_dataset(folder):
    """Write two splits of two prompts with all targets."""
    import pandas as pd

    from pqpp_models import TARGETS

    folder.mkdir()
    for split, prompts in (("train", ["a cat", "a dog"]), ("validation", ["a bird", "a cow"])):
        table = pd.DataFrame({"prompt": prompts, **{target: [0.1, 0.2] for target in TARGETS}})
        table.to_csv(folder / f"{split}.csv", index=False)


def test_a_model_of_another_kind_is_refused(script, recipe, tmp_path):
    recipe.model = str(save_vit(tmp_path / "vit"))
    with pytest.raises(
        CheckpointError, match="holds a model of type 'vit', which is not a text enc"
    ):
        run(script, recipe)
    recipe.model = str(tmp_path)
    with pytest.raises(CheckpointError, match="is no text encoder that transformers can load"):
        run(script, recipe)
    assert not Path(recipe.output_dir).exists()


def test_an_encoder_with_a_damaged_tokenizer_is_refused(script, recipe):
    (Path(recipe.model) / "tokenizer.json").write_text("{")
    with pytest.raises(CheckpointError, match="encoder holds no usable tokenizer"):
        run(script, recipe)


def test_the_length_of_prompts_fits_the_encoder(script, recipe):
    recipe.max_length = 129  # the tiny encoder has 128 positions
    with pytest.raises(ValueError, match="`max_length` is 129, but the encoder takes 128 tokens"):
        run(script, recipe)
    assert not Path(recipe.output_dir).exists()
    recipe.max_length = None
    run(script, recipe)
    config = json.loads((Path(recipe.output_dir) / "model" / "config.json").read_text())
    assert config["max_length"] == config["training"]["recipe"]["max_length"] == 128


@pytest.mark.parametrize("world", [1, 2, 3, 5, 16])
def test_an_evaluation_has_the_same_batches_in_any_number_of_processes(world, monkeypatch):
    lengths = [(i * 37) % 11 + 1 for i in range(77)]
    whole = {tuple(batch) for batch in length_sorted(lengths, 8)}
    monkeypatch.setattr(loop, "is_sharded", lambda _: False)
    counts, found = set(), []
    for rank in range(world):
        processes = types.SimpleNamespace(num_processes=world, process_index=rank)

        def predict(rows):
            cut = [tuple(rows[i]) for i in length_sorted([lengths[r] for r in rows], 8)]
            assert set(cut) <= whole
            counts.add(len(cut))
            found.extend(cut)
            return np.array(rows)[:, None] * 10.0

        def gather(mine):
            everyone = np.arange(77)
            return [*mine, (everyone, everyone[:, None] * 10.0)]

        monkeypatch.setattr(loop, "gather_object", gather)
        scores = loop.predict_in_parts(processes, length_sorted(lengths, 8), predict)
        assert scores[:, 0].tolist() == [10.0 * i for i in range(77)]
    assert set(found) == whole and len(counts) == 1


def test_batches_in_order():
    assert [b.tolist() for b in in_order(5, 2)] == [[0, 1], [2, 3], [4]]


def test_an_output_of_another_kind_is_refused_before_the_training(tmp_path, capsys):
    for folder in (tmp_path / "one", tmp_path / "runs" / "model"):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text('{"predictor_type": "static"}')
    (tmp_path / "none").mkdir()  # nor does it hold a dataset, which would be told otherwise
    none = ["--dataset", tmp_path / "none", "--output_dir", tmp_path / "runs"]
    for script in ("bert", "clip", "correlation_cnn"):
        assert run_in_main(script, *none) == 2
        assert "holds a 'static', which a" in capsys.readouterr().err
