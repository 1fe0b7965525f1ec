"""Files and values that once ended a command in a traceback: one line now, status 2."""

import numpy as np
import pytest

from pqpp_cli.main import main


def refused(capsys, *words) -> str:
    """Return the one line that a command says when it ends with 2."""
    assert main(words) == 2
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert said.out == ""
    return line


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_damaged_npy(here, capsys):
    pytest.importorskip("faiss", reason="pqpp datasets select needs faiss")
    (here / "captions.txt").write_text("a cat\na dog\n")
    np.save(here / "good.npy", np.eye(2, dtype="float32"))
    good = (here / "good.npy").read_bytes()
    for content in (
        b"",
        good[:20],
        good[:-3],
        good.replace(b"(2, 2)", b"(9**9,"),
        b"\x93NUMPY" * 9,
    ):
        (here / "bad.npy").write_bytes(content)
        words = ("--count", "1", "--embeddings", "bad.npy")
        line = refused(capsys, "datasets", "select", "captions.txt", *words)
        assert "bad.npy" in line


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"predictor_type": 1e400}', "[" * 50_000, "\ud800"]
)
def test_a_damaged_configuration_of_a_model(here, content, capsys):
    (here / "model").mkdir()
    (here / "model" / "config.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    assert "model" in refused(capsys, "models", "show", "./model")


def test_a_folder_that_datasets_stumbles_over(here, capsys):
    (here / "mine").mkdir()
    (here / "mine" / "train.csv").write_text("prompt\na cat\n")
    (here / "mine" / "mine.py").write_text("open('executed', 'w')\n")
    line = refused(capsys, "predict", "--dataset", "mine", "--predictor", "n_words")
    assert "mine cannot be loaded" in line and not (here / "executed").exists()
