"""One job: images of two models, verdicts and predictions, as the commands give them one by one."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import fsspec
import pyarrow.parquet as pq
import pytest
from support.draw import COMMAND
from support.made_assessor import Redness

from pqpp_cli.main import main
from pqpp_engines.errors import GenerateError
from pqpp_engines.generate import CommandGenerator
from pqpp_engines.generate.shards import GenerateShard
from pqpp_engines.run import RunShard
from pqpp_feedback.assess.run import AssessShard
from pqpp_files.shards import ShardStore, find_shards, run_shards
from pqpp_models.predict import predict


@pytest.fixture
def prompts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "p0,a red cat,t\np1,,t\np2,two dogs,t\np3,a boat,t\n"
    (tmp_path / "p.csv").write_text(f"prompt_id,prompt,task\n{rows}")
    return tmp_path / "p.csv"


def table(folder):
    return pq.read_table(folder).to_pylist()


def test_the_table_has_what_the_commands_give_and_goes_on_after_a_kill(prompts, tmp_path, capsys):
    models = [{"model_name": "one", "images_per_prompt": 2}, {"model_name": "two"}]
    told = {
        "prompts": "p.csv",
        "output": "study",
        "generate": [{"command": COMMAND, "images_per_prompt": 1, **model} for model in models],
        "predict": {"targets": "mean_hbpp,alignment"},
    }
    (tmp_path / "run.yaml").write_text(json.dumps(told))  # which is YAML
    words = ["run", "run.yaml", "--shard-size", "2"]
    assert main(words) == 0
    assert "generate one: 7 rows" in capsys.readouterr().err
    rows = table("study/table")
    assert [(row["prompt_id"], row["model"], row["index"]) for row in rows[:4]] == [
        ("p0", "one", 0), ("p0", "one", 1), ("p1", "one", None), ("p0", "two", 0)]  # fmt: skip
    assert len(rows) == 11 and sum(row["file_name"] is not None for row in rows) == 9
    assert {row["error"] for row in rows if row["prompt_id"] == "p1"} == {
        "generate one: the prompt is blank",
        "generate two: the prompt is blank",
    }
    expected = dict(zip(("p0", "p2", "p3"),
                        predict(["a red cat", "two dogs", "a boat"], "mean_hbpp")["mean_hbpp"],
                        strict=True))  # fmt: skip
    for row in rows:
        if row["prompt_id"] != "p1":
            assert row["mean_hbpp"] == pytest.approx(expected[row["prompt_id"]], abs=2e-6)
    whole = {path.name: path.read_bytes() for path in (tmp_path / "study/table").iterdir()}
    (tmp_path / "study/table/part-00001-of-00002.parquet").unlink()
    assert main(words) == 0
    again = {path.name: path.read_bytes() for path in (tmp_path / "study/table").iterdir()}
    assert again == whole
    assert main(["generate", "--command", COMMAND, "--model-name", "one", "--file", "p.csv",
                 "--output", "alone", "--shard-size", "4"]) == 0  # fmt: skip
    for path in (tmp_path / "alone/images").glob("*/*.png"):
        assert (tmp_path / "study/images" / path.parent.name / path.name).read_bytes() == (
            path.read_bytes()
        )


class Broken(CommandGenerator):
    """Makes none."""

    def make(self, wanted):
        raise GenerateError("no memory")


def test_a_stage_that_fails_ends_no_other_and_no_image_that_was_made_is_read(prompts, monkeypatch):
    read = []
    real = ShardStore.read
    monkeypatch.setattr(ShardStore, "read", lambda s, name: read.append(name) or real(s, name))
    files = fsspec.filesystem("memory")
    for place in ("out", "memory://out"):
        makers = [
            GenerateShard(lambda name=name, kind=kind: kind(COMMAND, name), place, 1)
            for name, kind in (("good", CommandGenerator), ("broken", Broken))
        ]
        job = RunShard(makers, {"redness": AssessShard(lambda: [Redness()], "nowhere")})
        run_shards(job, find_shards("p.csv"), f"{place}/table", {})
        assert not [name for name in read if name.endswith(".png")]
    rows = {(row["prompt_id"], row["model"]): row for row in table("out/table")}
    good, broken = rows["p0", "good"], rows["p0", "broken"]
    assert good["error"] is None and good["redness_score"] is not None
    assert broken["error"] == "generate broken: no memory" and broken["redness_score"] is None
    assert len(rows) == 8
    (part,) = Path("out/table").glob("part-*")
    stored = files.cat(f"/out/table/{part.name}")
    assert stored == part.read_bytes() and len(files.find("/out/images")) == 6
    files.rm(f"/out/table/{part.name}")
    run_shards(job, find_shards("p.csv"), "memory://out/table", {})  # images are there, and read
    here, there = (
        AssessShard(lambda: [Redness()], f"{place}/images")(find_shards("p.csv")[0].read())
        for place in ("out", "memory://out")
    )
    assert here.equals(there) and here["score"].null_count == 1  # of the blank prompt
    assert files.cat(f"/out/table/{part.name}") == stored and "images/p0/good_0.png" in read
    files.store.clear()


@pytest.mark.slow
def test_a_job_of_tiny_models_that_is_killed_twice_ends_with_the_same_bytes(tmp_path, monkeypatch):
    pytest.importorskip("diffusers")
    from support.tiny_rahf import diffusion_xl, tiny_feedback

    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        diffusion_xl().save_pretrained(name)
    tiny_feedback().save_pretrained("rahf")
    rows = [f"p{number},{number} dogs on a couch" for number in range(50)]
    (tmp_path / "p.csv").write_text("\n".join(["prompt_id,prompt", *rows]))
    size = {"num_inference_steps": 1, "height": 16, "width": 16, "images_per_prompt": 1}
    stages = {"prompts": "p.csv", "predict": {"targets": "mean_hbpp"},
              "generate": [{"model": name, "device": "cpu", **size} for name in ("one", "two")],
              "assess": {"rahf": {"model": "rahf", "device": "cpu"}}}  # fmt: skip
    for place in ("whole", "killed"):
        (tmp_path / f"{place}.yaml").write_text(json.dumps(stages | {"output": place}))
    line = [sys.executable, "-m", "pqpp_cli", "run", "killed.yaml", "--shard-size", "5"]
    for count in (2, 5):
        process = subprocess.Popen(line)
        while len(list(Path().glob("killed/table/part-*"))) < count and process.poll() is None:
            time.sleep(0.05)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    for place in ("whole", "killed"):
        assert main(["run", f"{place}.yaml", "--shard-size", "5"]) == 0
    whole, killed = (
        {
            path.relative_to(place).as_posix(): path.read_bytes()
            for path in Path(place).rglob("[!.]*")
            if path.is_file()
        }
        for place in ("whole", "killed")
    )
    assert killed == whole and sum(name.endswith(".png") for name in whole) == 100


def test_pipelines_that_cannot_be(prompts, tmp_path, capsys):
    for text, said in (
        ("prompts: p.csv\noutput: out\n", "generate is missing"),
        ("prompts: p.csv\noutput: out\ngenerate: []\ntrain: {}\n", "train is not a part of it"),
        ("prompts: p.csv\noutput: out\ngenerate: [{model: x, colour: red}]\n", "colour"),
    ):
        (tmp_path / "run.yaml").write_text(text)
        assert main(["run", "run.yaml"]) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1
