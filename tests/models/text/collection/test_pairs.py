"""Counts of word pieces and of their pairs in captions."""

import numpy as np

from pqpp_models.text.collection.pairs import PiecePairs

COMMON = list(range(15))  # in every caption, so excluded


def make_captions(n=60, seed=0):
    random = np.random.default_rng(seed)
    return [
        [*COMMON, *random.integers(15, 40, size=random.integers(0, 9)).tolist()] for _ in range(n)
    ]


def test_features_match_hand_counts():
    pairs = PiecePairs.build([[*COMMON, 20, 21], [*COMMON, 20, 21, 22], [*COMMON, 21]], 40)
    row = pairs.summarise([[20, 3, 22, 22, 21]])[0]
    logs = np.log1p([2, 3, 1])  # of the pieces 20, 21, 22
    together = np.array([2.0, 1, 1])  # of 20 with 21, 20 with 22, 21 with 22
    pmi = np.log(together + 0.05) + np.log(3) - logs[[0, 0, 1]] - logs[[1, 2, 2]]
    piece_sums = [3, logs.sum(), (logs**2).sum(), (np.log(4) - logs).sum()]
    pair_sums = [3, np.log1p(together).sum(), (np.log1p(together) ** 2).sum(), pmi.sum()]
    np.testing.assert_allclose(row[:4], piece_sums, rtol=1e-6)
    np.testing.assert_allclose(row[17:21], pair_sums, rtol=1e-6)  # after 9 sums and 8 means
    assert not pairs.summarise([[3], []]).any()


def test_exclude_self_equals_counts_without_caption():
    rows = make_captions()
    expected = PiecePairs.build(rows, 40).summarise(rows, exclude_self=True)
    for index, row in enumerate(rows):
        others = PiecePairs.build([*rows[:index], *rows[index + 1 :]], 40)
        assert np.array_equal(others.summarise([row])[0], expected[index])


def test_features_do_not_depend_on_batch():
    rows = make_captions(400)
    pairs = PiecePairs.build(rows, 40)
    alone = np.concatenate([pairs([row]) for row in rows])
    assert np.array_equal(pairs(rows), alone) and np.abs(alone).max() <= 5
