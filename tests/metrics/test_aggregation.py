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
        ([2, -1], "mean", 0.5),
        ([2, -1], "positive", 2.0),
        ([2, -1], "negative", -1.0),
        ([NAN, NAN, NAN], "mean", NAN),
        ([NAN, 0, 2], "mean", 1.0),
    ],
)
def test_relevance_of_an_image_by_hand(votes, ties, expected):
    np.testing.assert_allclose(image_relevance([votes], ties=ties), [expected])


@given(VOTES, st.sampled_from(["mean", "positive", "negative"]))
def test_relevance_of_images_agrees_with_the_paper(votes, ties):
    expected = [oracles.image_relevance(row, ties) for row in votes]
    result = image_relevance(votes, ties=ties)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    present = result[~np.isnan(result)]
    assert ((present >= -1) & (present <= 2)).all()


def test_none_is_a_missing_vote():
    assert image_relevance([[2, None, 1]]).tolist() == [1.5]


@given(VOTES, st.data())
def test_prompt_scores_are_means_of_their_images(votes, data):
    ids = data.draw(st.lists(st.sampled_from("abcde"), min_size=len(votes), max_size=len(votes)))
    names, scores = hbpp(votes, ids)
    assert names.tolist() == list(dict.fromkeys(ids))
    relevance = image_relevance(votes)
    for name, score in zip(names, scores, strict=True):
        images = relevance[[other == name for other in ids]]
        images = images[~np.isnan(images)]
        np.testing.assert_allclose(score, images.mean() if len(images) else NAN, atol=1e-12)


@pytest.mark.parametrize("label", [3, -2, 0.5, np.inf, -np.inf, 1e300])
def test_an_unknown_label_is_refused(label):
    with pytest.raises(MetricInputError, match=r"\[1, 0\]"):
        image_relevance([[2, 1], [label, 0]])
