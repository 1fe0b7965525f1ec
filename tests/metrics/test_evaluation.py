"""Several measures at once, their names, intervals of means, comparisons of runs."""

import itertools
import math

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pqpp_metrics import functional, runs
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import compare_means, evaluate_rankings, mean_intervals

# Spelling of a measure: the function and its options.
MEASURES = {
    "rr": ("reciprocal_rank", {}),
    "MRR@10": ("reciprocal_rank", {"k": 10}),
    "recip_rank": ("reciprocal_rank", {}),
    "P_5": ("precision_at_k", {"k": 5}),
    "p@5": ("precision_at_k", {"k": 5}),
    "P.5": ("precision_at_k", {"k": 5}),
    "P(rel=2)@5": ("precision_at_k", {"k": 5, "relevance_level": 2}),
    "precision_at_k(k=3)": ("precision_at_k", {"k": 3}),
    "recall_100": ("recall_at_k", {"k": 100}),
    "R@2": ("recall_at_k", {"k": 2}),
    "success_1": ("hit_rate_at_k", {"k": 1}),
    "hit_rate@2": ("hit_rate_at_k", {"k": 2}),
    "Rprec": ("r_precision", {}),
    "nDCG": ("ndcg", {}),
    "ndcg_cut_3": ("ndcg", {"k": 3}),
    "ndcg(gains='exponential')@3": ("ndcg", {"k": 3, "gains": "exponential"}),
    "ndcg(gains={1: 1, 2: 5, 3: 6}, cutoff=4)": ("ndcg", {"k": 4, "gains": {1: 1, 2: 5, 3: 6}}),
    "ap": ("average_precision", {}),
    "map": ("average_precision", {}),
    "map_cut_4": ("average_precision", {"k": 4}),
    "AP(rel=3)": ("average_precision", {"relevance_level": 3}),
    "rr(ties='pessimistic')": ("reciprocal_rank", {"ties": "pessimistic"}),
}


@st.composite
def rankings(draw):
    queries, documents = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    levels = draw(st.sampled_from([2, 1000]))
    shape = (queries, documents)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from([int, float]))
    return rng.integers(0, levels, shape) / 7, rng.integers(0, 4, shape).astype(kind)


@given(rankings(), st.sampled_from(["expected", "optimistic", "pessimistic", "order"]))
def test_measures_at_once_equal_single_functions(ranking, ties):
    scores, relevance = ranking
    found = evaluate_rankings(scores=scores, relevance=relevance, measures=[*MEASURES], ties=ties)
    assert list(found) == list(MEASURES)
    for name, (function, options) in MEASURES.items():
        expected = getattr(functional, function)(
            scores=scores, relevance=relevance, **{"ties": ties} | options
        )
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-14, err_msg=name)


def test_judged_only_skips_unjudged_documents():
    scores, relevance = [[4, 3, 2, 1], [4, 3]], [[np.nan, 0, 2, -1], [1, 0]]
    found = evaluate_rankings(scores=scores, relevance=relevance, measures="rr")
    assert found["rr"].tolist() == [1 / 3, 1]
    judged = evaluate_rankings(scores=scores, relevance=relevance, measures="rr", judged_only=True)
    assert judged["rr"].tolist() == [1 / 2, 1]


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ("ndgc@10", "unknown measure 'ndgc@10'; did you mean 'ndcg'"),
        *(("p", "needs a cut-off; write p@10"), ("P@10@5", "write one whole number")),
        ("p(0.8)@5", "the form NAME=VALUE"),
    ],
)
def test_bad_names_of_measures(measures, message):
    with pytest.raises(MetricInputError, match=message.replace("(", r"\(")) as caught:
        evaluate_rankings(scores=[[2, 1]], relevance=[[1, 0]], measures=measures)
    assert "\n" not in str(caught.value)


TREC_MEASURES = [
    *("map", "recip_rank", "Rprec", "P_3", "recall_3", "success_1"),
    *("ndcg", "ndcg_cut_3", "map_cut_3"),
]


@st.composite
def collections(draw):
    """A run with ties and judgments, some below 0, of the same queries."""
    run, qrels = {}, {}
    for query in draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)):
        names = st.lists(st.integers(0, 15), min_size=1, max_size=9, unique=True)
        run[query] = {f"d{one}": float(draw(st.integers(0, 3))) for one in draw(names)}
        qrels[query] = {f"d{one}": draw(st.integers(-1, 3)) for one in draw(names)}
        qrels[query]["d99"] = 0
    return run, qrels


