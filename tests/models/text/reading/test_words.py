"""Difficulty features of prompts, and word counts of a collection."""

import numpy as np

from pqpp_models.text.reading.words import (
    DIFFICULTY_FEATURES,
    WordTables,
    compute_difficulty,
    find_content_words,
    to_words,
)


def test_difficulty_features_match_their_names():
    tables = WordTables.build(["a red cat on a mat", "two cats", "a dog"])
    prompts = [
        'A sign that says "no dogs"',
        "five cats to the left of 12 boxes",
        "a cat without a hat",
        "",
    ]
    rows = compute_difficulty(prompts, tables)
    result = {name: rows[:, i].tolist() for i, name in enumerate(DIFFICULTY_FEATURES)}
    assert result["lettering"] == [1, 0, 0, 0]
    assert result["numbers"] == [0, 2, 0, 0]
    assert result["negation"] == [1, 0, 1, 0]
    assert result["places"] == [0, 1, 0, 0]
    assert np.isfinite(rows).all()


def test_exclude_self_ignores_own_caption():
    tables = WordTables.build(["a purple zebra", "a red cat"])
    content = find_content_words(to_words("a purple zebra"))
    assert (tables.get_rarity(content, exclude_self=True) > tables.get_rarity(content)).all()
    assert tables.count_unseen_pairs(content) == 0
    assert tables.count_unseen_pairs(["cat", "zebra"]) == 1
    restored = WordTables(tables.counts, tables.pairs, tables.size)
    assert np.array_equal(restored.get_rarity(["cat"]), tables.get_rarity(["cat"]))
