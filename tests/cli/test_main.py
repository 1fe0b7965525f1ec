"""The `pqpp` command: help, completion, exit statuses and one-line errors."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes import run

from pqpp_cli.commands import get_command_words, iterate_command_classes
from pqpp_cli.main import main
from pqpp_files.errors import FileError


@pytest.mark.parametrize("kind", [*iterate_command_classes()], ids=lambda kind: kind.__name__)
def test_every_command_has_help_and_refuses_unknown_options(kind, capsys):
    assert main([*get_command_words(kind), "--help"]) == 0
    assert capsys.readouterr().err == ""
    assert main([*get_command_words(kind), "--no-such-option", "x"]) == 2
    output = capsys.readouterr()
    assert output.out == "" and output.err.startswith("pqpp ") and output.err.count("\n") == 1
    assert main(["--no-such-option", *get_command_words(kind), "x"]) == 2
    assert "unknown argument --no-such-option; " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pqpp bench --dataset ", {"pqpp", "pqpp-v1.0", "sample", "mine.csv"}),
        ("pqpp predict --dataset pqpp --split ", {"train", "validation", "test"}),
    ],
)
def test_tab_completion_lists_datasets_files_and_splits(line, expected, tmp_path):
    (tmp_path / "mine.csv").touch()
    request = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1"}
    reply = {"_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "answer")}
    paths = {"PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run(
        [sys.executable, "-m", "pqpp"], env=os.environ | request | reply | paths, cwd=tmp_path
    )
    assert expected <= set((tmp_path / "answer").read_text().split("\n"))


def test_completion_without_a_line_is_ignored(monkeypatch):
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    assert main(["--version"]) == 0


EXCEL_ON_A_FULL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from pqpp_cli.entry import main
sys.exit(main(["predict", "a cat and a dog " * 1000, "--output", "a.xlsx"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes")
def test_full_disk_for_the_files_of_a_library_is_one_line(tmp_path):
    words = [sys.executable, "-c", EXCEL_ON_A_FULL_DISK]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


def test_missing_package_is_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it were not installed
    for name in [name for name in sys.modules if name.startswith("pqpp_feedback.rahf")]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "a.png").write_bytes(b"")
    assert main(["assess", "rahf", "--image-dir", str(tmp_path), "--model", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "needs transformers; run: pip install" in error and error.count("\n") == 1


def fail_with(error, cause=None):
    """Return the `run` of a command that raises an error."""

    def run(command):
        raise error from cause

    return run


def embed_unknown_token(command):
    torch = pytest.importorskip("torch")
    torch.nn.Embedding(1, 1)(torch.tensor([9]))


@pytest.mark.parametrize(
    ("run", "status", "message"),
    [
        (fail_with(RuntimeError(), OSError(errno.ENOSPC, "No space left")), 2, "no space left"),
        (fail_with(FileError("killed (out of memory?)")), 2, "killed (out of memory?)"),
        (fail_with(KeyError("no\nsuch")), 1, "internal error: KeyError: "),
        (lambda _: exec("int('x')", {"__name__": "library"}), 2, "a library cannot start: Value"),
        (embed_unknown_token, 2, "the model failed: IndexError"),
    ],
)
def test_error_of_a_command_is_one_line(run, status, message, monkeypatch, capsys):
    monkeypatch.setattr("pqpp_cli.models.ModelsList.run", run)
    assert main(["models", "list"]) == status
    error = capsys.readouterr().err
    assert error.startswith(f"pqpp: error: {message}") and error.count("\n") == 1
    monkeypatch.setenv("PQPP_TRACEBACK", "1")
    if status == 1:
        with pytest.raises(KeyError):
            main(["models", "list"])


@pytest.mark.parametrize(
    "words",
    [
        "predict a --predictor mean_word_length",
        "--version",
        *(pytest.param(words, marks=pytest.mark.daily) for words in ("--help", "models list")),
    ],
)
def test_closed_or_full_output_is_one_line(words, tmp_path):
    pqpp = Path(sys.executable).with_name("pqpp")
    for end in (">&-", ">/dev/full"):
        done = run(["bash", "-c", f"{pqpp} {words} {end}"], tmp_path)
        assert done.returncode == 2, done.stderr
        assert done.stderr.count("\n") == 1 and "standard output" in done.stderr


def test_exit_status_does_not_need_standard_error(tmp_path):
    pqpp = Path(sys.executable).with_name("pqpp")
    for end in ("2>/dev/full", "2> >(true)", "2>&-"):
        for words, status in (("--file no.csv", 2), ("--nope", 2), ("cat --output a.csv", 0)):
            done = run(["bash", "-c", f"{pqpp} predict {words} {end}"], tmp_path)
            assert done.returncode == status


def test_missing_working_folder_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    assert main(["predict", "a cat", "--output", "a.csv"]) == 2
    assert "the working folder no longer exists" in capsys.readouterr().err


def test_help_version_and_no_arguments(capsys):
    outputs = {}
    for words in ([], ["help"], ["--help"], ["version"], ["--version"], ["help", "predict"]):
        assert main(words) == 0
        outputs[" ".join(words)] = capsys.readouterr().out
    assert outputs["help"] == outputs["--help"] and outputs["version"] == outputs["--version"]
    assert "pqpp predict" in outputs[""] and len(outputs[""].splitlines()) < 8
    assert main(["predict", "a cat", "--json"]) == 2
    assert "write --format json" in capsys.readouterr().err
    assert main(["--verison"]) == 2 and "'--version'" in capsys.readouterr().err


def test_environment_of_a_command(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "x")
    monkeypatch.delenv("USE_HUB_KERNELS", raising=False)
    assert main(["models", "list"]) == 0 and "SOURCE_DATE_EPOCH" not in os.environ
    assert os.environ["USE_HUB_KERNELS"] == "0"
