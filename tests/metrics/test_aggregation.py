import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from metrics import oracles

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import hbpp, image_relevance

NAN = np.nan
LABELS = st.sampled_from([2.0, 1.0, 0.0, -1.0, NAN])
VOTES = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=LABELS
)


@pytest.mark.parametrize(
    ("votes", "ties", "expected"),
    [
        ([2, 2, 1], "mean", 5 / 3),
        ([2, 2, -1], "mean", 2.0),
        ([0, -1, 2], "mean", -0.5),
        ([2, -1], "mean", 0.5),
        ([2, -1], "positive", 2.0),
        ([2, -1], "negative", -1.0),
        ([2, 1, 0, -1], "positive", 1.5),
        ([2, 1, 0, -1], "negative", -0.5),
        ([NAN, 1, NAN], "mean", 1.0),
        ([NAN, NAN, NAN], "mean", NAN),
        ([NAN, NAN, NAN], "positive", NAN),
        ([NAN, 0, 2], "mean", 1.0),
    ],
)
def test_an_image_by_hand(votes, ties, expected):
    np.testing.assert_allclose(image_relevance([votes], ties=ties), [expected])


@given(VOTES, st.sampled_from(["mean", "positive", "negative"]))
def test_images_as_the_paper_says(votes, ties):
    expected = [oracles.image_relevance(row, ties) for row in votes]
    result = image_relevance(votes, ties=ties)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    present = result[~np.isnan(result)]
    assert ((present >= -1) & (present <= 2)).all()


@given(VOTES, st.randoms(use_true_random=False))
def test_annotators_have_no_order(votes, random):
    columns = list(range(votes.shape[1]))
    random.shuffle(columns)
    np.testing.assert_allclose(
        image_relevance(votes[:, columns]), image_relevance(votes), atol=1e-12
    )


def test_none_is_an_absent_vote():
    assert image_relevance([[2, None, 1]]).tolist() == [1.5]


@given(VOTES, st.data())
def test_prompts_are_means_of_their_images(votes, data):
    ids = data.draw(st.lists(st.sampled_from("abcde"), min_size=len(votes), max_size=len(votes)))
    names, scores = hbpp(votes, ids)
    assert names.tolist() == list(dict.fromkeys(ids))
    relevance = image_relevance(votes)
    for name, score in zip(names, scores, strict=True):
        own = relevance[[one == name for one in ids]]
        own = own[~np.isnan(own)]
        np.testing.assert_allclose(score, own.mean() if len(own) else NAN, atol=1e-12)


@given(st.lists(st.integers(-5, 5) | st.integers(-(2**62), 2**62), min_size=1, max_size=40))
def test_integer_ids_group_as_their_texts_do(ids):
    votes = np.resize([2.0, 1, 0, -1, 2, 2], (len(ids), 3))
    names, scores = hbpp(votes, ids)
    text_names, text_scores = hbpp(votes, [str(one) for one in ids])
    assert [str(name) for name in names.tolist()] == text_names.tolist()
    assert scores.tolist() == text_scores.tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_every_integer_type_numbers_alike(dtype):
    ids = np.array([100, 3, 100, 7, 3, 120], dtype=dtype)
    names, scores = hbpp(np.arange(6)[:, None] % 3, ids)
    assert names.tolist() == [100, 3, 7, 120]
    np.testing.assert_allclose(scores, [1.0, 1.0, 0.0, 2.0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64])
