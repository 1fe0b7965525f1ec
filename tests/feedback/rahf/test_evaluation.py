"""The four tables, by hand-worked cases and beside the published figures."""

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
def truth():
    maps = np.zeros((3, 8, 8), dtype=np.float32)
    maps[0, 2:4, 2:4], maps[1, 5, 5] = 1.0, 0.5
    scores = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.4, 0.3, 0.2], [0.9, 0.8, 0.1, 0.7]])
    return SplitFeedback(scores, maps, maps.copy(), [[1, 0], None, [0, 1, 1]])


def test_perfect_predictions_have_perfect_figures(truth):
    found = evaluate(truth, truth)
    assert list(found) == ["scores", "implausibility_heatmap", "misalignment_heatmap", "keywords"]
    assert list(found["scores"].values()) == pytest.approx([1.0] * 8)
    figures = found["implausibility_heatmap"]
    assert figures["cc"] == pytest.approx(1, abs=1e-5) and figures["mse_all"] == 0
    assert found["keywords"] == {"precision": 100, "recall": 100, "f1": 100}
    assert summarise_metrics(found)["mean"] == pytest.approx(1, abs=1e-5)


def test_keywords_are_counted_over_all_words_without_those_that_do_not_fit():
    found = evaluate_words([[0, 0], [0] * 9, [1] * 3], [[1, 0], None, [0, 1, 1]])
    assert found["precision"] == 50 and found["recall"] == 50 and found["f1"] == 50


@pytest.mark.parametrize("constant", [0.1, 0.3, 1 / 3])
def test_a_constant_prediction_has_no_correlation(constant):
    # The mean of a hundred times .1 is not .1 in floating point.
    true = np.random.default_rng(0).random((100, 4))
    found = evaluate_scores(np.full((100, 4), constant), true)
    assert len(found) == 8 and all(np.isnan(value) for value in found.values())


def test_published_figures_stand_beside_ours(truth):
    tables = make_result_tables({"mine": evaluate(truth, truth)})
    assert [table.name for table in tables] == list(read_published()["tables"])
    assert all(table.rows[-1]["model"] == "mine" for table in tables)
    scores = tables[0]
    names = [row["model"] for row in scores.rows]
    assert "RAHF (augmented prompt) (published)" in names
    row = scores.rows[-2]
    assert row["plausibility_plcc"] == 0.739 and row["alignment_srcc"] == 0.564
    assert all(table.rows == [] for table in make_result_tables({}, with_published=False))
