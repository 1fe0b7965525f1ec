"""The page of speed ratios is what its script makes of the history, which only grows by rows."""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def history(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    with mock.patch.dict(os.environ):  # which some scripts change
        yield import_module("speed_history")
    for path in FOLDER.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_the_page_is_what_the_history_gives(history):
    assert (FOLDER / "speed.md").read_text("utf-8") == history.page(history.read())


def test_every_row_tells_its_run(history):
    rows = history.read()
    assert len(rows) >= 20
    for row in rows:
        assert row["our_seconds"] > 0 and row["task"] and row["peer"]
        assert {"date", "commit", "pqpp", "python", "numpy", "machine", "load"} <= set(row)


def test_a_table_is_kept_where_it_is_asked_for(history, tmp_path, monkeypatch, capsys):
    from metrics_timing import Row, print_table

    path = tmp_path / "history.jsonl"
    print_table([Row("one", "peer 1.0", 0.5, 0.25, aim=1.5)])  # not asked: nothing is kept
    monkeypatch.setenv("SPEED_HISTORY", str(path))
    print_table([Row("one", "peer 1.0", 0.5, 0.25, aim=1.5), Row("two", "none", None, 0.01)])
    print_table([Row("one", "peer 1.0", 1.0, 0.25, aim=1.5, floor_seconds=0.002)])
    assert len(path.read_text().splitlines()) == 3
    lines = history.page(history.read(path)).splitlines()
    # Of one run the last figure of a comparison stands: 1 s over .25 s.
    assert lines[-2:] == [
        "| one | peer 1.0 | 1e+03 | 250 | 4.00 | 1.5 | 2 |",
        "| two | none | - | 10 | - |  |  |",
    ]


def test_the_newest_run_stands_first(history):
    run = {name: "x" for name in ("commit", "pqpp", "python", "numpy", "machine")}
    row = {"task": "t", "peer": "p", "peer_seconds": 2.0, "our_seconds": 1.0, "aim": None}
    rows = [run | row | {"date": date, "load": 1.0} for date in ("2026-01-01", "2026-02-01")]
    found = history.page([json.loads(json.dumps(one)) for one in rows])
    assert found.index("## 2026-02-01") < found.index("## 2026-01-01")


@pytest.fixture
def rows_of(history, tmp_path, monkeypatch):
    """Run a benchmark's main, and return the rows that it kept."""

    def run(name, *words):
        path = tmp_path / f"{name}.jsonl"
        monkeypatch.setenv("SPEED_HISTORY", str(path))
        monkeypatch.setattr(sys, "argv", [name, *words])
        import_module(name).main()
        return history.read(path)

    return run


def test_every_script_of_make_bench_keeps_its_rows():
    makefile = (FOLDER.parent / "Makefile").read_text("utf-8").splitlines()
    (line,) = (one for one in makefile if "for script in" in one)
    patterns = line.split(" in ")[1].split(";")[0].split()
    scripts = [path for one in patterns for path in FOLDER.parent.glob(one)]
    assert len(scripts) >= 7
    assert [path.name for path in scripts if "print_table(" not in path.read_text("utf-8")] == []


def test_predictions_are_kept_beside_a_bare_interpreter(rows_of, monkeypatch):
    monkeypatch.setattr(import_module("predict_speed"), "best_of_five", lambda words: len(words))
    rows = {row["task"]: row for row in rows_of("predict_speed", "--prompts", "20")}
    cold = rows["cold process, pqpp predict, CPU time"]
    assert (cold["peer_seconds"], cold["our_seconds"]) == (3, 5)
    assert rows["predict 20 prompts, targets: 1, CPU time"]["peer_seconds"] is None
    assert sum(task.startswith("explain") for task in rows) == 5


def test_assessments_are_kept_by_task_and_routine(rows_of):
    rows = rows_of("assess_speed", "--images", "2")
    assert len({row["task"] for row in rows}) == 5
    assert all(row["peer"] == "none" and row["our_seconds"] > 0 for row in rows)


def test_searches_are_kept_beside_faiss(rows_of):
    faiss = pytest.importorskip("faiss")
    few = ["--images", "400", "--size", "8", "--queries", "3", "--factories", "Flat"]
    (row,) = rows_of("engines_index", *few)
    assert row["task"] == "Flat, 400 x 8, 3 queries, CPU time"
    assert faiss.__version__ in row["peer"] and row["peer_seconds"] > 0


def test_rates_are_kept_as_seconds_beside_the_plain_way(history):
    table = [
        ("prediction, transformers pipeline", 8, 50.0, 1.0),
        ("prediction, pqpp", 64, 200.0, 4),
    ]
    (row,) = import_module("training_speed").kept(table, 1000)
    assert row.task == "prediction, pqpp, 1,000 prompts, CPU time"
    assert row.peer.startswith("transformers ") and row.peer.endswith(" pipeline")
    assert (row.peer_seconds, row.our_seconds) == (20, 5)


def test_turns_are_kept_as_middles_of_wall_and_cpu(history):
    turns = {"torch": [[4, 8], [6, 10], [40, 9]], "onnx": [[2, 3], [1, 3], [3, 3]]}
    found = {way: np.array(times, dtype=float) for way, times in turns.items()}
    wall, cpu = import_module("onnx_speed").rows_of("alone", found, 1000)
    assert (wall.peer_seconds, wall.our_seconds) == (6, 2)
    assert (cpu.peer_seconds, cpu.our_seconds) == (9, 3)
    assert cpu.task == "eight-bit ONNX, 1,000 prompts, alone, CPU time"