@given(collections(), st.sampled_from([1, 2]), st.booleans())
def test_runs_are_evaluated_as_by_trec_eval(tmp_path_factory, collection, level, judged_only):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = collection
    names = {*TREC_MEASURES}
    reference = pytrec_eval.RelevanceEvaluator(
        qrels, names, relevance_level=level, judged_docs_only_flag=judged_only
    ).evaluate(run)
    folder = tmp_path_factory.mktemp("runs")
    (folder / "r.run").write_text(
        "".join(f"{q} Q0 {d} 0 {s} t\n" for q, row in run.items() for d, s in row.items())
    )
    (folder / "q.qrels").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, row in qrels.items() for d, g in row.items())
    )
    triples = [(q, d, s) for q, row in run.items() for d, s in row.items()]
    options = {"ties": "docno", "relevance_level": level, "judged_only": judged_only}
    for container, judgments in (
        (run, qrels),
        (triples, qrels),
        (folder / "r.run", str(folder / "q.qrels")),
    ):
        found = runs.evaluate_run(container, judgments, TREC_MEASURES, **options)
        for number, query in enumerate(found["query_ids"]):
            for name in TREC_MEASURES:
                value = found["values"][name][number]
                # Of no judged document at all trec_eval's precision is 0 / 0.
                expected = np.nan_to_num(reference[query][name])
                assert value == pytest.approx(expected, abs=1e-12), name
        for name, table in found["means"].items():
            assert table["mean"] == pytest.approx(found["values"][name].mean(), abs=1e-12)


RUN = {"query_id": ["q1", "q2", "q1", "q2", "q1"], "doc_id": ["a", "b", "b", "ü", "c"]}
RUN |= {"score": [0.5, 1.0, 0.5, 1.0, 0.1]}
QRELS = {"query_id": ["q2", "q1", "q1", "q2"], "doc_id": ["ü", "b", "d", "b"], "rel": [2, 1, 1, -1]}


def to_triples(columns):
    return list(zip(*columns.values(), strict=True))


def to_dicts(columns):
    rows = to_triples(columns)
    return {query: {d: v for q, d, v in rows if q == query} for query in columns["query_id"]}


CONTAINERS = {
    "dicts": to_dicts,
    "triples": to_triples,
    "rows": lambda columns: iter([[*row, "more"] for row in to_triples(columns)]),
    "columns": dict,
    "pandas": lambda columns: pd.DataFrame(columns, index=range(len(columns["doc_id"]), 0, -1)),
    "category": lambda columns: pd.DataFrame(columns).astype({"query_id": "category"}),
    "arrow": pa.table,
    "datasets": datasets.Dataset.from_dict,
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_runs_in_every_container(kind):
    # By docno b ranks above a, and ü above b: RR 1 and 1. Of q1 half is found.
    make = CONTAINERS[kind]
    for make_run, make_qrels in ((make, make), (make, to_dicts), (to_dicts, make)):
        run, qrels = make_run(RUN), make_qrels(QRELS)
        found = runs.evaluate_run(run, qrels, "rr,recall@3", ties="docno")
        assert found["query_ids"] == ["q2", "q1"]  # as in the judgments
        assert [[*values] for values in found["values"].values()] == [[1, 1], [1, 0.5]]


def test_intervals_of_a_mean_by_hand():
    """Hall's ratio at both ends is Student's t of the spread's degrees of freedom."""
    rng = np.random.default_rng(3)
    values = {"rr": 1 / rng.integers(1, 9, 80), "p": rng.integers(0, 11, 80) / 10}
    found = mean_intervals(values, confidence=0.9)
    for name, column in values.items():
        skewness, freedom = scipy.stats.skew(column), 160 / (scipy.stats.kurtosis(column) + 2)
        expected = scipy.stats.t.ppf(0.95, min(79, freedom))
        for end, sign in (("ci_low", 1), ("ci_high", -1)):
            s = (column.mean() - found[name][end]) / scipy.stats.sem(column) / math.sqrt(80)
            hall = s + skewness * s**2 / 3 + skewness**2 * s**3 / 27 + skewness / (6 * 80)
            assert math.sqrt(80) * hall == pytest.approx(sign * expected, rel=1e-9)
    shuffled = {name: rng.permutation(column) for name, column in values.items()}
    assert mean_intervals(shuffled, confidence=0.9)["p"]["ci_low"] == found["p"]["ci_low"]
    constant = mean_intervals({"p": [0.3] * 5})["p"]
    assert constant["ci_low"] == constant["ci_high"] == pytest.approx(0.3)
    assert np.isnan(mean_intervals({"p": [0.3]})["p"]["ci_low"])


@pytest.mark.parametrize("hits", [0, 3, 15])
def test_interval_of_a_rate_is_wilsons(hits):
    values = np.arange(15) < hits
    found = mean_intervals({"success@5": values})["success@5"]
    wilson = scipy.stats.binomtest(hits, 15).proportion_ci(method="wilson")
    assert found["ci_low"] == pytest.approx(wilson.low, abs=1e-12)
    assert found["ci_high"] == pytest.approx(wilson.high, abs=1e-12)


@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda rng: rng.standard_normal(15), 0),  # BCa: 92%
        (lambda rng: rng.standard_t(3, 15), 0),  # BCa: 88%
        (lambda rng: rng.binomial(10, rng.beta(0.4, 3, 15)) / 10, 0.4 / 3.4),  # t: 89%
    ],
)
def test_intervals_of_few_queries_cover(draw, mean):
    hits = 0
    for seed in range(500):
        found = mean_intervals({"p": draw(np.random.default_rng(seed))})["p"]
        hits += found["ci_low"] <= mean <= found["ci_high"]
    assert hits >= 465  # 93%


