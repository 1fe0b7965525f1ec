"""`annotate init --dataset` writes images next to the study."""

import io
from pathlib import Path

import datasets
from PIL import Image

from pqpp_cli.main import main


def test_init_and_add_replace_no_image(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for prompt, *words in (["cat"], ["wild dog", "--add"]):
        file = io.BytesIO()
        Image.new("RGB", (8, 6), (len(prompt), 0, 0)).save(file, "PNG")
        image = {"bytes": file.getvalue(), "path": "a.png"}
        rows = datasets.Dataset.from_dict({"prompt": [prompt], "image": [image]})
        Path(prompt).mkdir()
        rows.cast_column("image", datasets.Image()).to_parquet(f"{prompt}/train.parquet")
        before = {path: path.read_bytes() for path in tmp_path.glob("study-images/*")}
        assert main(["annotate", "init", "study.yaml", "--dataset", prompt, *words]) == 0
        after = {path: path.read_bytes() for path in tmp_path.glob("study-images/*")}
        assert len(after) == len(before) + 2 and after.items() >= before.items()
    assert "added 1 items" in capsys.readouterr().out
