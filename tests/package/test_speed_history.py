"""The page of speed ratios is what its script makes of the history, which only grows by rows."""

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def history(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import speed_history

    yield speed_history
    for name in ("speed_history", "metrics_timing"):
        sys.modules.pop(name, None)


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
    print_table([Row("one", "peer 1.0", 1.0, 0.25, aim=1.5)])
    assert len(path.read_text().splitlines()) == 3
    lines = history.page(history.read(path)).splitlines()
    # Of one run the last figure of a comparison stands: 1 s over .25 s.
    assert lines[-2:] == [
        "| one | peer 1.0 | 1e+03 | 250 | 4.00 | 1.5 |",
        "| two | none | - | 10 | - |  |",
    ]


def test_the_newest_run_stands_first(history):
    run = {name: "x" for name in ("commit", "pqpp", "python", "numpy", "machine")}
    row = {"task": "t", "peer": "p", "peer_seconds": 2.0, "our_seconds": 1.0, "aim": None}
    rows = [run | row | {"date": date, "load": 1.0} for date in ("2026-01-01", "2026-02-01")]
    found = history.page([json.loads(json.dumps(one)) for one in rows])
    assert found.index("## 2026-02-01") < found.index("## 2026-01-01")
