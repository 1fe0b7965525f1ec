"""`pqpp predict` with shards."""

import os
import subprocess
import sys
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqpp_cli.main import main


@pytest.fixture
def prompts(tmp_path):
    texts = [f"a photo of {n} dogs" for n in range(400)]
    texts[7], texts[9] = None, " "
    path = tmp_path / "prompts.parquet"
    pq.write_table(pa.table({"caption": texts, "id": [str(n) for n in range(400)]}), path)
    return path


def make_command(prompts, output, *more):
    return ["predict", "--file", str(prompts), "--column", "caption", "--targets", "mean_hbpp",
            "--output", str(output), "--shard-size", "20", *more]  # fmt: skip


def read_outputs(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".parquet"}


def test_shards_equal_the_output_without_shards(prompts, tmp_path):
    assert main(make_command(prompts, tmp_path / "out", "--verdict")) == 0
    rows = pq.read_table(tmp_path / "out")
    valid = rows.filter(pa.compute.is_null(rows["error"]))
    assert valid.num_rows == 398
    pq.write_table(valid.select(["caption", "id"]), tmp_path / "good.parquet")
    words = ["predict", "--file", str(tmp_path / "good.parquet"), "--column", "caption",
             "--targets", "mean_hbpp", "--output", str(tmp_path / "p.parquet")]  # fmt: skip
    assert main([*words, "--verdict"]) == 0
    for name in ("mean_hbpp", "id", "verdict"):
        assert valid[name].to_pylist() == pq.read_table(tmp_path / "p.parquet")[name].to_pylist()
    errors = rows["error"].to_pylist()
    assert errors[7] == "the prompt is missing" and errors[9] == "the prompt is blank"


def test_output_does_not_depend_on_threads_and_workers(prompts, tmp_path):
    for threads, workers in (("1", "1"), ("4", "1"), ("4", "2")):
        output = tmp_path / (threads + workers)
        words = make_command(prompts, output, "--workers", workers, "--uncertainty")
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-m", "pqpp_cli.main", *words], check=True, env=environment)
        assert read_outputs(output) == read_outputs(tmp_path / "11")


def test_invalid_shard_options_are_one_line(prompts, capsys):
    file = str(prompts)
    for words, message in (
        (["a cat", "--workers", "2", "--output", "out"], "remove "),
        (["--file", file, "--shard", "0/3", "--output", file], "is a file"),
    ):
        assert main(["predict", *words]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


def test_an_interrupted_job_says_how_to_continue(prompts, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pqpp_files.shards.run_shards", Mock(side_effect=KeyboardInterrupt))
    assert main(make_command(prompts, tmp_path / "out")) == 130
    assert "run the same command again" in capsys.readouterr().err