def test_integer_ids_over_the_whole_range(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    names, _ = hbpp(np.ones((3, 1)), np.array([high, low, high], dtype=dtype))
    assert names.tolist() == [high, low]
    names, _ = hbpp(np.ones((3, 1)), np.array([high, high - 1, high], dtype=dtype))
    assert names.tolist() == [high, high - 1]


@pytest.mark.parametrize("container", [list, tuple, np.array, lambda x: np.array(x, dtype=object)])
@pytest.mark.parametrize("adjacent", [True, False])
def test_containers_of_strings_group_alike(container, adjacent):
    ids = [f"mscoco-{i // 4 if adjacent else i % 300}" for i in range(1200)]
    votes = np.resize([2.0, 1, 0, -1, 2], (1200, 3))
    names, scores = hbpp(votes, container(ids))
    plain_names, plain_scores = hbpp(votes, [int(one.split("-")[1]) for one in ids])
    assert names.tolist() == [f"mscoco-{number}" for number in plain_names]
    assert scores.tolist() == plain_scores.tolist()


def test_adjacent_ids_that_come_back_are_one_prompt():
    names, scores = hbpp([[2], [2], [0], [0], [1]], ["a", "a", "b", "b", "a"])
    assert names.tolist() == ["a", "b"]
    np.testing.assert_allclose(scores, [5 / 3, 0])


def test_pandas_columns_are_taken():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": ["x", "y", "x"], "a": [2, 1, 0], "b": [2, None, 0]})
    names, scores = hbpp(frame[["a", "b"]].to_numpy(), frame["id"])
    assert names.tolist() == ["x", "y"]
    assert scores.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("bad", [3, -2, 0.5, np.inf, -np.inf, 1e300])
def test_an_unknown_label_is_refused(bad):
    with pytest.raises(MetricInputError, match=r"\[1, 0\]"):
        image_relevance([[2, 1], [bad, 0]])


@pytest.mark.parametrize(
    ("labels", "ids", "words"),
    [
        ([], [], "shape"),
        (np.empty((0, 3)), [], "empty"),
        ([[]], ["a"], "empty"),
        ([1, 2], ["a", "b"], "dimension"),
        ([["2", "1"]], ["a"], "str"),
        ([[2, 1], [2]], ["a", "b"], "different lengths"),
        ([[1 + 2j]], ["a"], "complex"),
        ([[2, 1]], ["a", "b"], "2 `prompt_ids` and 1 `labels`"),
        ([[2, 1]], "a", "single string"),
        ([[2], [1]], ["a", 1], "int, str"),
        ([[2], [1]], [1.0, 2.0], "float"),
        ([[2], [1]], np.array([1.0, 2.0]), "float"),
        ([[2], [1]], [True, False], "bool"),
        ([[2], [1]], ["a", None], "NoneType"),
        ([[2], [1]], [["a"], ["b"]], "list"),
        ([[2], [1]], np.array([["a"], ["b"]]), "1 dimension"),
    ],
)
def test_bad_input_is_one_typed_error(labels, ids, words):
    with pytest.raises(MetricInputError, match=words):
        hbpp(labels, ids)


def test_an_unknown_tie_rule_is_refused():
    with pytest.raises(MetricInputError, match="'mean', 'positive', 'negative'"):
        image_relevance([[2]], ties="random")


def test_masked_arrays_are_refused():
    with pytest.raises(MetricInputError, match="masked"):
        image_relevance(np.ma.masked_array([[2.0, 1.0]], mask=[[True, False]]))


def test_ids_keep_their_type_to_the_last_digit():
    one, other = uuid.UUID(int=1), uuid.UUID(int=2)
    for ids in (
        [2**60, 2**60 + 1, 2**60],
        [2**63, -1, 2**63],
        [2**70, 2**70 + 1, 2**70],
        np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
        [one, other, one],
        ["1", "01", "1"],
    ):
        names, scores = hbpp([[2], [0], [1]], ids)
        assert names.tolist() == list(ids)[:2]
        assert [type(name) for name in names.tolist()] == [type(one) for one in names[:2].tolist()]
        assert scores.tolist() == [1.5, 0.0]


@pytest.mark.parametrize("adjacent", [True, False])
@pytest.mark.parametrize("wrong", [None, 7, b"id-3", ["id-3"], float("nan")])
def test_one_other_among_many_strings_is_refused(adjacent, wrong):
    ids = [f"id-{i // 4 if adjacent else i % 300}" for i in range(1200)]
    ids[700] = wrong
    with pytest.raises(MetricInputError, match=r"`prompt_ids` holds .*str"):
        hbpp(np.ones((1200, 1)), ids)


def test_strings_that_no_encoding_has_are_ids():
    ids = [f"\ud800{i % 300}" for i in range(1200)]
    assert hbpp(np.ones((1200, 1)), ids)[0].tolist() == ids[:300]
