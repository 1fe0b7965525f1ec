"""The paper's eight text features, compared with hand counts."""

import numpy as np
import pytest

from pqpp_models.measures.linguistic import MEASURES, tokenize

pytestmark = pytest.mark.filterwarnings("error")

# Prompt, then by hand: words, characters between blanks, proper nouns, acronyms, numerals,
# conjunctions, prepositions.
COUNTS = [
    ("a cat", 2, 4, 0, 0, 0, 0, 0),
    ("Two men and a DVD player from 1998, on a table.", 11, 37, 1, 1, 1, 1, 2),
    ("London is near NASA and the USA", 7, 25, 3, 2, 0, 1, 1),
    ("3 dogs, 12 cats or 1-2 birds!", 7, 23, 0, 0, 4, 1, 0),
    ("He goes to it, yet so what?", 7, 21, 0, 0, 0, 2, 1),
    ("(the) 'end'...", 3, 13, 0, 0, 0, 0, 0),  # (the, 'end, ...)
    ("on 2020-05-17 or 17/05/2020", 4, 24, 0, 0, 2, 1, 1),
]


def compute_features(prompts, names=tuple(MEASURES)):
    return np.column_stack([MEASURES[name].compute(prompts, None) for name in names])


@pytest.mark.realdata
@pytest.mark.parametrize("row", COUNTS, ids=lambda row: row[0])
def test_features_match_hand_counts(row, nltk_data):
    prompt, words, characters, *counts = row
    names = ["n_words", "mean_word_length", "proper_noun_ratio", "acronym_ratio"]
    names += ["numeral_ratio", "conjunction_ratio", "preposition_ratio"]
    expected = [words, characters / len(prompt.split()), *(count / words for count in counts)]
    result = compute_features([prompt], names)[0]
    assert dict(zip(names, result, strict=True)) == pytest.approx(
        dict(zip(names, expected, strict=True))
    )


@pytest.mark.realdata
def test_counts_synsets(nltk_data):
    # WordNet 3.0: "cat" has 10 synsets, "zebra" 1; "the" and "A" are stopwords, "qwzx" is no word.
    prompts = ["cat", "the cat", "A Cat.", "zebra cat cat", "qwzx", "the of and"]
    assert compute_features(prompts, ["n_synsets"])[:, 0].tolist() == [10, 10, 10, 21, 0, 0]


@pytest.mark.realdata
def test_tokenizes_prompts(nltk_data):
    assert tokenize("A dog, (and) it's here.") == ("A", "dog", "and", "it", "'s", "here")
    assert tokenize('He said "no" ...') == ("He", "said", "``", "no", "''", "...")
