"""Entry points of training scripts: errors are one line, and existing results are kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="recipes are YAML")

from support.tiny_models import REPOSITORY

from pqpp_backbones.errors import ModelError
from pqpp_backbones.training.options import OptimisationOptions, RunOptions
from pqpp_backbones.training.publish import check_model_folder, check_no_result
from pqpp_backbones.training.script import explain_crash
from pqpp_files.errors import PqppError


class OutOfMemoryError(RuntimeError):
    """An error with the name of torch's."""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OutOfMemoryError("CUDA out of memory.\nTried"), "per_device_train_batch_size"),
        (MemoryError(), "per_device_train_batch_size"),
        (OSError(28, "No space left on device"), "disk of `output_dir` is full"),
        (OSError(28, "no space is left (9 are free)", "out/it"), r"out/it: no space is left"),
    ],
)
def test_crashes_are_explained(error, message):
    with pytest.raises(ModelError, match=message) as caught, explain_crash():
        raise error
    assert "\n" not in str(caught.value)


def test_full_disk_is_recognized_when_torch_saves():
    torch = pytest.importorskip("torch")
    with pytest.raises(ModelError, match="free space"), explain_crash():
        torch.save(torch.zeros(9999), "/dev/full")


def test_existing_predictor_is_replaced_only_with_overwrite(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    check_model_folder(RunOptions(output_dir=str(tmp_path)), "bert")
    (folder / "config.json").write_text('{"predictor_type": "bert"}')
    for options in (RunOptions, OptimisationOptions):
        with pytest.raises(PqppError, match=r"model is not empty; set `overwrite`"):
            check_model_folder(options(output_dir=str(tmp_path)), "bert")
        check_model_folder(options(output_dir=str(tmp_path), overwrite=True), "bert")
    check_no_result(folder, OptimisationOptions(resume_from_checkpoint="last"))
    check_no_result(Path("nowhere"), RunOptions())


@pytest.mark.slow
def test_launched_script_reports_error_in_one_line(tmp_path):
    pytest.importorskip("accelerate", reason="the launcher is Accelerate's")
    launcher = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--cpu"]
    command = [*launcher, "--quiet", str(REPOSITORY / "training" / "train_bert.py"), "--seed", "-1"]
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert process.returncode and "Traceback" not in process.stderr
    assert process.stderr.splitlines()[-1] == "error: --seed is -1; it must be 0 or more"
