"""Outputs are looked at before any work begins: no input is replaced, nothing fails at the end."""

import os
import subprocess
import sys

import pytest

from pqpp_cli.main import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("prompt,x,y\na cat,1,2\na dog,2,1\n")
    (tmp_path / "b.csv").write_text("prompt,z\na cat,1\n")
    (tmp_path / "link.csv").symlink_to("a.csv")
    os.link("a.csv", "hard.csv")
    (tmp_path / "folder").mkdir()
    return tmp_path


def held(folder):
    return {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()}


COMPUTE = ("metrics", "compute", "kendall_qpp", "--predictions", "b.csv:z", "--references")
REFUSED = [
    (("predict", "--file", "a.csv", "--output", "a.csv"), "--output a.csv is the input a.csv"),
    (("predict", "--file", "a.csv", "--output", "./link.csv"), "is the input a.csv"),
    (("predict", "--file", "a.csv", "--output", "hard.csv"), "is the input a.csv"),
    ((*COMPUTE, "a.csv:x", "--output", "a.csv"), "--output a.csv is the input a.csv"),
    (("metrics", "compute", "hbpp", "--input", "labels=a.csv:x,y", "--output", "a.csv"), "is the"),
    (("select", "a.csv", "--count", "1", "--encoder", "e", "--output", "a.csv"), "is the input"),
    (("bench", "--report", "a.csv"), "--report a.csv: a page is written; name a file in .html"),
    (("predict", "a cat", "--output", "folder"), "--output folder is a folder; name a file"),
    (("predict", "a cat", "--output", "a.csv/b.csv"), "a.csv is a file; name a folder"),
    (("build", "--judgments", "a.csv", "--output", "a.csv"), "a.csv is a file; name a folder"),
    (("build", "--judgments", "a.csv", "--output", "."), "--output . holds the input a.csv"),
    (("collection", "build", "a.csv", "--model", "m", "--output", "."), "holds the input a.csv"),
    (("feedback", "folder", "--model", "m", "--output", "p", "--json", "p"), "are one file"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_outputs_are_refused_before_work(here, words, said, capsys):
    before = held(here)
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pqpp: error: --") and said in line
    assert held(here) == before


def test_a_prompt_is_no_file(here, capsys):
    words = ("predict", "x" * 5000, "a\0b", "--predictor", "n_words", "--output", "out.csv")
    assert main(words) == 0
    assert (here / "out.csv").read_text().startswith("prompt,")


def test_a_full_cache_is_one_line_that_names_it(tmp_path):
    code = (
        "import resource, sys\n"
        "from pqpp_cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "sys.exit(main(['bench', '--subset', 'sample', '--predictor', 'n_words']))\n"
    )
    environment = {**os.environ, "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith(f"pqpp: error: {tmp_path / 'cache'}: no space is left (")
