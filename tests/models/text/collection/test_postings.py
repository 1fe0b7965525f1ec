"""Scope and coherence: hand-computed values and naive recomputation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqpp_models.text.arrays import normalise_rows
from pqpp_models.text.collection.collection import (
    COHERENCE_NEIGHBOURS,
    SCOPE_RANKS,
    SCOPE_SHARES,
    Collection,
    Postings,
    measure_coherence,
    read_word_tables,
)
from pqpp_models.text.reading.words import WordTables, find_content_words, to_words

CAPTIONS = ["a red cat", "two cats on a mat", "a dog", "red mats, a red cat", "the of"]
WORDS = ["cat", "dog", "red", "mat", "zebra", "a", "on", "the", "two"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6)
RANDOM = np.random.default_rng(0)


def compute_scope(prompt, captions):
    """Compute the scope from the words themselves."""
    word_lists = [words for words in map(to_words, captions) if words != to_words(prompt)]
    sets = [set(find_content_words(words)) for words in word_lists]
    content = find_content_words(to_words(prompt))
    rarity = {
        word: np.log((len(sets) + 1) / (sum(word in one for one in sets) + 1)) for word in content
    }
    total = sum(rarity.values())
    hits = np.array([sum(word in one for word in content) for one in sets])
    share = np.array([sum(rarity[word] for word in content if word in one) for one in sets])
    share = share / max(total, 1e-6)
    top = [*np.sort(share)[::-1], *np.zeros(max(SCOPE_RANKS))]
    return [
        *(np.log1p((hits >= max(len(content) - missing, 1)).sum()) for missing in range(3)),
        *(np.log1p((share > minimum).sum()) for minimum in SCOPE_SHARES),
        *(top[rank - 1] for rank in SCOPE_RANKS),
        *(total, total / max(len(content), 1)),
    ]


def test_scope_counts_matching_captions():
    result = Postings.build(CAPTIONS).measure_scope(["a cat and a red mat", "a zebra", ""])
    # One caption has all three words, two more have two of them, none more has one.
    np.testing.assert_allclose(np.expm1(result[0, :3]), [1, 3, 3], atol=1e-5)
    assert not result[1, :3].any() and not result[2].any()
    assert result[1, -1] == pytest.approx(np.log(6), abs=1e-5)


@given(st.lists(TEXTS, min_size=1, max_size=12), TEXTS)
def test_scope_matches_naive_count(captions, prompt):
    captions, prompt = [" ".join(words) for words in captions], " ".join(prompt)
    result = Postings.build(captions).measure_scope([prompt])[0]
    np.testing.assert_allclose(result, compute_scope(prompt, captions), atol=1e-5)


def test_postings_round_trip_without_text():
    tables, postings = WordTables.build(CAPTIONS), Postings.build(CAPTIONS)
    arrays = Collection({}, {}, 0, tables, postings).to_tensors()
    assert all(array.dtype.kind in "ui" for array in arrays.values())
    _, loaded = read_word_tables(arrays, len(CAPTIONS))
    np.testing.assert_array_equal(loaded.measure_scope(CAPTIONS), postings.measure_scope(CAPTIONS))


def test_coherence_is_mean_pairwise_cosine():
    known, rows = (normalise_rows(RANDOM.normal(size=(size, 8))) for size in (130, 300))
    result = measure_coherence(rows, known)
    assert result.shape == (300, 2 * len(COHERENCE_NEIGHBOURS) + 1)
    for number in (0, 299):
        cosines = known @ rows[number]
        order = np.argsort(-cosines)
        for column, k in enumerate(COHERENCE_NEIGHBOURS):
            pairs = (known[order[:k]] @ known[order[:k]].T)[np.triu_indices(k, 1)]
            assert result[number, 2 * column] == pytest.approx(pairs.mean(), abs=1e-4)
            deviation = cosines[order[:k]].std()
            assert result[number, 2 * column + 1] == pytest.approx(deviation, abs=1e-4)
        middle = np.linalg.norm(known[order[:20]].mean(axis=0))
        assert result[number, -1] == pytest.approx(middle, abs=1e-4)


@pytest.mark.parametrize("size", [150, 50])
def test_coherence_excludes_own_caption(size):
    known = normalise_rows(RANDOM.normal(size=(size, 8)))
    with_own, without = (
        measure_coherence(known[:1], known),
        measure_coherence(known[:1], known[1:]),
    )
    np.testing.assert_allclose(with_own, without, atol=1e-5)
