"""A study of the prompts and images that Label Studio or Argilla has."""

import json

import pytest
from PIL import Image
from sqlalchemy import select

from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.tables import Item, ItemImage
from pqpp_annotation.study import read_study
from pqpp_cli.main import main

RECORDS = {
    "label-studio": [
        {"id": n, "data": {"text": f"a cat {n}", "image": f"/data/upload/{n}.png"}} for n in (1, 2)
    ],
    "argilla": [
        {"id": str(n), "fields": {"prompt": f"a cat {n}", "image": f"{n}.png"}, "responses": {}}
        for n in (1, 2)
    ],
}


@pytest.mark.parametrize("tool", RECORDS)
def test_a_study_of_another_tools_records(tmp_path, tool, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").mkdir()
    for number in (1, 2):
        Image.new("RGB", (8, 6)).save(tmp_path / "images" / f"{number}.png")
    (tmp_path / "export.json").write_text(json.dumps(RECORDS[tool]))
    words = ["annotate", "init", "study.yaml", "--file", "export.json", "--from", tool]
    assert main([*words, "--image-dir", "images", "--kind", "rating"]) == 0
    store = open_store(read_study("study.yaml"))
    with store.reading() as db:
        found = db.execute(select(Item.prompt, ItemImage.image).join(ItemImage)).all()
    store.close()
    assert sorted(map(tuple, found)) == [("a cat 1", "1.png"), ("a cat 2", "2.png")]
