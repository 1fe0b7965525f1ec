"""The lexical predictor: its features, its arithmetic, and what any text does to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.made_up import made_up
from models.text.reference_lexical import Reference

from pqpp_models import TARGETS, Predictor
from pqpp_models.text.lexical.features import DENSE, dense_features, weighted_entries
from pqpp_models.text.lexical.index import build_index
from pqpp_models.text.lexical.ngrams import KINDS, MOST_PAIRED, char_ngrams, split_words
from pqpp_models.text.lexical.predictor import SHIPPED, LexicalPredictor

ODD = [
    "?",
    "the",
    "zebra",
    "A man riding a wave on top of a surfboard.",
    "a man, a man, a man and a man",
    "qwzx vbnm \u4e00\u53ea\u732b \U0001f600\U0001f600",
    "Line one\nline two\r\nline \u2028three",
    "The dog\u2019s \ufb01sh costs \u00bd of \u2460",
    "e\u0301\u0301\u0301 \u200d\u0000 \ud800",
    "word " * 5_000,
    "x" * 100_000,
    " ".join(f"thing{n}" for n in range(300)),
]
anything = st.lists(st.one_of(st.text().filter(str.strip), st.sampled_from(ODD)), max_size=5)


@pytest.fixture(scope="module")
def shipped() -> LexicalPredictor:
    return LexicalPredictor.from_pretrained("lexical")


def test_shipped_files_are_small_and_say_where_they_come_from(shipped):
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) <= 1_000_000
    assert shipped.targets == TARGETS
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert card == shipped._card()
    for part in ("CC BY 4.0", "Apache-2.0", "validation", shipped.details["data"]):
        assert part in card


@pytest.mark.parametrize("prompt", ODD, ids=range(len(ODD)))
def test_same_as_the_plain_recomputation(prompt, shipped):
    expected = Reference(SHIPPED).predict(prompt)
    np.testing.assert_allclose(shipped.predict([prompt])[0], expected, rtol=0, atol=1e-9)


@pytest.mark.realdata
def test_same_as_the_plain_recomputation_on_validation(shipped, read_split):
    prompts, _ = read_split("validation")
    reference = Reference(SHIPPED)
    expected = [reference.predict(prompt) for prompt in prompts[::10]]
    np.testing.assert_allclose(shipped.predict(prompts[::10]), expected, rtol=0, atol=1e-9)


@given(anything)
@settings(max_examples=60)
def test_any_text_has_predictions_in_range(prompts):
    found = Predictor.from_pretrained("lexical").predict(prompts)
    assert found.shape == (len(prompts), 9)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert (found[:, :3] >= -1).all()
    assert (found[:, :3] <= 2).all()
    assert (found[:, 3:] >= 0).all()
    assert (found[:, 3:] <= 1).all()


def test_prediction_does_not_depend_on_the_neighbours(shipped, monkeypatch):
    together = shipped.predict(ODD)
    alone = np.vstack([shipped.predict([prompt]) for prompt in ODD])
    np.testing.assert_array_equal(together, alone)
    monkeypatch.setattr(LexicalPredictor, "chunk_size", 3)
    np.testing.assert_array_equal(shipped.predict(ODD), together)
    np.testing.assert_array_equal(shipped.predict(ODD[::-1])[::-1], together)


def test_targets_are_columns_of_the_whole(shipped):
    whole = shipped.predict(ODD)
    np.testing.assert_array_equal(shipped.predict(ODD, "mean_rr,glide_hbpp"), whole[:, [8, 0]])


def test_progress_goes_to_standard_error_and_changes_nothing(shipped, capsys):
    np.testing.assert_array_equal(shipped.predict(ODD, progress=True), shipped.predict(ODD))
    assert "lexical" in capsys.readouterr().err


def test_words_seen_before_do_not_change_a_prediction():
    fresh = Predictor.from_pretrained("lexical")
    used = Predictor.from_pretrained("lexical")
    used.predict(made_up(200)[0])
    np.testing.assert_array_equal(fresh.predict(ODD), used.predict(ODD))


def test_memory_of_words_is_bounded(shipped, monkeypatch):
    monkeypatch.setattr("pqpp_models.text.lexical.index._MOST_WORDS", 10)
    few = Predictor.from_pretrained("lexical")
    np.testing.assert_array_equal(few.predict(ODD), shipped.predict(ODD))
    assert len(few.index._known) <= 10


def test_prompt_without_words_gets_the_intercept(shipped):
    found = shipped._score(["", " \n"], TARGETS)
    np.testing.assert_array_equal(found, [shipped.weights.intercept] * 2)


def test_words():
    assert split_words("Don't STOP, 2nd_try!") == ["don't", "stop", ",", "2nd_try", "!"]
    assert split_words("\U0001f600\u4e00\u53ea\u732b") == ["\U0001f600", "\u4e00\u53ea\u732b"]
    assert len(split_words("ab " * 10_000)) == 667
    assert list(char_ngrams("x" * 50)) == list(char_ngrams("x" * 40))
    assert list(char_ngrams("\u00e9")) == [" \u00e9", "\u00e9 ", " \u00e9 "]


def test_index_counts_prompts_not_occurrences():
    index = build_index(["a red red cat.", "a red dog", "a big cat"])
    assert list(index.words) == ["a", "cat", "red", ".", "big", "dog"]
    assert index.frequencies["word"].tolist() == [3, 2, 2]
    encoded = index.encode(["red cat dog", "big cat cat", ""])
    assert encoded.kinds["word"].ids.tolist() == [2, 1, 5, 4, 1, 1]
    assert encoded.kinds["word"].rows.tolist() == [0, 0, 0, 1, 1, 1]
    # Only "a red" is in two prompts; of pairs, those seen once are known as well.
    assert index.n_known("bigram") == 1
    assert index.n_weighted("pair") == 0
    assert index.n_known("pair") == 3  # cat red, red dog, big cat
    assert (encoded.kinds["pair"].ids >= 0).tolist() == [True, False, True, True]


def test_bigrams_do_not_cross_prompts():
    index = build_index(["red cat", "red cat", "cat red"])
    assert index.encode(["red", "cat"]).kinds["bigram"].ids.tolist() == []
    assert (index.encode(["red cat", "cat red"]).kinds["bigram"].ids >= 0).tolist() == [True, False]


def test_pairs_are_bounded():
    words = " ".join(f"w{n}" for n in range(200))
    found = build_index([words, words]).encode([words]).kinds["pair"]
    assert len(found.ids) == MOST_PAIRED * (MOST_PAIRED - 1) // 2


def test_entries_have_length_one():
    prompts = made_up(50)[0]
    index = build_index(prompts)
    encoded = index.encode([*prompts, "", "qwzx"])
    for kind in KINDS:
        rows, _, values = weighted_entries(index, kind, encoded.kinds[kind], 52)
        lengths = np.bincount(rows, weights=values**2, minlength=52)
        # A prompt whose n-grams were all seen only once has no entries.
        np.testing.assert_allclose(lengths, np.isin(np.arange(52), rows))
        assert lengths[50] == 0


def test_leaving_one_out_is_an_index_of_the_others():
    """A training prompt sees what a new prompt sees of an index built without it."""
    prompts = list(dict.fromkeys(made_up(60)[0]))
    index = build_index(prompts)
    n = len(prompts)
    inside = dense_features(index, prompts, index.encode(prompts), leave_one_out=True)
    # With one prompt less, a logarithm of a frequency's inverse moves by a constant.
    rarity, association = np.log((n + 1) / n), np.log(n / (n - 1))
    for row in range(0, n, 7):
        others = build_index(prompts[:row] + prompts[row + 1 :])
        outside = dense_features(others, prompts[row : row + 1], others.encode([prompts[row]]))[0]
        for name, in_value, out_value in zip(DENSE, inside[row], outside, strict=True):
            shift = 0.0
            if name.endswith(("rarity_mean", "rarity_max")):
                shift = rarity
            elif name in ("association_mean", "association_max", "association_min"):
                shift = association
            if not name.endswith("_sum"):
                assert in_value == pytest.approx(out_value + shift, abs=1e-12), name