def test_p_value_at_the_ends_of_an_interval_is_5_percent():
    rng = np.random.default_rng(5)
    one, other = rng.random((2, 25))
    (row,) = compare_means({"a": {"x": one}, "b": {"x": other}}, permutations=4_000)
    assert row["ci_low"] < row["difference"] < row["ci_high"]
    for end in ("ci_low", "ci_high"):
        (at_end,) = compare_means({"a": {"x": one - row[end]}, "b": {"x": other}}, 4_000)
        assert at_end["p_value"] == pytest.approx(0.05, abs=0.02)
    half = scipy.stats.t.ppf(0.975, 24) * scipy.stats.sem(one - other)
    assert row["ci_high"] - row["difference"] == pytest.approx(half, rel=0.1)
    assert row["warning"] == "" and row["largest_share"] < 0.25
    (outlier,) = compare_means({"a": {"x": [1, 2, 3, 90]}, "b": {"x": [1.5, 2, 2, 4]}})
    assert outlier["warning"] == f"one query carries {outlier['largest_share']:.0%} of the variance"


def test_comparisons_agree_with_every_swap():
    rng = np.random.default_rng(8)
    values = {name: {"rr": rng.random(9), "p": rng.integers(0, 3, 9) / 2} for name in "abc"}
    rows = compare_means(values, permutations=40_000)
    assert [(row["run"], row["other_run"]) for row in rows[::2]] == [
        *itertools.combinations("abc", 2)
    ]
    signs = np.array(list(itertools.product([-1, 1], repeat=9)))
    for row in rows:
        one, other = (values[row[side]][row["measure"]] for side in ("run", "other_run"))
        sums = np.abs(signs @ (one - other))
        exact = (sums >= abs((one - other).sum()) - 1e-12).mean()
        assert row["difference"] == pytest.approx(np.mean(one) - np.mean(other), abs=1e-12)
        assert row["p_value"] == pytest.approx(exact, abs=0.015)
    from statsmodels.stats.multitest import multipletests

    adjusted = multipletests([row["p_value"] for row in rows], method="holm")[1]
    np.testing.assert_allclose([row["adjusted"] for row in rows], adjusted, rtol=1e-12)


def test_p_values_of_equal_runs_and_of_any_scale():
    values = np.random.default_rng(0).random(30)
    rows = compare_means({"a": {"x": values}, "b": {"x": values}})
    assert rows[0]["p_value"] == 1 and not rows[0]["rejected"]
    other = np.random.default_rng(1).random(30)
    p_values = [
        compare_means({"a": {"x": values * scale}, "b": {"x": other * scale}})[0]["p_value"]
        for scale in (1, 1e200, 1e-200)
    ]
    assert p_values[0] == pytest.approx(p_values[1]) == pytest.approx(p_values[2])


def test_runs_are_compared_on_their_common_queries():
    qrels = {query: {"x": 1} for query in "abcd"}
    one = {query: {"x": 2, "y": 1} for query in "abc"}
    other = {query: {"x": 1, "y": 2} for query in "bcd"}
    found = runs.compare_runs({"one": one, "other": other}, qrels, "rr", missing="drop")
    assert found["runs"]["one"]["query_ids"] == ["b", "c"]
    assert found["comparisons"][0]["difference"] == 0.5 and found["comparisons"][0]["n"] == 2
    with pytest.raises(MetricInputError, match="no documents in the run"):
        runs.compare_runs({"one": one, "other": other}, qrels, "rr")
    with pytest.raises(MetricInputError, match="no query in common"):
        runs.compare_runs({"a": {"a": {"x": 1}}, "b": {"b": {"x": 1}}}, qrels, "rr", missing="drop")
    with pytest.raises(MetricInputError, match="two or more runs"):
        runs.compare_runs({"one": one}, qrels, "rr")
