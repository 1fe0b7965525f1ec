"""Training in two processes: the same metrics and model as in one."""

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from support.tiny_models import REPOSITORY, save_text_encoder  # noqa: E402

pytestmark = pytest.mark.slow


def train(tmp_path, name, processes, *flags):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    environment.pop("ACCELERATE_USE_CPU", None)  # not needed without GPUs
    launcher = [sys.executable]
    if processes > 1:
        launcher += ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    result = subprocess.run(
        [
            *launcher,
            *("-m", "pqpp_training.train_bert"),
            *("--subset", "sample", "--num_train_epochs", "2", "--targets", "mean_hbpp,mean_rr"),
            *("--model", str(tmp_path / "encoder"), "--output_dir", str(tmp_path / name)),
            *flags,
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads((tmp_path / name / "model" / "config.json").read_text())["training"]


def test_two_processes_give_the_same_metrics(tmp_path, cache):
    save_text_encoder(tmp_path / "encoder")
    # The learning rate is too low to change weights, so both evaluate the same model. 77 rows do
    # not divide into equal parts.
    flags = ("--learning_rate", "1e-30", "--per_device_train_batch_size", "8")
    flags += ("--validation_split", "test[:77]")
    single = train(tmp_path, "one", 1, *flags)
    double = train(tmp_path, "two", 2, *flags)
    assert (single["processes"], double["processes"]) == (1, 2)
    assert single["validation"] == pytest.approx(double["validation"], abs=1e-6)


def test_two_processes_equal_one_with_double_batch(tmp_path, cache):
    save_text_encoder(tmp_path / "encoder")
    # Without dropout and with full batches in the same order, the mean of two gradients is the
    # gradient of the joint batch.
    flags = ("--head_dropout", "0", "--no-group_by_length", "--learning_rate", "1e-3")
    config = tmp_path / "encoder" / "config.json"
    fields = json.loads(config.read_text())
    fields |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config.write_text(json.dumps(fields))
    flags += ("--per_device_train_batch_size", "8")
    single = train(tmp_path, "one", 1, *flags, "--gradient_accumulation_steps", "2")
    double = train(tmp_path, "two", 2, *flags)
    assert single["steps"] == double["steps"] == 30
    assert single["validation"] == pytest.approx(double["validation"], abs=1e-3)
