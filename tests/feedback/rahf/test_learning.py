"""The learning check's own arithmetic, and what it trains anew."""

import json
import math
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
