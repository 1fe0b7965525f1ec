import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pqpp_metrics.functional import keyword_f1
from pqpp_metrics.functional.keywords import prompt_tokens


@given(st.lists(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=6), min_size=1))
def test_labels_agree_with_sklearn(samples):
    from sklearn.metrics import precision_recall_fscore_support

    pairs = [list(zip(*sample, strict=True)) or [(), ()] for sample in samples]
    predictions, references = zip(*pairs, strict=True)
    result = keyword_f1(predictions, references)
    flat_predictions, flat_references = (np.concatenate(side) for side in (predictions, references))
    if not len(flat_predictions) or (flat_predictions.all() and flat_references.all()):
        assert math.isnan(result["keyword_f1"])
        return
    expected = precision_recall_fscore_support(
        flat_references, flat_predictions, pos_label=0, average="binary", zero_division=np.nan
    )
    names = ("precision", "recall", "keyword_f1")
    np.testing.assert_allclose([result[n] for n in names], expected[:3], atol=1e-12)


def test_marked_texts_by_hand():
    predictions = ["a red_0 cat, two_0 dogs_0", "the sky", "dog_0 dog_0"]
    references = ["a red_0 cat_0, two_0 dogs", "the sky_0", "dog_0 dog dog"]
    result = keyword_f1(predictions, references)
    assert (result["n_predicted"], result["n_marked"], result["n_hits"]) == (5, 5, 3)
    assert result["precision"] == result["recall"] == result["keyword_f1"] == 0.6


def test_tokens_are_split_by_the_published_rule():
    """At `,.?!":;` and the plain space: tabs and line breaks are part of a token."""
    assert prompt_tokens("a cat\nsitting on a mat") == ["a", "cat\nsitting", "on", "a", "mat"]
    assert prompt_tokens('a;b:c!d?e.f,g "h"  i\tj\u00a0k') == [*"abcdefgh", "i\tj\u00a0k"]
    assert prompt_tokens("it's a mid-night dog's") == ["it's", "a", "mid-night", "dog's"]
    assert prompt_tokens(" ,. ") == []


def test_separators_and_a_suffix_without_a_word():
    result = keyword_f1(['"red_0",cat_0!  _0 x_00'], ["red_0 cat_0"])
    assert (result["n_predicted"], result["n_hits"]) == (2, 2)
