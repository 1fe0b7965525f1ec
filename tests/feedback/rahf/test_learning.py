"""The learning check's own arithmetic, and what it trains anew."""

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
