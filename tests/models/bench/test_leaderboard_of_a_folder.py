"""Leaderboards of downloaded folders: results are checked, and no code is run."""

import os
import sys

import pytest

from pqpp_cli.main import main
from pqpp_datasets.export.export import export
from pqpp_hub import eval_results as hub
from pqpp_hub.push import HubError

TASK = hub.BenchmarkTask("sample", "test", "mean_hbpp")


@pytest.fixture
def write_result(tmp_path):
    def write(name, value, task=TASK, **options):
        path = tmp_path / "results" / name / hub.get_results_path("owner/toy")
        path.parent.mkdir(parents=True)
        path.write_text(hub.render_results([hub.make_entry(task, "owner/toy", value, **options)]))
        return tmp_path / "results"

    return write


def test_folder_named_like_function_is_not_run(write_result, tmp_path, monkeypatch, capsys):
    export(["sample"], tmp_path / "toy")
    (tmp_path / "evil.py").write_text("print('it ran')\ndef go(prompts): return [1] * 80\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    source = write_result("evil:go", 0.9)
    assert main(["leaderboard", str(source), "--dataset", "toy", "--verify"]) == 0
    output = capsys.readouterr()
    assert "it ran" not in output.out and "evil" not in sys.modules
    assert "evil:go is not verified: its path evil:go has a colon" in output.err


def test_rejects_pipes_and_outside_links(write_result, tmp_path, capsys):
    source = write_result("mine", 0.4)
    path = source / "mine" / hub.get_results_path("owner/toy")
    os.mkfifo(path.with_name("pipe.yaml"))
    assert main(["leaderboard", str(source)]) == main(["leaderboard", "nothere"]) == 2
    assert "nothere is neither a folder nor OWNER/DATASET" in capsys.readouterr().err
    path.with_name("pipe.yaml").unlink()
    assert main(["leaderboard", str(source)]) == 0
    path.symlink_to(path.rename(tmp_path / "mine.yaml"))
    assert main(["leaderboard", str(source)]) == 2


@pytest.mark.parametrize("value", [float("nan"), 1.5])
def test_ignores_impossible_kendall_values(value, write_result, capsys):
    write_result("honest", 0.4, notes="kendall_qpp 0.4 [0.3, 0.5]; n 80")
    assert main(["leaderboard", str(write_result("cheat", value))]) == 0
    output = capsys.readouterr()
    assert "cheat" not in output.out and "cheat: .eval_results/owner--toy.yaml has no" in output.err


def test_shows_results_without_notes(write_result, tmp_path, capsys):
    write_result("by_hand", 0.25)
    task = hub.BenchmarkTask("sample", "test", "mean_p10")
    path = tmp_path / "results" / "by_hand" / hub.get_results_path("owner/toy")
    added = hub.render_results([hub.make_entry(task, "owner/toy", 0.35)])
    path.write_text(path.read_text() + added)
    page = tmp_path / "page.html"
    assert main(["leaderboard", str(tmp_path / "results"), "--report", str(page)]) == 0
    assert "<title>Leaderboard of owner/toy: sample, test split</title>" in page.read_text("utf-8")
    lines = capsys.readouterr().out.splitlines()
    assert "mean over all 2 columns, Pearson / Kendall: by_hand – / 0.300" in lines
    assert not any("†" in line for line in lines)  # p-values are unknown
    assert "rows: sample, test split" in lines and any("0.250" in line for line in lines)
    assert "– by_hand: only one coefficient is given or defined" in lines
    assert not any("n = 0" in line or "all predictions are equal" in line for line in lines)


@pytest.mark.parametrize("tasks", ["5", "[1, {id: [2]}]"])
def test_rejects_malformed_tasks(tasks, tmp_path):
    (tmp_path / "eval.yaml").write_text(f"name: toy\ntasks: {tasks}\n")
    with pytest.raises(HubError, match=r"no eval\.yaml with pqpp tasks"):
        hub.load_tasks(str(tmp_path))
