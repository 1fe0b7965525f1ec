"""`annotate init --dataset` writes images next to the study."""

import io
import json
from pathlib import Path

import datasets
from PIL import Image
from support.two_runs import delay_writes, run_at_once

from pqpp_annotation.study import sources
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


def test_two_runs_do_not_mix_their_images(tmp_path, monkeypatch):
    def write_rows(width):
        cell = {"bytes": None, "path": str(tmp_path / f"{width}.png")}
        Image.new("RGB", (width, 6)).save(cell["path"])
        rows = datasets.Dataset.from_dict({"prompt": [str(width)] * 3, "image": [cell] * 3})
        rows = rows.cast_column("image", datasets.Image())
        return sources.write_prompt_table(rows, tmp_path / "images")

    delay_writes(monkeypatch, sources, "write_file", lambda *_: 0.1)
    lines = "".join(table.read_text() for table in run_at_once(write_rows, 8, 9))
    rows = [json.loads(line) for line in lines.splitlines()]
    assert len({row["image"] for row in rows}) == 6
    for row in rows:
        assert Image.open(tmp_path / "images" / row["image"]).width == int(row["prompt"])
