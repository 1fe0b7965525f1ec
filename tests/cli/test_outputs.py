"""Outputs are looked at before any work begins: no input is replaced, nothing fails at the end."""

import argparse
import os
import subprocess
import sys

import pytest

from pqpp_cli.errors import CommandError
from pqpp_cli.main import main
from pqpp_cli.output import OutputFile, OutputPage, OutputPicture, check_outputs


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("prompt,x,y\na cat,1,2\na dog,2,1\n")
    (tmp_path / "b.csv").write_text("prompt,z\na cat,1\n")
    (tmp_path / "link.csv").symlink_to("a.csv")
    os.link("a.csv", "hard.csv")
    (tmp_path / "folder").mkdir()
    (tmp_path / "made").mkdir()
    (tmp_path / "made/router.json").write_text("{}")
    return tmp_path


def held(folder):
    return {path.name: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


COMPUTE = ("metrics", "compute", "kendall_qpp", "--predictions", "b.csv:z", "--references")
REFUSED = [
    (("predict", "--file", "a.csv", "--output", "a.csv"), "--output a.csv is the input a.csv"),
    (("predict", "--file", "a.csv", "--output", "./link.csv"), "is the input a.csv"),
    (("predict", "--file", "a.csv", "--output", "hard.csv"), "is the input a.csv"),
    (
        ("route", "predict", "made", "--file", "a.csv", "--output", "made/router.json"),
        "--output made/router.json is a file of the input made; name another file",
    ),
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


def test_what_lies_in_an_input_folder_is_refused_where_it_is_there_alone(here, monkeypatch):
    def asked(output, kind=OutputFile, folder="made"):
        check_outputs(argparse.Namespace(data_dir=folder, output=kind(output)))

    asked("made/new.csv")
    asked("made/router.json", folder=".")  # where commands run anything may lie
    (here / "made/page.html").touch()
    asked("made/page.html", OutputPage)  # no folder is read for its pages
    (here / "other").symlink_to("made")
    with pytest.raises(CommandError, match="is a file of the input made"):
        asked("other/router.json")
    monkeypatch.chdir(here / "made")
    asked("router.json", folder=str(here))


def test_a_table_lies_beside_the_images_that_it_is_about(here):
    (here / "images").mkdir()
    for name in ("verdicts.parquet", "plot.png"):
        (here / "images" / name).write_text("before")
    images = str(here / "images")
    check_outputs(
        argparse.Namespace(image_dir=images, output=OutputFile(f"{images}/verdicts.parquet"))
    )
    with pytest.raises(CommandError, match="is a file of the input"):
        check_outputs(
            argparse.Namespace(image_dir=images, plot=OutputPicture(f"{images}/plot.png"))
        )


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


def test_a_demo_replaces_nothing_but_a_demo(tmp_path, capsys, monkeypatch):
    import pqpp_cli.demo as module

    ended = RuntimeError("it began")
    monkeypatch.setattr(module, "_print_predictions", lambda *_: (_ for _ in ()).throw(ended))
    (tmp_path / "report.html").write_text("mine")
    assert main(["demo", "--output", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{tmp_path} holds other things (report.html); name a new folder" in line
    assert held(tmp_path) == {"report.html": b"mine"}
    (tmp_path / "fitted-on-sample").mkdir()  # as a demo leaves it, which another replaces
    assert main(["demo", "--output", str(tmp_path)]) == 1
    assert "it began" in capsys.readouterr().err


def test_what_a_link_points_to_is_replaced_by_a_predictor(tmp_path):
    from pqpp_models import Predictor
    from pqpp_models.checkpoint import write_checkpoint

    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for card in ("first", "second"):
        write_checkpoint(tmp_path / "link", {"predictor_type": "n_words"}, {}, card)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real" / "README.md").read_text() == card
    Predictor.from_pretrained("n_words").save_pretrained(tmp_path / "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]
