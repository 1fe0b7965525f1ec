"""Rules that all ranking metrics share: ties by document id, types of ids, gains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqpp_metrics.functional import ndcg, reciprocal_rank


@pytest.mark.parametrize(("above", "below"), [(10, 9), ("d9", "d10"), (2**63 - 1, 2**63 - 2)])
def test_document_ids_may_be_one_array_for_each_query(above, below):
    ids = [np.array([below, above]), np.array([above, below])]
    options = {"ties": "docno", "document_ids": ids}
    found = reciprocal_rank(scores=[[1, 1], [1, 1]], relevance=[[0, 1], [0, 1]], **options)
    assert found.tolist() == [1.0, 0.5]
    ragged = {"ties": "docno", "document_ids": [ids[0], ids[1][:1]]}
    found = reciprocal_rank(scores=[[1, 1], [1]], relevance=[[0, 1], [1]], **ragged)
    assert found.tolist() == [1.0, 1.0]


@given(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=9))
def test_gains_given_for_grades(grades):
    scores = [np.arange(len(grades), 0, -1)]
    gain = {1: 0.5, 3: 7}
    mapped = [[gain.get(grade, grade) for grade in grades]]
    expected = pytest.approx(ndcg(scores=scores, relevance=mapped), abs=1e-15)
    for gains in (gain, {str(grade): value for grade, value in gain.items()}):
        assert ndcg(scores=scores, relevance=[grades], gains=gains) == expected
    result = ndcg(scores=scores, relevance=[grades], gains=gain, unretrieved=[[3, 0]])
    expected = ndcg(scores=scores, relevance=mapped, unretrieved=[[7, 0]])
    assert result == pytest.approx(expected, abs=1e-15)
