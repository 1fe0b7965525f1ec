"""RAHF's metrics by hand, and the published results."""

import numpy as np
import pytest

from pqpp_feedback.rahf.bench import (
    SplitFeedback,
    evaluate,
    evaluate_scores,
    evaluate_words,
    make_result_tables,
    read_published,
    summarise_metrics,
)


@pytest.fixture
def ground_truth():
    maps = np.zeros((3, 8, 8), dtype=np.float32)
    maps[0, 2:4, 2:4], maps[1, 5, 5] = 1.0, 0.5
    scores = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.4, 0.3, 0.2], [0.9, 0.8, 0.1, 0.7]])
    return SplitFeedback(scores, maps, maps.copy(), [[1, 0], None, [0, 1, 1]])


def test_perfect_predictions_have_perfect_metrics(ground_truth):
    metrics = evaluate(ground_truth, ground_truth)
    assert list(metrics) == ["scores", "implausibility_heatmap", "misalignment_heatmap", "keywords"]
    assert list(metrics["scores"].values()) == pytest.approx([1.0] * 8)
    heatmap = metrics["implausibility_heatmap"]
    assert heatmap["cc"] == pytest.approx(1, abs=1e-5) and heatmap["mse_all"] == 0
    assert metrics["keywords"] == {"precision": 100, "recall": 100, "f1": 100}
    assert summarise_metrics(metrics)["mean"] == pytest.approx(1, abs=1e-5)


def test_keywords_skip_prompts_without_labels():
    metrics = evaluate_words([[0, 0], [0] * 9, [1] * 3], [[1, 0], None, [0, 1, 1]])
    assert metrics["precision"] == 50 and metrics["recall"] == 50 and metrics["f1"] == 50
    assert np.isnan(evaluate_words([[0, 0]], [None])["f1"])


@pytest.mark.parametrize("constant", [0.1, 0.3, 1 / 3])
def test_constant_prediction_has_no_correlation(constant):
    # In floating point, the mean of a hundred values of .1 is not .1.
    true = np.random.default_rng(0).random((100, 4))
    metrics = evaluate_scores(np.full((100, 4), constant), true)
    assert len(metrics) == 8 and all(np.isnan(value) for value in metrics.values())


def test_tables_include_published_results(ground_truth):
    tables = make_result_tables({"mine": evaluate(ground_truth, ground_truth)})
    assert [table.name for table in tables] == list(read_published()["tables"])
    assert all(table.rows[-1]["model"] == "mine" for table in tables)
    scores = tables[0]
    names = [row["model"] for row in scores.rows]
    assert "RAHF (augmented prompt) (published)" in names
    row = scores.rows[-2]
    assert row["plausibility_plcc"] == 0.739 and row["alignment_srcc"] == 0.564
    assert all(table.rows == [] for table in make_result_tables({}, with_published=False))
