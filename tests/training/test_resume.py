"""A training that is killed and resumed ends with the weights of one that was not."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from safetensors.torch import load_file  # noqa: E402
from support.tiny_models import REPOSITORY, save_text_encoder, trainer  # noqa: E402

from pqpp_files.options.option import RecipeError  # noqa: E402


@pytest.fixture
def recipe(tmp_path, cache):
    """A recipe of 3 epochs of 10 steps on a tiny model, a checkpoint after every 3."""
    script = trainer("bert")
    return script.BertRecipe(
        subset="sample",
        model=str(save_text_encoder(tmp_path / "encoder")),
        output_dir=str(tmp_path / "run"),
        max_train_rows=80,
        targets=["mean_hbpp", "mean_rr"],
        epochs=3,
        batch_size=4,
        gradient_accumulation_steps=2,
        learning_rate=1e-3,
        warmup_ratio=0.1,
        checkpoint_steps=3,
    )


def run(recipe, interrupt_at=None):
    """Train in this process; with `interrupt_at`, fail when that batch is asked for."""
    script = trainer("bert")
    as_batch, seen = script.as_batch, 0

    def batch_or_fail(rows, pad_id):
        nonlocal seen
        seen += 1
        if seen == interrupt_at:
            raise KeyboardInterrupt
        return as_batch(rows, pad_id)

    training = script.load_rows(recipe, recipe.train_split)
    validation = script.load_rows(recipe, recipe.validation_split)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(script, "as_batch", batch_or_fail)
        progress = script.train_bert(recipe, training, validation)
    return progress, weights_in(recipe.output_dir)


def weights_in(folder):
    return load_file(Path(folder) / "model" / "model.safetensors")


def assert_same(left, right):
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize(
    "interrupt_at", [11, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 20, 21, 33, 59))]
)
def test_resumed_run_equals_uninterrupted_run(recipe, interrupt_at, tmp_path):
    whole, expected = run(recipe)
    recipe.output_dir, recipe.resume = str(tmp_path / "interrupted"), True
    with pytest.raises(KeyboardInterrupt):
        run(recipe, interrupt_at)
    resumed, found = run(recipe)
    assert_same(found, expected)
    assert resumed.history == whole.history
    assert resumed.step == whole.step == 30


@pytest.mark.daily
def test_the_seed_decides_the_model(recipe, tmp_path):
    _, first = run(recipe)
    recipe.output_dir = str(tmp_path / "again")
    _, again = run(recipe)
    recipe.output_dir, recipe.seed = str(tmp_path / "other"), 1
    _, other = run(recipe)
    assert_same(first, again)
    assert not torch.equal(first["head.output.weight"], other["head.output.weight"])


def test_resuming_with_another_recipe_is_refused(recipe):
    run(recipe)
    recipe.resume, recipe.batch_size = True, 8
    with pytest.raises(RecipeError, match=r"`batch_size` 4, now it is 8"):
        run(recipe)


def test_resuming_with_other_data_is_refused(recipe):
    run(recipe)
    recipe.resume, recipe.train_split = True, "test"
    with pytest.raises(RecipeError, match="was made with"):
        run(recipe)


def test_resuming_a_finished_run_changes_nothing(recipe):
    _, first = run(recipe)
    recipe.resume = True
    _, again = run(recipe)
    assert_same(first, again)


def test_a_half_written_checkpoint_is_not_used(recipe, tmp_path):
    run(recipe)
    checkpoints = Path(recipe.output_dir) / "checkpoints"
    half = checkpoints / ".step-99.new"
    shutil.copytree(checkpoints / "step-30", half)
    (half / "progress.json").unlink()
    recipe.resume = True
    progress, _ = run(recipe)
    assert progress.step == 30


def command(recipe, folder):
    flags = {
        "subset": "sample",
        "model": recipe.model,
        "output_dir": folder,
        "targets": "mean_hbpp",
        "epochs": 4,
        "batch_size": 2,
        "learning_rate": 1e-3,
        "checkpoint_steps": 5,
    }
    script = str(REPOSITORY / "training" / "train_bert.py")
    named = [part for name, value in flags.items() for part in (f"--{name}", str(value))]
    return [sys.executable, script, *named, "--resume"]


@pytest.mark.slow
def test_sigkill_at_a_random_step(recipe, tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    environment["ACCELERATE_USE_CPU"] = "true"
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command(recipe, tmp_path / "whole"), check=True, timeout=900, **quiet)
    killed = 0
    random.seed()  # another step in each run of the tests
    for _ in range(3):
        process = subprocess.Popen(command(recipe, tmp_path / "killed"), **quiet)
        checkpoints = tmp_path / "killed" / "checkpoints"
        before = {path.name for path in checkpoints.glob("step-*")}
        while process.poll() is None and before >= {p.name for p in checkpoints.glob("step-*")}:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.5))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
    assert killed, "the run was over before it could be killed"
    subprocess.run(command(recipe, tmp_path / "killed"), check=True, timeout=900, **quiet)
    assert_same(weights_in(tmp_path / "killed"), weights_in(tmp_path / "whole"))
