import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metrics import oracles

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import precision_at_k, reciprocal_rank

RULES = ["expected", "optimistic", "pessimistic", "order"]
METRICS = [reciprocal_rank, precision_at_k]


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


def test_by_hand():
    scores = [[0.9, 0.8, 0.7, 0.6], [0.1, 0.2, 0.3, 0.4], [4, 3, 2, 1]]
    relevance = [[0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert reciprocal_rank(scores, relevance).tolist() == [1 / 3, 1 / 4, 0]
    assert reciprocal_rank(scores, relevance, k=3).tolist() == [1 / 3, 0, 0]
    assert precision_at_k(scores, relevance, k=3).tolist() == [1 / 3, 0, 0]
    assert precision_at_k(scores, relevance, k=4).tolist() == [1 / 2, 1 / 4, 0]


def test_more_places_than_documents_count_as_not_relevant():
    assert precision_at_k([[2, 1]], [[1, 1]], k=10).tolist() == [0.2]


def test_a_tie_by_hand():
    # Three documents share the first place, one of them relevant: ranks 1, 2, 3 equally likely.
    scores, relevance = [[5, 5, 5, 1]], [[0, 1, 0, 1]]
    expected = (1 + 1 / 2 + 1 / 3) / 3
    np.testing.assert_allclose(reciprocal_rank(scores, relevance), [expected], rtol=1e-15)
    assert reciprocal_rank(scores, relevance, ties="optimistic").tolist() == [1]
    assert reciprocal_rank(scores, relevance, ties="pessimistic").tolist() == [1 / 3]
    assert reciprocal_rank(scores, relevance, ties="order").tolist() == [1 / 2]
    np.testing.assert_allclose(precision_at_k(scores, relevance, k=2), [1 / 3], rtol=1e-15)


@given(rankings(), st.sampled_from(RULES), st.none() | st.integers(1, 8))
@settings(max_examples=150, deadline=None)
def test_reciprocal_rank_over_every_order(ranking, ties, k):
    scores, relevance = ranking
    expected = oracles.over_orders(
        lambda ranked: oracles.reciprocal_rank(ranked, k), scores, relevance, ties
    )
    result = reciprocal_rank(scores, relevance, k=k, ties=ties)
    np.testing.assert_allclose(result, expected, atol=1e-12)


@given(rankings(), st.sampled_from(RULES), st.integers(1, 8))
@settings(max_examples=150, deadline=None)
def test_precision_over_every_order(ranking, ties, k):
    scores, relevance = ranking
    expected = oracles.over_orders(
        lambda ranked: oracles.precision(ranked, k), scores, relevance, ties
    )
    result = precision_at_k(scores, relevance, k=k, ties=ties)
    np.testing.assert_allclose(result, expected, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@given(rankings(max_documents=12), st.data())
def test_order_of_documents_and_queries_does_not_matter(metric, ranking, data):
    scores, relevance = ranking
    documents = data.draw(st.permutations(range(scores.shape[1])))
    queries = data.draw(st.permutations(range(scores.shape[0])))
    plain = metric(scores, relevance)
    moved = metric(scores[:, documents], relevance[:, documents])
    np.testing.assert_allclose(moved, plain, rtol=1e-13)
    assert metric(scores[queries], relevance[queries]).tolist() == plain[queries].tolist()


@pytest.mark.parametrize("metric", METRICS)
@given(rankings(max_documents=12), st.sampled_from(RULES))
def test_monotone_transforms_and_bounds(metric, ranking, ties):
    scores, relevance = ranking
    plain = metric(scores, relevance, ties=ties)
    assert metric(np.exp(scores) - 7, relevance, ties=ties).tolist() == plain.tolist()
    assert metric(3 * scores - 100, relevance > 0, ties=ties).tolist() == plain.tolist()
    assert ((plain >= 0) & (plain <= 1)).all()
    low, middle, high = (
        metric(scores, relevance, ties=rule) for rule in ("pessimistic", "expected", "optimistic")
    )
    assert (low <= middle + 1e-12).all() and (middle <= high + 1e-12).all()


@pytest.mark.parametrize("metric", METRICS)
@given(rankings(max_documents=12), st.sampled_from(RULES))
def test_one_query_at_a_time_gives_the_same(metric, ranking, ties):
    scores, relevance = ranking
    batch = metric(scores, relevance, ties=ties)
    singles = [
        metric(s[None], r[None], ties=ties)[0] for s, r in zip(scores, relevance, strict=True)
    ]
    assert batch.tolist() == singles


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_pytrec_eval_without_ties(share):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(7)
    scores = rng.standard_normal((60, 100))
    relevance = (rng.random((60, 100)) < share).astype(int)
    qrel = {str(i): {str(j): int(v) for j, v in enumerate(row)} for i, row in enumerate(relevance)}
    run = {str(i): {str(j): float(v) for j, v in enumerate(row)} for i, row in enumerate(scores)}
    reference = pytrec_eval.RelevanceEvaluator(qrel, {"recip_rank", "P_5", "P_10"}).evaluate(run)
    column = lambda key: [reference[str(i)][key] for i in range(60)]  # noqa: E731
    np.testing.assert_allclose(reciprocal_rank(scores, relevance), column("recip_rank"), atol=1e-12)
    np.testing.assert_allclose(precision_at_k(scores, relevance, k=5), column("P_5"), atol=1e-12)
    np.testing.assert_allclose(precision_at_k(scores, relevance), column("P_10"), atol=1e-12)


def test_negative_scores_are_scores():
    """torchmetrics masks `preds > 0` and would give 0 here."""
    assert reciprocal_rank([[-0.1, -0.5, -0.9]], [[0, 1, 0]]).tolist() == [0.5]


def test_minus_zero_equals_zero():
    assert reciprocal_rank([[0.0, -0.0]], [[0, 1]]).tolist() == [0.75]


def test_a_large_tie_stays_exact():
    """All 2,000 documents tied, 3 relevant: the expected reciprocal rank by its definition."""
    n, r = 2000, 3
    relevance = np.zeros((1, n))
    relevance[0, :r] = 1
    from math import comb, fsum

    exact = fsum(comb(n - j, r - 1) / comb(n, r) / j for j in range(1, n - r + 2))
    value = reciprocal_rank(np.zeros((1, n)), relevance)[0]
    np.testing.assert_allclose(value, exact, rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("ties", RULES)
def test_torch_gives_the_same(metric, ties):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    scores = rng.integers(-3, 4, (40, 25)).astype(float)
    relevance = rng.integers(0, 2, (40, 25))
    plain = metric(scores, relevance, ties=ties)
    for dtype in (torch.float64, torch.float32):
        result = metric(torch.tensor(scores, dtype=dtype), torch.tensor(relevance), ties=ties)
        assert isinstance(result, torch.Tensor)
        np.testing.assert_allclose(result.numpy(), plain, rtol=1e-14)


@pytest.mark.parametrize("metric", METRICS)
def test_the_inputs_are_left_alone(metric):
    scores, relevance = np.array([[1.0, 1.0, 0.5]]), np.array([[0, 1, 1]])
    before = scores.copy(), relevance.copy()
    metric(scores, relevance)
    assert (scores == before[0]).all() and (relevance == before[1]).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("scores", "relevance", "words"),
    [
        ([[1, 2]], [[1, 0, 0]], "shapes differ"),
        ([[1, 2]], [[1, 0], [0, 1]], "shapes differ"),
        ([1, 2], [1, 0], "2 dimension"),
        ([], [], "dimension"),
        ([[]], [[]], "empty"),
        (np.empty((0, 4)), np.empty((0, 4)), "empty"),
        ([[np.nan, 1]], [[1, 0]], r"`scores` holds 1 NaN .* \[0, 0\]"),
        ([[1, 2], [3, np.inf]], [[1, 0], [1, 0]], r"`scores` holds 1 NaN .* \[1, 1\]"),
        ([[1, 2]], [[1, np.nan]], "`relevance` holds 1 NaN"),
        ([[1, 2]], [[1, -1]], "holds -1"),
        ([["1", "2"]], [[1, 0]], "`scores` holds values of type str"),
        ([[1, 2]], [["yes", "no"]], "`relevance` holds values of type str"),
        ([[1, None]], [[1, 0]], "NaN"),
        ([[1, 2], [3]], [[1, 0], [1]], "different lengths"),
        ([[2**53 + 1, 0]], [[1, 0]], "2\\*\\*53"),
        ([[object(), 1]], [[1, 0]], "object"),
    ],
)
def test_bad_input_is_one_typed_error(metric, scores, relevance, words):
    with pytest.raises(MetricInputError, match=words) as caught:
        metric(scores, relevance)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [0, -1, 2.0, "3", True, np.nan])
def test_a_bad_cut_off_is_refused(metric, k):
    with pytest.raises(MetricInputError, match="`k`"):
        metric([[1, 2]], [[1, 0]], k=k)


@pytest.mark.parametrize("metric", METRICS)
def test_an_unknown_tie_rule_is_refused(metric):
    with pytest.raises(MetricInputError, match="'expected', 'optimistic'"):
        metric([[1, 2]], [[1, 0]], ties="average")


def test_mixed_libraries_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(MetricInputError, match="different array libraries"):
        reciprocal_rank(torch.tensor([[1.0, 2.0]]), np.array([[1, 0]]))
