"""Untrusted study files and tables reveal no secrets and no images of other folders."""

import re
import shutil

import pytest
from PIL import Image

from pqpp_annotation.study.images import Copies
from pqpp_cli.main import main

SECRET = "hf_SECRETsecretSECRET"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 6)).save(tmp_path / "images" / "a.png")
    Image.new("RGB", (8, 6), "red").save(tmp_path / "outside.png")
    (tmp_path / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
    return tmp_path


def run_init(*options):
    arguments = ["annotate", "init", "study.yaml", "--file", "prompts.csv", "--image-dir", "images"]
    return main([*arguments, *options])


def test_non_url_variable_is_refused_and_not_printed(folder, capsys):
    assert run_init("--set", "database=$HF_TOKEN") == 2
    error = capsys.readouterr().err
    assert "set $HF_TOKEN to a URL" in error and SECRET not in error
    assert run_init() == 0
    text = (folder / "study.yaml").read_text().splitlines()
    lines = ["database: $HF_TOKEN" if line.startswith("database:") else line for line in text]
    (folder / "study.yaml").write_text("\n".join(lines))
    capsys.readouterr()
    for words in (["status", "study.yaml"], ["export", "study.yaml", "--output", "out"]):
        assert main(["annotate", *words]) == 2
        output = capsys.readouterr()
        assert SECRET not in output.out + output.err and output.err.count("\n") == 1
    assert not [path for path in folder.rglob("*") if SECRET in path.name]


@pytest.mark.parametrize("kind", ["above", "absolute", "link", "linked folder"])
def test_rejects_images_outside_the_folder(folder, kind, capsys):
    names = {
        "above": "../outside.png",
        "absolute": str(folder / "outside.png"),
        "link": "link.png",
        "linked folder": "more/outside.png",
    }
    (folder / "images" / "link.png").symlink_to(folder / "outside.png")
    (folder / "images" / "more").symlink_to(folder)
    (folder / "prompts.csv").write_text(f"prompt,image\na cat,{names[kind]}\n")
    assert run_init() == 2
    assert "copy the file into this folder" in capsys.readouterr().err
    assert not list(folder.glob("*.db")) and not (folder / "study.yaml").exists()


@pytest.mark.parametrize("kind", ["absolute", "link"])
def test_rejects_databases_outside_the_folder(folder, kind, capsys, monkeypatch):
    assert run_init() == 0
    text, (database,) = (folder / "study.yaml").read_text(), folder.glob("*.db")
    other = folder / "theirs" / "study.yaml"
    other.parent.mkdir()
    other.with_name(database.name).symlink_to(database)
    named = f"database: {database}" if kind == "absolute" else f"database: {database.name}"
    other.write_text(re.sub("database: .*", named, text))
    content = database.read_bytes()
    for words in (["status"], ["export", "--output", "out"], ["backup", "--output", "copy.db"]):
        assert main(["annotate", words[0], str(other), *words[1:]]) == 2
        assert "copy the file into this folder" in capsys.readouterr().err
    assert database.read_bytes() == content and not (folder / "copy.db").exists()
    other.write_text(re.sub("database: .*", "database: $MINE", text))
    monkeypatch.setenv("MINE", f"sqlite:///{database}")
    assert main(["annotate", "status", str(other)]) == 0  # the owner's own choice


@pytest.mark.parametrize("name", [".{}.secret", "{}-shown", "languages"])
def test_serves_no_files_outside_the_folder(folder, name, capsys, monkeypatch, tmp_path_factory):
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    assert run_init() == 0
    path = folder / name.format(next(folder.glob("*.db")).stem)
    shutil.rmtree(path, ignore_errors=True)
    other = tmp_path_factory.mktemp("other")
    (other / "fr.po").write_text('msgid "Skip"\nmsgstr "Omettre"\n')
    path.symlink_to(other / "fr.po" if path.suffix else other)
    assert main(["annotate", "serve", "study.yaml", "--port", "0"]) == 2
    assert "copy the file into this folder" in capsys.readouterr().err


def test_reads_no_copy_outside_its_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda path: pytest.fail(f"read {path}"))
    assert Copies(tmp_path).read("/etc/hosts") is None
