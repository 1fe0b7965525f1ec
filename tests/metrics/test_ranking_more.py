"""ERR, RBP, bpref, infAP, interpolated precision, judged@k: over all orders, and by trec_eval."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics import oracles

from pqpp_metrics import functional
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import (
    average_precision,
    bpref,
    expected_reciprocal_rank,
    inferred_average_precision,
    interpolated_precision,
    judged_at_k,
    rank_biased_precision,
    reciprocal_rank,
)
from pqpp_metrics.load import load_metric
from pqpp_metrics.registration import list_metrics, metric_path

RULES = ["expected", "optimistic", "pessimistic", "order"]
GRADES = [0, 1, 2, 4]
UNJUDGED = [np.nan, -1]
SIX = {
    "err": (expected_reciprocal_rank, oracles.expected_reciprocal_rank, {}),
    "err@3": (expected_reciprocal_rank, oracles.expected_reciprocal_rank, {"k": 3}),
    "rbp": (rank_biased_precision, oracles.rank_biased_precision, {"p": 0.6}),
    "rbp@2": (rank_biased_precision, oracles.rank_biased_precision, {"p": 0.95, "k": 2}),
    "bpref": (bpref, oracles.bpref, {}),
    "infap": (inferred_average_precision, oracles.inferred_average_precision, {}),
    "iprec@0": (interpolated_precision, oracles.interpolated_precision, {"recall": 0.0}),
    "iprec@0.5": (interpolated_precision, oracles.interpolated_precision, {"recall": 0.5}),
    "iprec@1": (interpolated_precision, oracles.interpolated_precision, {"recall": 1}),
    "judged@2": (judged_at_k, oracles.judged, {"k": 2}),
    "judged": (judged_at_k, oracles.judged, {"k": None}),
}
TELL_UNJUDGED = ["bpref", "infap", "judged@2", "judged"]


@st.composite
def rankings(draw, grades, max_documents=6):
    queries, documents = draw(st.integers(1, 3)), draw(st.integers(1, max_documents))
    score = st.lists(st.integers(0, 2), min_size=documents, max_size=documents)
    grade = st.lists(st.sampled_from(grades), min_size=documents, max_size=documents)
    some = st.lists(st.tuples(score, grade), min_size=queries, max_size=queries)
    return map(np.array, zip(*draw(some), strict=True))


@pytest.mark.parametrize("name", SIX)
@given(st.data(), st.sampled_from(RULES))
def test_over_every_order_of_ties(name, data, ties):
    function, oracle, options = SIX[name]
    if name == "infap" and ties in ("optimistic", "pessimistic"):
        ties = "expected"  # by order, not by value: see the test of it
    grades = GRADES + UNJUDGED * (name in TELL_UNJUDGED)
    scores, relevance = data.draw(rankings(grades))
    expected = oracles.over_orders(
        lambda ranked: oracle(list(ranked), **options), scores, relevance, ties
    )
    found = function(scores, relevance, ties=ties, **options)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(rankings(GRADES + UNJUDGED))
def test_relevant_documents_first_or_last_among_equals(ranking):
    scores, relevance = ranking
    for ties, sign in (("optimistic", 1), ("pessimistic", -1)):
        moved = scores + 0.1 * sign * (relevance > 0)
        found = inferred_average_precision(scores, relevance, ties=ties)
        # The order of the others below a relevant document does not matter, nor above all of them.
        expected = inferred_average_precision(moved, relevance, ties="order")
        np.testing.assert_allclose(found, expected, atol=1e-12)


@st.composite
def judged_queries(draw):
    """Scores without ties, grades also of documents that were not retrieved."""
    retrieved = draw(st.integers(1, 8))
    grade = st.sampled_from([*GRADES, *UNJUDGED])
    own = draw(st.lists(grade, min_size=retrieved, max_size=retrieved))
    left = draw(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=4))
    return draw(st.permutations(range(retrieved))), own, left


@given(st.lists(judged_queries(), min_size=1, max_size=3), st.sampled_from([1, 2]))
def test_trec_eval(some, level):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = {}, {}
    for number, (scores, grades, left) in enumerate(some):
        run[str(number)] = {f"d{i}": float(score) for i, score in enumerate(scores)}
        qrels[str(number)] = {f"d{i}": int(g) for i, g in enumerate(grades) if g == g}
        qrels[str(number)] |= {f"n{i}": grade for i, grade in enumerate(left)}
    names = {"bpref", "infAP", "iprec_at_recall"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=level)
    theirs = evaluator.evaluate(run)
    scores, grades, left = zip(*some, strict=True)
    options = {"relevance_level": level, "unretrieved": left}
    ours = {
        "bpref": bpref(scores, grades, **options),
        "infAP": inferred_average_precision(scores, grades, **options),
    }
    plain = [np.maximum(np.nan_to_num(row), 0) for row in grades]
    for recall in np.arange(11) / 10:
        found = interpolated_precision(scores, plain, recall=float(recall), **options)
        ours[f"iprec_at_recall_{recall:.2f}"] = found
    for name, values in ours.items():
        expected = [theirs[str(number)][name] for number in range(len(some))]
        np.testing.assert_allclose(values, expected, atol=1e-12, err_msg=name)


def test_by_hand():
    # gdeval: (15/16) / 2, then (1/16) goes on to grade 1 at rank 3.
    value = expected_reciprocal_rank([[3, 2, 1]], [[0, 4, 1]])[0]
    assert value == pytest.approx(15 / 32 + 1 / 16 / 16 / 3, abs=1e-15)
    assert rank_biased_precision([[3, 2, 1]], [[1, 0, 1]], p=0.5)[0] == 0.5 + 0.125
    # Of two relevant documents one is below one of two irrelevant ones, the other not retrieved.
    assert bpref([[2, 1]], [[0, 1]], unretrieved=[[1, 0]])[0] == pytest.approx((1 - 1 / 2) / 2)
    assert judged_at_k([[2, 1], [3]], [[np.nan, 1], [0]], k=2).tolist() == [0.5, 1.0]


def test_a_large_tie():
    """A thousand equals: a relevant document is as likely at each rank."""
    scores, relevance = np.zeros((1, 1000)), np.zeros((1, 1000))
    relevance[0, 17] = 1
    mean = reciprocal_rank(scores, relevance)[0]
    assert interpolated_precision(scores, relevance)[0] == pytest.approx(mean, rel=1e-12)
    assert inferred_average_precision(scores, relevance)[0] == pytest.approx(mean, abs=1e-4)
    expected = expected_reciprocal_rank(scores, relevance, max_grade=1)[0]
    assert expected == pytest.approx(mean / 2, rel=1e-12)
    # 999 irrelevant ones, of which one counts: it is below with a chance of 1 / 1000.
    assert bpref(scores, relevance)[0] == pytest.approx(1 / 1000, rel=1e-9)


def test_inferred_is_plain_where_all_is_judged():
    rng = np.random.default_rng(0)
    scores, relevance = rng.random((50, 30)), rng.integers(0, 2, (50, 30))
    found = inferred_average_precision(scores, relevance)
    np.testing.assert_allclose(found, average_precision(scores, relevance), atol=1e-4)


@pytest.mark.parametrize("name", SIX)
@pytest.mark.parametrize("ties", RULES)
def test_torch_gives_the_same(name, ties):
    torch = pytest.importorskip("torch")
    function, _, options = SIX[name]
    rng = np.random.default_rng(5)
    scores, relevance = rng.integers(0, 5, (20, 9)) / 2, rng.choice([0.0, 1, 2, 4], (20, 9))
    plain = function(scores, relevance, ties=ties, **options)
    found = function(torch.tensor(scores), torch.tensor(relevance), ties=ties, **options)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), plain, rtol=1e-12)


@pytest.mark.parametrize("name", SIX)
def test_queries_with_different_numbers_of_documents(name):
    function, _, options = SIX[name]
    scores, relevance = [[3, 2, 2, 1], [5], [1, 1]], [[0, 1, 0, 1], [2], [4, 0]]
    alone = [
        function([row], [grades], **options)[0]
        for row, grades in zip(scores, relevance, strict=True)
    ]
    np.testing.assert_allclose(function(scores, relevance, **options), alone, atol=1e-12)
    assert function([[2, 1], []], [[1, 0], []], **options)[1] == 0


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (expected_reciprocal_rank, {"max_grade": 1}, "up to 2 and `max_grade` is 1"),
        (expected_reciprocal_rank, {"max_grade": 51}, "50 at most"),
        (expected_reciprocal_rank, {"k": 0}, "`k`"),
        (rank_biased_precision, {"p": 1}, "`p` is 1"),
        (interpolated_precision, {"recall": 10}, "`recall` is 10"),
        (interpolated_precision, {"recall": True}, "`recall` is True"),
        (bpref, {"unretrieved": [[-3]]}, "-1 and NaN not judged"),
        (judged_at_k, {"k": 0}, "`k`"),
    ],
)
def test_bad_options_are_refused(function, options, words):
    with pytest.raises(MetricInputError, match=words):
        function([[3, 2, 1]], [[0, 1, 2]], **options)


def best_precisions(counts, needed, draws):
    """The best precision of random orders within groups of equals: (documents, relevant) each."""
    rng = np.random.default_rng(8)
    for _ in range(draws):
        order = [rng.permutation(np.arange(size) < relevant) for size, relevant in counts]
        relevant = np.concatenate(order)
        found = np.cumsum(relevant)
        yield max(found[relevant] / (np.flatnonzero(relevant) + 1) * (found[relevant] >= needed))


@pytest.mark.parametrize("counts", [[(500, 250)], [(3, 1), (400, 30), (20, 2)], [(3000, 4)]])
def test_interpolated_precision_of_many_equals(counts):
    """A classifier's run: it was hours. The mean of other orders lies within the noise of both."""
    scores = np.repeat(-np.arange(len(counts)), [size for size, _ in counts])
    relevance = np.concatenate([np.arange(size) < relevant for size, relevant in counts])
    found = interpolated_precision([scores], [relevance], recall=0.1).item()
    needed = np.floor(0.1 * relevance.sum() + 0.9)
    expected = np.array(list(best_precisions(counts, needed, 1_000)))
    error = expected.std() * np.sqrt(1 / 1_000 + 1 / 4_096)
    assert found == pytest.approx(expected.mean(), abs=4 * error)
    shuffled = np.random.default_rng(1).permutation(len(scores))
    again = interpolated_precision([scores[shuffled]], [relevance[shuffled]], recall=0.1).item()
    assert again == found


