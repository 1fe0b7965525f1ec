"""The learning check's own arithmetic, and what it trains anew."""

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.tiny_models import load_script


@pytest.fixture
def learning():
    return load_script("rahf_learning", "benchmarks")


def best(learning, probabilities, labels):
    judged = [SimpleNamespace(probabilities=one) for one in probabilities]
    return learning.best_f1(judged, labels)


def test_the_best_threshold_does_not_part_equal_probabilities(learning):
    # Two marked words among four of one probability: all or none, 2 * 2 / (4 + 2).
    assert best(learning, [[0.3, 0.3], [0.3, 0.3]], [[0, 1], [1, 0]]) == pytest.approx(200 / 3)
    # The one of .9 alone: 2 * 1 / (1 + 2); with the two of .5: 2 * 2 / (3 + 2).
    assert best(learning, [[0.5, 0.9, 0.5]], [[0, 0, 1]]) == pytest.approx(80)


def test_words_that_were_not_looked_at_are_never_marked(learning):
    assert best(learning, [[0.4, math.nan]], [[1, 0]]) == 0
    assert best(learning, [[0.4, math.nan]], [[0, 0]]) == pytest.approx(200 / 3)


def test_a_changed_recipe_is_trained_anew(learning, tmp_path, monkeypatch):
    took = {"seconds": 1.0, "cpu_seconds": 1.0, "recipe": learning.recipe_id("all")}
    (tmp_path / "times.json").write_text(json.dumps({"all": took, "prompt only": took}))
    # The ablation's is not that of the model that sees all.
    assert list(learning.read_times(tmp_path)) == ["all"]
    changed = tmp_path / "recipe.yaml"
    changed.write_bytes(learning.RECIPE.read_bytes() + b"epochs: 8\n")
    monkeypatch.setattr(learning, "RECIPE", changed)
    assert learning.read_times(tmp_path) == {}


def test_the_page_says_where_it_was_measured(learning, monkeypatch):
    pytest.importorskip("torch", reason="the versions are those of torch and transformers")
    for name in learning.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(learning.os, "cpu_count", lambda: 7)
    assert learning.circumstances() == "7 CPU(s), no variable about threads set"
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    text = learning.about_times({"all": {"circumstances": "2 CPU(s), a"}, "b": {}}, "Noisy.")
    assert "Trained on: 2 CPU(s), a; not recorded. Measured on: 7 CPU(s), OMP_NUM_THREADS=3" in text
    assert text.endswith("included. Noisy.")


def test_without_a_model_a_line_says_how_to_train_one_and_how_long(learning, tmp_path, capsys):
    from pqpp_cli.main import main

    minutes = f"in {learning.CPU_MINUTES} CPU minutes"
    assert main(["assess", "rahf", "--image-dir", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "`make gallery` trains a small one on generated scenes " + minutes in line
    root = Path(__file__).parents[3]
    target = re.search(r"^gallery:.*\n.*", (root / "Makefile").read_text(), re.MULTILINE)[0]
    assert minutes in target and "rahf_learning.py --only all" in target
    page = " ".join((root / "docs" / "rahf.md").read_text("utf-8").split())
    assert f"how long that takes: {learning.CPU_MINUTES} CPU minutes" in page


def test_a_gallery_of_test_scenes_is_written_with_their_prompts(learning, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="needs the extra `models`")
    pytest.importorskip("transformers", reason="needs the extra `models`")
    from support.richhf_scenes import make_scene, write_scenes
    from support.tiny_rahf import tiny_feedback

    from pqpp_feedback.assess.verdicts import read_verdicts

    monkeypatch.setattr(learning, "SHOWN", 3)
    write_scenes(tmp_path / "scenes", {"test": 4}, misaligned=1.0)
    tiny_feedback().save_pretrained(tmp_path / "all" / "model")
    learning.write_gallery(tmp_path, tmp_path / "gallery.html")
    page = (tmp_path / "gallery.html").read_text("utf-8")
    assert page.count("<article") == 3 and page.count("data:image/jpeg;base64") == 3
    rows = list(read_verdicts(tmp_path / "verdicts.parquet"))
    prompts = [make_scene(0, number, misaligned=1.0).prompt for number in range(3)]
    assert [row["prompt"] for row in rows] == prompts
