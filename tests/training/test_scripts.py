"""How a training script begins and ends: what is wrong is one line and exit code 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="recipes are YAML")

from support.tiny_models import REPOSITORY

from pqpp_backbones.training.options import OptimisationOptions, RunOptions
from pqpp_backbones.training.publish import check_model_folder, refuse_finished
from pqpp_backbones.training.script import or_exit
from pqpp_files.options.option import RecipeError

LAUNCHED = ("train_bert", "train_clip", "train_correlation_cnn")
LAUNCHED += ("train_rahf", "finetune_t2i")
LAUNCHED += ("train_static", "train_text_ensemble")


@pytest.mark.parametrize("script", LAUNCHED)
def test_a_missing_package_ends_a_script_in_one_line(script, tmp_path):
    path = REPOSITORY / "training" / f"{script}.py"
    code = (
        "import runpy, sys\n"
        "for name in ('torch', 'transformers', 'accelerate', 'peft'): sys.modules[name] = None\n"
        f"sys.argv = [{str(path)!r}, '--epochs', '1']\n"
        f"runpy.run_path({str(path)!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {script} needs ") and "pip install" in line


class OutOfMemoryError(RuntimeError):
    """Torch's is called so."""


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RecipeError("`a` is 1; it must be 2"), 2, "error: `a` is 1; it must be 2"),
        (OutOfMemoryError("CUDA out of memory.\nTried"), 2, "take a smaller batch_size"),
        (MemoryError(), 2, "take a smaller batch_size"),
        (OSError(28, "No space left on device"), 2, "no space is left"),
        (
            OSError(28, "no space is left (9 are free)", "out/it"),
            2,
            "error: out/it: no space is left",
        ),
        (RuntimeError("PytorchStreamWriter failed writing file data/0"), 2, "no space is left"),
        (RuntimeError("[enforce] . unexpected pos 52608 vs 52496"), 2, "no space is left"),
        (PermissionError(13, "Permission denied", "out/it"), 2, "error: out/it: Permission denied"),
        (RuntimeError("basic_ios::clear: iostream error"), 2, "no space is left"),
        (RecipeError("\x1b[2Jx is no recipe"), 2, r"error: \x1b[2Jx is no recipe"),
        (KeyboardInterrupt(), 130, "--resume"),
    ],
)
def test_what_ends_a_training_is_one_line(error, code, said, capsys):
    def fail():
        raise error

    with pytest.raises(SystemExit) as caught:
        or_exit(fail)
    (line,) = capsys.readouterr().err.splitlines()
    assert caught.value.code == code and said in line


def test_a_defect_stays_visible():
    with pytest.raises(AttributeError):
        or_exit(lambda: None.lacking)


def test_a_finished_model_is_not_replaced_unasked(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    check_model_folder(RunOptions(output_dir=str(tmp_path)), "bert")
    (folder / "config.json").write_text('{"predictor_type": "bert"}')
    for options in (RunOptions, OptimisationOptions):
        with pytest.raises(RecipeError, match=r"model holds a finished model; add `overwrite`"):
            check_model_folder(options(output_dir=str(tmp_path)), "bert")
        check_model_folder(options(output_dir=str(tmp_path), overwrite=True), "bert")
    refuse_finished(folder, OptimisationOptions(resume=True))
    refuse_finished(Path("nowhere"), RunOptions())


@pytest.mark.slow
def test_a_launched_script_ends_in_one_line_too(tmp_path):
    pytest.importorskip("accelerate", reason="the launcher is Accelerate's")
    launcher = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--cpu"]
    done = subprocess.run(
        [*launcher, "--quiet", str(REPOSITORY / "training" / "train_bert.py"), "--epochs", "-1"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == "error: `epochs` is -1; it must be above 0"