def test_drawn_orders_are_near_the_exact_mean(monkeypatch):
    """Six of 20 equals are relevant: exact by all 38,760 places of them, and drawn."""
    found = interpolated_precision([[0] * 20], [[1] * 6 + [0] * 14], recall=0.3).item()
    best = []
    for places in itertools.combinations(range(1, 21), 6):
        best.append(max(k / place for k, place in enumerate(places, 1) if k >= 2))
    assert found == pytest.approx(np.mean(best), abs=1e-12)
    monkeypatch.setattr("pqpp_metrics.functional.ranking._MOST_STATES", 1)
    drawn = interpolated_precision([[0] * 20], [[1] * 6 + [0] * 14], recall=0.3).item()
    assert drawn == pytest.approx(found, abs=5 * np.std(best) / 64)


def test_a_huge_cut_off_is_none():
    values = rank_biased_precision([[3, 2, 1]], [[0, 1, 1]], k=2**100)
    assert values == rank_biased_precision([[3, 2, 1]], [[0, 1, 1]])


def ranks(name):
    return "relevance" in inspect.signature(load_metric(name).function).parameters


@pytest.mark.parametrize("name", [name for name in list_metrics() if ranks(name)])
def test_modules_take_queries_with_different_numbers_of_documents(name):
    inputs = {"predictions": [[3, 2, 1], [5], [1, 1]], "references": [[0, 1, 0], [1], [1, 0]]}
    function = getattr(functional, name)
    expected = function(*inputs.values()).tolist()
    assert load_metric(name).score(inputs)["scores"] == expected
    card = metric_path(name).with_name("README.md").read_text("utf-8")
    assert "may have different numbers" in card and "same number of documents" not in card


