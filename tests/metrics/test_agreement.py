import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    pairwise_accuracy,
)


def labels(max_raters=11, categories=4):
    shape = st.tuples(st.integers(2, 12), st.integers(2, max_raters))
    return shape.flatmap(lambda s: hnp.arrays(np.int64, s, elements=st.integers(0, categories - 1)))


@given(labels())
def test_fleiss_is_statsmodels(ratings):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")

    if ratings.min() == ratings.max():
        assert fleiss_kappa(ratings) == 1
        return
    expected = inter_rater.fleiss_kappa(inter_rater.aggregate_raters(ratings)[0])
    assert fleiss_kappa(ratings) == pytest.approx(expected, abs=1e-12)
    assert fleiss_kappa(ratings[::-1, ::-1]) == pytest.approx(expected, abs=1e-12)
    assert fleiss_kappa(np.char.add("x", ratings.astype(str))) == pytest.approx(expected, abs=1e-12)
    assert fleiss_kappa(ratings * 1000 - 500.5) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@given(labels(max_raters=2))
def test_cohen_is_sklearn(weights, ratings):
    from sklearn.metrics import cohen_kappa_score

    left, right = ratings.T[:2]
    if ratings.min() == ratings.max():
        assert cohen_kappa(left, right, weights=weights) == 1
        return
    expected = cohen_kappa_score(left, right, weights=weights)
    assert cohen_kappa(left, right, weights=weights) == pytest.approx(expected, abs=1e-12)
    assert cohen_kappa(right, left, weights=weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@given(labels(max_raters=5), st.data())
def test_krippendorff_is_the_package(level, ratings, data):
    krippendorff = pytest.importorskip("krippendorff")
    missing = data.draw(hnp.arrays(bool, ratings.shape))
    ratings = np.where(missing, np.nan, ratings.astype(float))
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) >= 2]
    present = pairable[~np.isnan(pairable)]
    if not present.size:
        with pytest.raises(MetricInputError, match="two ratings"):
            krippendorff_alpha(ratings, level=level)
        return
    value = krippendorff_alpha(ratings, level=level)
    if present.min() == present.max():
        assert value == 1
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = krippendorff.alpha(pairable.T, level_of_measurement=level)
    assert value == pytest.approx(expected, abs=1e-10)


def test_unanimous_single_class():
    """statsmodels and scikit-learn give NaN here, torchmetrics 0: full agreement is 1."""
    assert fleiss_kappa([["a", "a"], ["a", "a"]]) == 1
    assert cohen_kappa([3, 3], [3, 3]) == 1
    assert krippendorff_alpha([[2, 2], [2, np.nan], [2, 2]]) == 1
    assert math.isnan(fleiss_kappa([[1, 1]], single_class="nan"))
    assert math.isnan(cohen_kappa([1], [1], single_class="nan"))
    assert math.isnan(krippendorff_alpha([[1, 1]], single_class="nan"))
    # It is the limit of unanimous ratings whose second class gets rare.
    assert fleiss_kappa([[0, 0]] * 999 + [[1, 1]]) == 1


def test_raters_that_never_agree():
    assert cohen_kappa([0, 0], [1, 1]) == 0
    assert fleiss_kappa([[0, 1], [1, 0]]) == -1


def test_pairs_by_hand():
    scores = [[2, 1], [1, 2], [3, 3], [0, 5], [1, 0]]
    preference = [1, 1, -1, -1, 0]
    for score_ties, value, n in (("wrong", 2 / 4, 4), ("half", 2.5 / 4, 4), ("dropped", 2 / 3, 3)):
        result = pairwise_accuracy(scores, preference, score_ties=score_ties)
        assert result == {"pairwise_accuracy": value, "n": n, "n_ties": 1, "n_score_ties": 1}
    assert math.isnan(pairwise_accuracy([[1, 2]], [0])["pairwise_accuracy"])


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([-1, 0, 1])), min_size=1
    )
)
def test_swapping_both_images_changes_nothing(pairs):
    left, right, preference = map(np.array, zip(*pairs, strict=True))
    for score_ties in ("wrong", "half", "dropped"):
        one = pairwise_accuracy(np.stack([left, right], 1), preference, score_ties=score_ties)
        two = pairwise_accuracy(np.stack([right, left], 1), -preference, score_ties=score_ties)
        assert repr(one) == repr(two)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_is_the_whole_table(weights):
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 400, (2, 3_000))
    size = 400
    table = np.bincount(left * size + right, minlength=size * size).reshape(size, size)
    distance = np.abs(np.arange(size)[:, None] - np.arange(size)).astype(float)
    cost = {None: distance > 0, "linear": distance, "quadratic": distance**2}[weights]
    by_chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(left)
    expected = 1 - (cost * table).sum() / (cost * by_chance).sum()
    assert (table.sum(axis=0) + table.sum(axis=1)).all()
    assert cohen_kappa(left, right, weights=weights) == pytest.approx(expected, abs=1e-12)
