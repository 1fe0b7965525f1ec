"""`pqpp generate` from shard to shard: the images of one run, refusals as rows, kills."""

import json
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import draw

from pqpp_cli.main import main
from pqpp_engines.errors import EngineError
from pqpp_engines.generate import GeneratedImage, Generator, generate
from pqpp_engines.generate.run import GenerationJob

COMMAND = f"{draw.COMMAND} no"


class Drawn(Generator):
    """A colour a seed; refuses prompts that ask for it."""

    name, settings = "drawn", {"steps": 1}

    def generate(self, wanted):
        from PIL import Image

        if any("refuse" in one.prompt for one in wanted):
            raise EngineError("it is refused", refuses_image=True)
        by_rule = {"refused": "by a rule"}
        return [
            GeneratedImage(None, True, by_rule) if "rule" in one.prompt
            else GeneratedImage(Image.new("RGB", (8, 8), (one.seed % 251, 0, 0)), False)
            for one in wanted
        ]  # fmt: skip


def contents(folder):
    found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}
    assert not any("pqpp-" in name for name in found)
    return found


@pytest.fixture
def prompts(tmp_path):
    texts = [f"a photo of {n} dogs" for n in range(11)]
    texts[4], texts[7] = None, "no dog"
    table = pa.table({"caption": texts})
    pq.write_table(table.slice(0, 6), tmp_path / "a.parquet")
    pq.write_table(table.slice(6), tmp_path / "b.parquet")
    return tmp_path / "*.parquet"


def words(prompts, output, *more):
    usual = {"--command": COMMAND, "--model-name": "drawn", "--file": str(prompts),
             "--column": "caption", "--images-per-prompt": "1"}  # fmt: skip
    kept = [word for option in usual.items() if option[0] not in more for word in option]
    return ["generate", *kept, "--shard-size", "3", "--output", str(output), *more]


@pytest.mark.daily
def test_killed_at_any_time_and_with_workers_it_ends_alike(prompts, tmp_path, capsys):
    assert main(words(prompts, tmp_path / "whole")) == 0
    said = capsys.readouterr().err
    assert "4 of 4 shards" in said and "(11 rows)" in said and "(column `error`): 2" in said
    cut = tmp_path / "cut"
    for wanted in (1, 5):
        command = [sys.executable, "-m", "pqpp_cli.main", *words(prompts, cut)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(cut.rglob("drawn*.png"))) < wanted:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    made = {path: path.stat().st_mtime_ns for path in cut.rglob("drawn*.png")}
    assert main(words(prompts, cut)) == 0
    assert contents(cut) == contents(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == time for path, time in made.items())


def test_shards_hold_the_images_of_a_run_without(tmp_path):
    rows = [{"prompt_id": f"p{n}", "prompt": f"a photo of {n}"} for n in range(7)]
    generate(Drawn(), rows, tmp_path / "one", 2)
    found = GenerationJob(Drawn, str(tmp_path / "two"))(pa.Table.from_pylist(rows)).to_pylist()
    images = {
        name: one for name, one in contents(tmp_path / "one").items() if "metadata" not in name
    }
    assert contents(tmp_path / "two") == images
    for row in found:
        path = (tmp_path / "two/images" / row["file_name"]).with_suffix(".json")
        told = json.loads(path.read_text())
        assert row.pop("error") is None and row.pop("file_name")
        assert row == {name: told[name] for name in row}
    again = GenerationJob(Drawn, str(tmp_path / "two"))(pa.Table.from_pylist(rows))
    assert again["sha256"].to_pylist() == [row["sha256"] for row in found]


def test_what_is_refused_is_a_row_and_ends_nothing(tmp_path):
    texts = ["a cat", "refuse it", "a rule", " ", "a dog", "a cow"]
    table = pa.table({"prompt_id": ["a", "b", "c", "d", "../e", "a"], "prompt": texts})
    found = GenerationJob(Drawn, str(tmp_path), 1, batch_size=4)(table).to_pylist()
    assert [row["error"] for row in found] == [
        None,
        "it is refused",
        "by a rule",
        "the prompt is blank",
        "the prompt_id '../e' cannot be a folder name",
        "duplicate prompt_id a",
    ]
    assert [one.name for one in tmp_path.rglob("*.png")] == ["drawn_0.png"]
