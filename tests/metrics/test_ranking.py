import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics import oracles

from pqpp_metrics import functional
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import ndcg, r_precision, reciprocal_rank

RULES = ["expected", "optimistic", "pessimistic", "order"]
CUT_OFFS = st.none() | st.integers(1, 8)
ORACLES = {
    "reciprocal_rank": (oracles.reciprocal_rank, CUT_OFFS),
    "precision_at_k": (oracles.precision, st.integers(1, 8)),
    "recall_at_k": (oracles.recall, st.integers(1, 8)),
    "hit_rate_at_k": (oracles.hit, st.integers(1, 8)),
    "ndcg": (oracles.ndcg, CUT_OFFS),
    "average_precision": (oracles.average_precision, CUT_OFFS),
}
METRICS = [getattr(functional, name) for name in (*ORACLES, "r_precision")]


@st.composite
def rankings(draw, max_documents=6, levels=3):
    """Scores with many ties, and relevance."""
    queries = draw(st.integers(1, 4))
    documents = draw(st.integers(1, max_documents))
    number = st.integers(0, levels).map(lambda i: (i - 1) / 3)
    row = st.lists(number, min_size=documents, max_size=documents)
    grade = st.lists(st.integers(0, 2), min_size=documents, max_size=documents)
    scores = draw(st.lists(row, min_size=queries, max_size=queries))
    relevance = draw(st.lists(grade, min_size=queries, max_size=queries))
    return np.array(scores), np.array(relevance)


@pytest.mark.parametrize("metric", METRICS)
@given(st.lists(rankings(max_documents=14), min_size=2, max_size=4), st.sampled_from(RULES))
def test_queries_with_different_numbers_of_documents(metric, drawn_rankings, ties):
    scores = [row.tolist() for rows, _ in drawn_rankings for row in rows]
    relevance = [row.tolist() for _, rows in drawn_rankings for row in rows]
    pairs = zip(scores, relevance, strict=True)
    separately = [metric(scores=[row], relevance=[grades], ties=ties)[0] for row, grades in pairs]
    together = metric(scores=scores, relevance=relevance, ties=ties)
    np.testing.assert_allclose(together, separately, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ORACLES)
@given(rankings(), st.sampled_from(RULES), st.data())
def test_ties_are_averaged_over_every_order(name, ranking, ties, data):
    metric, (oracle, cut_offs) = getattr(functional, name), ORACLES[name]
    scores, relevance = ranking
    k = data.draw(cut_offs)
    expected = oracles.over_orders(lambda ranked: oracle(ranked, k), scores, relevance, ties)
    result = metric(scores=scores, relevance=relevance, k=k, ties=ties)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    floats = metric(scores=scores, relevance=relevance.astype(float), k=k, ties=ties)
    np.testing.assert_allclose(floats, expected, atol=1e-12)


@given(rankings(), st.sampled_from(RULES))
def test_r_precision_and_exponential_gains_over_every_order(ranking, ties):
    scores, relevance = ranking
    expected = oracles.over_orders(oracles.r_precision, scores, relevance, ties)
    result = r_precision(scores=scores, relevance=relevance, ties=ties)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    expected = oracles.over_orders(
        lambda ranked: oracles.ndcg(ranked, exponential=True), scores, relevance, ties
    )
    result = ndcg(scores=scores, relevance=relevance, gains="exponential", ties=ties)
    np.testing.assert_allclose(result, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["recall_at_k", "r_precision", "ndcg", "average_precision"])
@given(rankings(max_documents=5), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_unretrieved_documents_rank_last(name, ranking, missing):
    """They act as documents at the end of the ranking, below the cut-off."""
    metric, (scores, relevance) = getattr(functional, name), ranking
    queries, documents = scores.shape
    missing = np.tile(missing, (queries, 1))
    # 700 irrelevant documents in between: those that follow them hardly count as found.
    gap = -10.0 - np.arange(700)
    long_scores = np.concatenate(
        [scores, np.tile(gap, (queries, 1)), -900.0 - missing * 0 - np.arange(3)], 1
    )
    long_relevance = np.concatenate([relevance, np.zeros((queries, 700), int), missing], 1)
    options = {} if metric is r_precision else {"k": documents}
    result = metric(scores=scores, relevance=relevance, unretrieved=missing, **options)
    expected = metric(scores=long_scores, relevance=long_relevance, **options)
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_minus_zero_equals_zero():
    assert reciprocal_rank(scores=[[0.0, -0.0]], relevance=[[0, 1]]).tolist() == [0.75]


def test_a_large_tie_is_computed_exactly():
    """All 2,000 documents tied, 3 relevant: the expected reciprocal rank by its definition."""
    n, r = 2000, 3
    relevance = np.zeros((1, n))
    relevance[0, :r] = 1
    from math import comb, fsum

    exact = fsum(comb(n - j, r - 1) / comb(n, r) / j for j in range(1, n - r + 2))
    value = reciprocal_rank(scores=np.zeros((1, n)), relevance=relevance)[0]
    np.testing.assert_allclose(value, exact, rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("ties", RULES)
def test_torch_gives_the_same(metric, ties):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    scores = rng.integers(-3, 4, (40, 25)).astype(float)
    relevance = rng.integers(0, 2, (40, 25))
    expected = metric(scores=scores, relevance=relevance, ties=ties)
    for dtype in (torch.float64, torch.float32):
        tensors = {
            "scores": torch.tensor(scores, dtype=dtype),
            "relevance": torch.tensor(relevance),
        }
        result = metric(**tensors, ties=ties)
        assert isinstance(result, torch.Tensor)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("scores", "relevance", "message"),
    [
        ([[1, 2]], [[1, 0, 0]], "must have the same shape"),
        ([[np.nan, 1]], [[1, 0]], r"`scores` contains 1 NaN .* \[0, 0\]"),
        ([[1, None]], [[1, 0]], "NaN"),
        ([[1, 10**400]], [[1, 0]], "`scores` has too large a number"),
    ],
)
def test_bad_input_is_one_typed_error(metric, scores, relevance, message):
    with pytest.raises(MetricInputError, match=message) as caught:
        metric(scores=scores, relevance=relevance)
    assert "\n" not in str(caught.value)