def test_unranked_sets_with_documents_that_were_not_retrieved():
    from sklearn.metrics import fbeta_score, precision_score, recall_score

    rng = np.random.default_rng(5)
    grades, missing = rng.integers(-1, 3, (20, 8)), rng.integers(0, 3, (20, 4))
    scores = rng.random((20, 8))
    shared = {"relevance_level": 2, "judged_only": True}
    found = [
        functional.set_precision(scores, grades, **shared),
        functional.set_recall(scores, grades, unretrieved=missing, **shared),
        functional.set_f(scores, grades, beta=0.5, unretrieved=missing, **shared),
    ]
    for row, (own, others) in enumerate(zip(grades, missing, strict=True)):
        judged = own[own >= 0]
        truth = np.concatenate([judged, others]) >= 2
        taken = np.arange(len(truth)) < len(judged)
        assert found[0][row] == pytest.approx(precision_score(truth, taken, zero_division=0))
        assert found[1][row] == pytest.approx(recall_score(truth, taken, zero_division=0))
        value = fbeta_score(truth, taken, beta=0.5, zero_division=0)
        assert found[2][row] == pytest.approx(value)
    # One call reads them all, whatever orders equals.
    names = "setp(rel=2), setr(rel=2), setf(rel=2, beta=0.5), rr"
    together = functional.evaluate_rankings(
        scores, grades, names, unretrieved=missing, judged_only=True
    )
    for values, name in zip(found, list(together), strict=False):
        assert together[name] == pytest.approx(values)
