"""`pqpp bench richhf`: tables, notes and an unknown split."""

import json

import pytest

torch = pytest.importorskip("torch", reason="RAHF needs torch")
pytest.importorskip("PIL", reason="images need pillow")

from support.richhf_scenes import write_scenes  # noqa: E402
from support.tiny_rahf import make_feedback  # noqa: E402

from pqpp_feedback.rahf.bench import read_published  # noqa: E402


@pytest.fixture
def scenes(tmp_path, cache):
    return write_scenes(tmp_path / "scenes", {"train": 12, "validation": 6, "test": 4})


def test_bench_command_prints_four_tables(scenes, tmp_path, capsys):
    from transformers.utils import logging

    from pqpp_cli.main import main

    saved = make_feedback().save_pretrained(tmp_path / "mine")
    words = ["bench", "richhf", "--models", str(saved)]
    words += ["--data-dir", str(scenes / "richhf")]
    words += ["--pickapic-dir", str(scenes / "pickapic"), "--limit", "3", "--split", "test"]
    logging.enable_progress_bar()
    assert main(words) == 0
    assert not logging.is_progress_bar_enabled()  # standard error is not a terminal
    text = capsys.readouterr().out
    for title in ("Scores:", "Implausibility heatmap:", "Misalignment heatmap:", "Misaligned key"):
        assert title in text
    assert "RAHF (multi-head) (published)" in text and str(saved) in text
    rows = "rows: richhf, test split, 3 images, not the published files"
    assert rows in text and "CVPR 2024" in text
    assert main([*words, "--format", "json", "--no-published"]) == 0
    results = json.loads(capsys.readouterr().out)
    names = read_published()["tables"]
    assert [len(results["tables"][name]["rows"]) for name in names] == [1, 1, 1, 1]
    assert results["notes"] == [rows]
    assert main([*words[:-1], "dev"]) == 2
    assert "--split is 'dev'; choose one of train, validation, test" in capsys.readouterr().err
