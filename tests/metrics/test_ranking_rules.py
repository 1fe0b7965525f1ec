"""The rules that all ranking metrics share, beside trec_eval's own: ties, levels, judgments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqpp_metrics.functional import (
    average_precision,
    hit_rate_at_k,
    ndcg,
    precision_at_k,
    r_precision,
    recall_at_k,
    reciprocal_rank,
)

METRICS = {
    "recip_rank": (reciprocal_rank, {}),
    "P_3": (precision_at_k, {"k": 3}),
    "recall_3": (recall_at_k, {"k": 3}),
    "success_3": (hit_rate_at_k, {"k": 3}),
    "Rprec": (r_precision, {}),
    "ndcg": (ndcg, {}),
    "ndcg_cut_3": (ndcg, {"k": 3}),
    "map": (average_precision, {}),
    "map_cut_3": (average_precision, {"k": 3}),
}


@st.composite
def queries(draw):
    """Documents with scores, many of them equal, and grades, some of them not judged."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        names = st.text("ab1é文", min_size=1, max_size=3)
        documents = draw(st.lists(names, min_size=1, max_size=8, unique=True))
        n = len(documents)
        scores = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
        grade = st.sampled_from([np.nan, 0, 1, 2, 3])
        found.append((documents, scores, draw(st.lists(grade, min_size=n, max_size=n))))
    return found


def by_trec_eval(some, level=1, judged_only=False):
    """Every measure of every query by pytrec_eval, which has no query without a judgment."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = {}, {}
    for number, (documents, scores, grades) in enumerate(some):
        run[str(number)] = dict(zip(documents, map(float, scores), strict=True))
        judged = zip(documents, grades, strict=True)
        # A judged document that is not retrieved, not relevant: it lets the query be there.
        qrels[str(number)] = {d: int(g) for d, g in judged if g == g} | {"never retrieved": 0}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, set(METRICS), relevance_level=level, judged_docs_only_flag=judged_only
    )
    found = evaluator.evaluate(run)
    return {name: [found[str(i)][name] for i in range(len(some))] for name in METRICS}


def ours(name, some, grades, **options):
    function, own = METRICS[name]
    if "relevance_level" in options and function is ndcg:
        options.pop("relevance_level")  # gains are what nDCG weighs, also in trec_eval
    documents, scores, _ = zip(*some, strict=True)
    options |= {"ties": "docno", "document_ids": documents}
    return function(scores=scores, relevance=grades, **own, **options)


@given(queries(), st.sampled_from([1, 2, 3]))
def test_document_numbers_and_levels_as_in_trec_eval(some, level):
    expected = by_trec_eval(some, level)
    grades = [np.nan_to_num(row).tolist() for _, _, row in some]
    for name, values in expected.items():
        found = ours(name, some, grades, relevance_level=level)
        np.testing.assert_allclose(found, values, atol=1e-12, err_msg=name)


@given(queries(), st.sampled_from([1, 2]))
def test_judged_documents_only_as_in_trec_eval(some, level):
    expected = by_trec_eval(some, level, judged_only=True)
    grades = [row for _, _, row in some]
    for name, values in expected.items():
        found = ours(name, some, grades, relevance_level=level, judged_only=True)
        np.testing.assert_allclose(found, values, atol=1e-12, err_msg=name)
        minus = [[-1 if one != one else one for one in row] for row in grades]
        again = ours(name, some, minus, relevance_level=level, judged_only=True)
        assert again.tolist() == found.tolist()


def test_a_tie_by_hand():
    # "d9" is above "d10", byte by byte; 10 above 9.
    for names, expected in (([["d10", "d9", "d1"]], 0.5), ([[10, 9, 1]], 1)):
        options = {"ties": "docno", "document_ids": names}
        found = reciprocal_rank(scores=[[5, 5, 1]], relevance=[[1, 0, 0]], **options)
        assert found.tolist() == [expected]


@pytest.mark.parametrize(("above", "below"), [(2, 1), ("b", "a"), (2**63 - 1, 2**63 - 2)])
def test_document_ids_may_be_arrays_a_query(above, below):
    ids = [np.array([below, above]), np.array([above, below])]
    options = {"ties": "docno", "document_ids": ids}
    found = reciprocal_rank(scores=[[1, 1], [1, 1]], relevance=[[0, 1], [0, 1]], **options)
    assert found.tolist() == [1.0, 0.5]
    ragged = {"ties": "docno", "document_ids": [ids[0], ids[1][:1]]}
    found = reciprocal_rank(scores=[[1, 1], [1]], relevance=[[0, 1], [1]], **ragged)
    assert found.tolist() == [1.0, 1.0]


@given(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=9))
def test_gains_of_ones_own(grades):
    scores = [np.arange(len(grades), 0, -1)]
    gain = {1: 0.5, 3: 7}
    mapped = [[gain.get(grade, grade) for grade in grades]]
    expected = pytest.approx(ndcg(scores=scores, relevance=mapped), abs=1e-15)
    for own in (gain, {str(grade): value for grade, value in gain.items()}):
        assert ndcg(scores=scores, relevance=[grades], gains=own) == expected
    both = ndcg(scores=scores, relevance=[grades], gains=gain, unretrieved=[[3, 0]])
    expected = ndcg(scores=scores, relevance=mapped, unretrieved=[[7, 0]])
    assert both == pytest.approx(expected, abs=1e-15)
