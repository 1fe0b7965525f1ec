"""`pqpp datasets` and `pqpp build`."""

import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from support.benchmark_folders import write_conqa
from support.rated_folders import WRITERS

from pqpp_cli.main import main


@pytest.fixture(autouse=True)
def _cache(cache):
    return cache


def test_datasets_list_and_show(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("pqpp_hub.pull.is_offline", lambda: True)
    assert main(["datasets", "list"]) == 0
    output = capsys.readouterr().out
    assert "pqpp (default)" in output and "222,619" in output
    assert "conceptual 50, descriptive 30" in output
    for name in ("pqpp", "conqa", "richhf", "gimbrr-automated", "vistar", "sample", *WRITERS):
        assert main(["datasets", "show", name]) == 0
        output = capsys.readouterr().out
        assert output.startswith(name) and "\nsplit " in output and "\ncolumn" in output
    assert main(["datasets", "show", "nope"]) == 2
    assert "not found; choose one of pqpp," in capsys.readouterr().err
    (tmp_path / "README.md").symlink_to(__file__)
    assert main(["datasets", "show", str(tmp_path)]) == 2


def test_datasets_export(tmp_path, capsys):
    data = write_conqa(tmp_path / "data")
    command = ["datasets", "export", "conqa", "--data-dir", str(data), "--output"]
    out = str(tmp_path / "out")
    assert main([*command, out, "--load-option", "relevance_rule=any"]) == 0
    assert "conqa conceptual: 1 rows" in capsys.readouterr().out
    assert sum(load_dataset(out, split="conceptual")[0]["judgments"]["label"]) == 3
    assert main([*command, out]) == 2 and "set --overwrite" in capsys.readouterr().err
    assert main([*command, out, "--overwrite"]) == 0
    assert main([*command, out, "--load-option", "relevance_rule"]) == 2
    assert "write NAME=VALUE" in capsys.readouterr().err
    assert main([*command, str(data), "--overwrite"]) == 2
    error = capsys.readouterr().err
    assert "contains other files" in error and error.count("\n") == 1


def test_datasets_select(tmp_path, capsys):
    pytest.importorskip("faiss")
    (tmp_path / "captions.txt").write_text("".join(f"caption {n}\n" for n in range(6)))
    np.save(tmp_path / "e.npy", np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]))
    command = ["datasets", "select", str(tmp_path / "captions.txt"), "--count", "2"]
    assert main([*command, "--embeddings", str(tmp_path / "e.npy")]) == 0
    assert capsys.readouterr().out == "caption 1\ncaption 4\n"
    assert main([*command, "--embeddings", str(tmp_path / "e.npy"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0] == {"row": 1, "prompt": "caption 1"}
    assert main(command) == 2
    assert "one of --embeddings, --encoder" in capsys.readouterr().err


PAGE = Path(__file__).parents[2] / "benchmarks" / "own_benchmark.md"
COMMANDS = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("pqpp build ")]
ROWS = {"gimbrr": 2102, "tia2": 300, "tia2_counting": 150, "genai": 527, "genai_lists": 527}
ROWS |= {"agiqa": 300, "agiqa_table": 300}


@pytest.mark.parametrize("line", COMMANDS, ids=list(ROWS))
def test_page_commands_build_the_stated_rows(real_data, tmp_path, monkeypatch, capsys, line):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line.replace("$DATA", str(real_data)))[1:]
    name = words[words.index("--output") + 1]
    assert main(words) == 0 and "written: " in capsys.readouterr().out
    splits = Path(name, "data").glob("*.parquet")
    assert sum(pq.read_metadata(path).num_rows for path in splits) == ROWS[name.removeprefix("my_")]


ANNOTATORS = ("ann", "bob", "cy", "dora", "eve", "fay", "gus", "hal")


def test_pseudonym_key_makes_builds_reproducible(tmp_path, capsys):
    rows = [
        f"caption {n},{n}.png,sdxl,{a},{(n + len(a) + ord(a[0])) % 4 - 1},mscoco\n"
        for n in range(10)
        for a in ANNOTATORS
    ]
    votes = tmp_path / "votes.csv"
    votes.write_text("prompt,image,model,annotator,label,source\n" + "".join(rows))
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "other").write_bytes(bytes(32))

    def build(name, *more):
        assert main(["build", str(votes), "--output", str(tmp_path / name), *more]) == 0
        return {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }

    by_key = ("--pseudonym-key", str(tmp_path / "key"))
    first = build("a", *by_key)
    assert "random numbers" not in capsys.readouterr().err
    assert build("b", *by_key) == first
    assert build("c", "--pseudonym-key", str(tmp_path / "other")) != first
    assert len({tuple(build(f"d{n}").values()) for n in range(4)}) > 1
    assert "annotators' numbers are random" in capsys.readouterr().err
    names = load_dataset(str(tmp_path / "a"), "votes", split="train")["annotator"]
    assert {*names} == {*range(1, 9)}
    (tmp_path / "key").write_bytes(b"short")
    assert main(["build", str(votes), "--output", str(tmp_path / "e"), *by_key]) == 2
    assert "expected at least 16 random bytes, got 5" in capsys.readouterr().err
