"""Resumed training: the same weights as without interruption, and damaged checkpoints."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from filelock import FileLock  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from support.tiny_models import REPOSITORY, import_trainer, save_text_encoder, train_until  # noqa: E402

from pqpp_files.errors import PqppError  # noqa: E402

train = partial(train_until, "bert")


@pytest.fixture
def recipe(tmp_path, cache):
    """A recipe of 3 epochs of 10 steps for a tiny model, with a checkpoint every 3 steps."""
    return import_trainer("bert").BertRecipe(
        subset="sample",
        model=str(save_text_encoder(tmp_path / "encoder")),
        output_dir=str(tmp_path / "run"),
        max_train_rows=80,
        targets=["mean_hbpp", "mean_rr"],
        num_train_epochs=3,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        learning_rate=1e-3,
        warmup_steps=0.1,
        save_strategy="steps",
        save_steps=3,
        early_stopping_patience=0,
    )


def assert_same(left, right):
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize(
    ("interrupt_at", "patience"),
    [(31, 3), *(pytest.param(n, 0, marks=pytest.mark.slow) for n in (2, 20, 21, 41, 59))],
)
def test_resumed_run_equals_uninterrupted_run(recipe, interrupt_at, patience, grouped, tmp_path):
    recipe.group_by_length, recipe.early_stopping_patience = grouped, patience
    full, expected = train(recipe)
    recipe.output_dir, recipe.resume_from_checkpoint = str(tmp_path / "interrupted"), "last"
    with pytest.raises(KeyboardInterrupt):
        train(recipe, interrupt_at)
    resumed, weights = train(recipe)
    assert_same(weights, expected)
    assert resumed.validation == full.validation and resumed.best_epoch == full.best_epoch
    assert resumed.steps == full.steps and resumed.epochs == full.epochs


def test_ignores_incomplete_checkpoint(recipe, tmp_path):
    _, expected = train(recipe)
    incomplete = Path(recipe.output_dir) / "checkpoint-99"
    shutil.copytree(incomplete.with_name("checkpoint-30"), incomplete)
    (incomplete / "trainer_state.json").unlink()
    recipe.resume_from_checkpoint = "last"
    outcome, weights = train(recipe)
    assert outcome.steps == 30
    assert_same(weights, expected)
    recipe.resume_from_checkpoint = str(incomplete)
    with pytest.raises(PqppError, match="is not a complete checkpoint"):
        train(recipe)


def test_two_runs_in_one_folder_do_not_mix(recipe):
    Path(recipe.output_dir).mkdir()
    lock = FileLock(Path(recipe.output_dir) / "training.lock")
    with lock, pytest.raises(PqppError, match="another run trains in"):
        train(recipe)
    assert not [*Path(recipe.output_dir).glob("checkpoint-*")]


@pytest.mark.parametrize("name", ["trainer_state.json", "model.safetensors", "optimizer.pt"])
def test_damaged_checkpoint_gives_one_line(recipe, name):
    recipe.num_train_epochs = 1
    train(recipe)
    checkpoint = Path(recipe.output_dir) / "checkpoint-10"
    content = (checkpoint / name).read_bytes()
    (checkpoint / name).write_bytes(content[: len(content) // 2])
    recipe.resume_from_checkpoint, recipe.num_train_epochs = "last", 2
    with pytest.raises(PqppError, match="is damaged") as caught:
        train(recipe)
    assert "\n" not in str(caught.value)


def make_command(recipe, folder):
    flags = {
        "subset": "sample",
        "model": recipe.model,
        "output_dir": folder,
        "targets": "mean_hbpp",
        "num_train_epochs": 4,
        "per_device_train_batch_size": 2,
        "learning_rate": 1e-3,
        "save_strategy": "steps",
        "save_steps": 5,
        "resume_from_checkpoint": "last",
    }
    script = str(REPOSITORY / "training" / "train_bert.py")
    options = [part for name, value in flags.items() for part in (f"--{name}", str(value))]
    return [sys.executable, script, *options]


@pytest.mark.slow
def test_resumes_after_sigkill(recipe, tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    options = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(make_command(recipe, tmp_path / "whole"), check=True, timeout=900, **options)
    killed = []
    for wait in (0, 0, random.Random(0).uniform(0, 0.5)):
        process = subprocess.Popen(make_command(recipe, tmp_path / "killed"), **options)
        checkpoints = lambda: {*(tmp_path / "killed").glob("checkpoint-*")}  # noqa: E731
        existing = checkpoints()
        while process.poll() is None and existing >= checkpoints():
            time.sleep(0.001)
        time.sleep(wait)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed.append(wait)
        process.wait()
    assert killed, "the run was over before it could be killed"
    subprocess.run(make_command(recipe, tmp_path / "killed"), check=True, timeout=900, **options)
    paths = [tmp_path / name / "model" / "model.safetensors" for name in ("killed", "whole")]
    assert_same(*map(load_file, paths))
