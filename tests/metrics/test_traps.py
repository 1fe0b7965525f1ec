"""Where well-known tools are wrong or silent: what the right value is, and that it comes out."""

import numpy as np
import pytest

from pqpp_metrics import functional as F
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.runs import rankings

RANKED = [1, 0, 1, 0, 0, 1, 0]
SCORES = np.arange(7.0, 0.0, -1.0)


@pytest.mark.parametrize("seed", range(5))
def test_rows_in_any_order_give_the_same(seed):
    """A metric that never sorts by score gives whatever order its rows came in."""
    order = np.random.default_rng(seed).permutation(7)
    scores, relevance = SCORES[None, order], np.array([RANKED])[:, order]
    assert F.r_precision(scores, relevance)[0] == pytest.approx(2 / 3, abs=1e-15)
    best = 1 + 1 / np.log2(3) + 1 / 2
    found = 1 + 1 / 2 + 1 / np.log2(7)
    assert F.ndcg(scores, relevance)[0] == pytest.approx(found / best, abs=1e-15)


def test_r_precision_never_exceeds_one():
    """A published metric gives 1.41 on data like these."""
    rng = np.random.default_rng(0)
    values = F.r_precision(rng.standard_normal((200, 30)), rng.integers(0, 2, (200, 30)))
    assert values.max() <= 1


@pytest.mark.parametrize("metric", [F.reciprocal_rank, F.r_precision, F.ndcg, F.average_precision])
def test_negative_similarities_are_ranked_like_any_other(metric):
    """Masking scores of 0 and below gives 0 without a word."""
    assert metric([SCORES - 100], [RANKED]) == metric([SCORES], [RANKED])


def test_ties_have_a_rule_and_the_default_does_not_depend_on_storage():
    """Four tools give four mean reciprocal ranks for tied data: four hidden rules."""
    rng = np.random.default_rng(1)
    scores, relevance = rng.integers(0, 3, (500, 20)), rng.random((500, 20)) < 0.1
    means = {
        ties: F.reciprocal_rank(scores, relevance, ties=ties).mean()
        for ties in ("expected", "optimistic", "pessimistic", "order")
    }
    assert len({round(value, 6) for value in means.values()}) == 4
    assert means["pessimistic"] < means["expected"] < means["optimistic"]
    flipped = F.reciprocal_rank(scores[:, ::-1], relevance[:, ::-1]).mean()
    assert flipped == pytest.approx(means["expected"], abs=1e-12)
    by_storage = F.reciprocal_rank(scores[:, ::-1], relevance[:, ::-1], ties="order").mean()
    assert by_storage != pytest.approx(means["order"], abs=1e-6)


def test_a_query_that_the_run_misses_is_not_dropped_in_silence(tmp_path):
    (tmp_path / "run").write_text("q1 Q0 d1 1 1 t\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    with pytest.raises(MetricInputError, match="q2"):
        rankings(run, qrels)
    found = rankings(run, qrels, missing="zero")
    assert F.reciprocal_rank(found.scores, found.relevance).tolist() == [1.0, 0.0]


def test_maps_without_fixations_have_no_value_and_divide_nothing_by_zero():
    prediction, empty = np.random.default_rng(0).random((6, 7)), np.zeros((6, 7))
    with np.errstate(all="raise"):
        for convention in ("tuebingen", "pysaliency", "mit", "unisal", "richhf"):
            for metric in (F.nss, F.kld, F.cc, F.sim, F.auc_judd):
                assert np.isnan(metric(prediction, empty, convention=convention))
    assert F.richhf_heatmap(prediction[None], empty[None])["n_empty"] == 1


def test_auc_judd_does_not_jitter():
    rng = np.random.default_rng(0)
    prediction, fixations = rng.integers(0, 4, (9, 9)).astype(float), rng.random((9, 9)) < 0.2
    assert len({float(F.auc_judd(prediction, fixations)) for _ in range(5)}) == 1


def test_full_agreement_on_one_class_is_one():
    assert F.fleiss_kappa([[1, 1, 1]] * 4) == 1
    assert F.cohen_kappa([1] * 4, [1] * 4) == 1


def test_an_even_vote_is_no_majority():
    """The published code counts it for the relevant side; that is an option, not the default."""
    assert F.image_relevance([[2, -1]]).tolist() == [0.5]
    assert F.image_relevance([[2, -1]], ties="positive").tolist() == [2.0]
