"""`pqpp annotate`: studies, links, exports and refused inputs."""

import csv
import json
import re
from dataclasses import replace

import pytest
from PIL import Image

pytest.importorskip("sqlalchemy", reason="needs the extra `annotate`")

from support.file_server import serve
from support.studies import answer_all, write_table

from pqpp_annotation.store.access import get_links, redeem_link
from pqpp_annotation.store.answers import iterate_votes, read_records
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.items import get_stored_image
from pqpp_annotation.store.people import add_person
from pqpp_annotation.study import read_study
from pqpp_cli.main import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table of six prompts and their images, where commands run."""
    write_table(tmp_path, 6)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init_study(*words, study="study.yaml"):
    start = ("annotate", "init", study, "--file", "prompts.csv", "--image-dir", "images")
    return main([*start, *words])


def test_study_from_init_to_export(folder, capsys):
    words = ("--title", "Which?", "--set", "control.count=2", "--people-per-item", "2")
    assert init_study(*words) == 0
    output = capsys.readouterr().out
    assert "4 items, 0 finished, 2 control items" in output and "serve study.yaml" in output
    study = read_study(folder / "study.yaml")
    assert (study.title, study.people_per_item, study.control.count) == ("Which?", 2, 2)
    store = open_store(study)
    # The printed links are valid.
    roles = [redeem_link(store, line.split("/join/")[1]).role
             for line in output.splitlines() if "/join/" in line]  # fmt: skip
    assert roles == ["owner", "trial"]
    answer_all(store, add_person(store, "ann").id)
    assert main(["annotate", "status", "study.yaml", "--format", "json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["items"] == {"work": 4, "finished": 0, "control": 2, "training": 0}
    assert status["answers"] >= 8
    states = {one["name"]: one["state"] for one in status["people"]}
    assert states == {"owner-1": "", "trial-2": "", "ann": "finished"}
    assert main(["annotate", "backup", "study.yaml", "--output", "copy.db"]) == 0
    copy = open_store(replace(store.study, database="copy.db"))
    assert list(iterate_votes(read_records(copy))) == list(iterate_votes(read_records(store)))
    assert main(["annotate", "export", "study.yaml", "--output", "votes"]) == 0
    assert (folder / "votes" / "judgments.csv").is_file()
    for one in (store, copy):
        one.close()


def test_invite_writes_lists_and_revokes_links(folder, capsys):
    assert init_study() == 0
    words = ("--count", "3", "--label", "wave", "--address", "https://study.example/")
    assert main(["annotate", "invite", "study.yaml", *words, "--output", "links.csv"]) == 0
    with (folder / "links.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "label", "role", "link", "expires"] and len(rows) == 3
    before = (folder / "links.csv").read_bytes()
    assert main(["annotate", "invite", "study.yaml", "--output", "links.csv"]) == 2
    assert (folder / "links.csv").read_bytes() == before
    token = rows[0]["link"].removeprefix("https://study.example/join/")
    store = open_store(read_study("study.yaml"))
    assert redeem_link(store, token).role == "annotator"
    assert main(["annotate", "invite", "study.yaml", "--revoke", rows[1]["id"]]) == 0
    capsys.readouterr()
    assert main(["annotate", "invite", "study.yaml", "--list"]) == 0
    output = capsys.readouterr().out
    assert [line.split()[2] for line in output.splitlines()[3:]] == ["used", "revoked", "open"]
    assert token not in output
    assert main(["annotate", "invite", "study.yaml", "--shared", "--days", "2"]) == 0
    assert get_links(store)[-1].is_shared
    store.close()
    for words, message in (
        (["invite", "--revoke", "99"], "link 99 not found"),
        (["invite", "--revoke", "1", "--list"], "--list does not apply with --revoke"),
        (["invite", "--list", "--output", "a"], "--output does not apply with --list"),
        (["invite", "--shared", "--count", "20"], "--count does not apply with --shared"),
        (["init", "--add", "--file", "prompts.csv", "--kind", "match"], "--kind does not apply"),
        (["init", "--add", "--file", "prompts.csv", "--image-dir", "."], "--image-dir does not"),
    ):
        assert main(["annotate", words[0], "study.yaml", *words[1:]]) == 2
        assert message in capsys.readouterr().err


def test_init_downloads_images_from_urls(folder, capsys, monkeypatch):
    with serve() as server:
        address = server.url.rstrip("/")
        server.files = {f"/{one.name}": one.read_bytes() for one in folder.glob("images/*")}
        text = (folder / "prompts.csv").read_text()
        (folder / "prompts.csv").write_text(re.sub(r"\d-\w+\.png", rf"{address}/\g<0>", text))
        assert main(["annotate", "init", "study.yaml", "--file", "prompts.csv"]) == 0
    # The server has stopped, so the images come from the study.
    store = open_store(read_study("study.yaml"))
    pages = answer_all(store, add_person(store, "a").id)
    for image in (image for page in pages for image in page.images):
        asset = get_stored_image(store, image.sha256)
        assert (store.study.root / asset.location).is_file() and asset.media_type == "image/jpeg"
    assert next(iterate_votes(read_records(store))).image.startswith(address)
    store.close()
    (folder / "prompts.csv").write_text(f"prompt,image\na cat,{address}/new.png\n")
    monkeypatch.setattr("pqpp_hub.pull.time.sleep", lambda _: None)  # between retries
    assert main(["annotate", "init", "other.yaml", "--file", "prompts.csv"]) == 2
    assert f"image {address}/new.png: " in capsys.readouterr().err


def test_init_reads_prompts_and_images_from_a_dataset(folder, cache, capsys):
    import datasets

    pictures = [Image.new("RGB", (5, 4), (number, 0, 0)) for number in range(3)]
    rows = {"caption": ["a", "b", "a"], "picture": pictures, "model": ["x", "x", "y"]}
    datasets.Dataset.from_dict(rows).save_to_disk(folder / "mine")
    words = ["--dataset", "mine", "--column", "caption", "--image-column", "picture"]
    assert main(["annotate", "init", "study.yaml", *words]) == 0, capsys.readouterr().err
    store = open_store(read_study("study.yaml"))
    assert sorted(len(one.images) for one in answer_all(store, add_person(store, "a").id)) == [1, 2]
    assert {vote.model for vote in iterate_votes(read_records(store))} == {"x", "y"}
    store.close()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("images/0-sdxl.png", None, "image 0-sdxl.png: "),
        ("images/3-sdxl.png", b"P6 8 6 255 ", "image 3-sdxl.png: damaged file"),
        ("prompts.csv", b"prompt,image,training,expected\na,0-sdxl.png,1,9\n", "line 2: "),
    ],
)
def test_invalid_inputs_are_one_line_and_write_nothing(folder, capsys, name, content, message):
    (folder / name).unlink()
    if content:
        (folder / name).write_bytes(content)
    before = sorted(folder.rglob("*"))
    assert init_study(study="new/study.yaml") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error, error
    assert sorted(folder.rglob("*")) == before
