"""Detection of prompts that are not English: gibberish, other languages and code."""

import csv

import numpy as np
import pytest

from pqpp_datasets.prompt_text import normalise
from pqpp_models.text.reading.known_words import (
    KNOWN_WORDS_TENSORS,
    PLAIN_FROM,
    UNREAD_BELOW,
    KnownWords,
)

TEXTS = [
    "a brown dog runs along the beach near two children",
    "three black cats sit on the roof of an old house",
    "a woman in a red dress holds a cup of coffee at the table",
] * 40
VOCABULARY = ["viylin", "##ing", "[UNK]", "cello", "ne", "gorilla"]
NOT_ENGLISH = [
    *("un perro corre por la playa", "ein hund rennt am strand entlang", "собака бежит по пляжу"),
    *("sahilde koşan bir köpek", "pies biegnie po plaży", "一只狗在海滩上奔跑", "qwrt zxcvb plmk"),
    *("12 345", "?!", "\U0001f600 \U0001f436", "<div class='dog'>", "x = dog.run(beach)"),
]


@pytest.fixture(scope="module")
def known():
    return KnownWords.fit(TEXTS, VOCABULARY)


def test_knows_only_english(known):
    assert known.rate_known([*TEXTS[:3], "E = mc^2 on a table of a woman"]).tolist() == [1.0] * 4
    assert known.rate_known(NOT_ENGLISH).tolist() == [0.0] * len(NOT_ENGLISH)
    assert known.rate_known([]).shape == (0,)


def test_share_matches_hand_computed_values():
    # 'dog' is in 63 of 63 texts: log2(64)/log2(65) = .997, 15 of 15 levels; 'qqq' is unknown.
    known = KnownWords.fit(["dog"] * 63)
    assert known.read("dog").share == 1.0
    unknown = known.read("qqq").share
    assert unknown < 0.1
    # Weights: 'dog' and 'qqq' three letters of four, '§' a half, code of six letters 6/4.
    assert known.read("dog qqq").share == pytest.approx((1 + unknown) / 2)
    assert known.read("dog §").share == pytest.approx(0.75 / 1.25)
    assert known.read("dog f(x)=1").share == pytest.approx((0.75 - 0.3 * 1.5) / 2.25)
    assert known.read("dog 12").share == 1.0
    assert known.read("dog por").share == pytest.approx((1 - 0.3) / 2)


def test_vocabulary_and_inflected_words_are_partly_known(known):
    viylin, houses, unlikely = (known.read(word).share for word in ("viylin", "houses", "xq"))
    assert UNREAD_BELOW < viylin < PLAIN_FROM  # rounded to seven of fifteen
    assert houses > PLAIN_FROM and unlikely == 0
    assert known.read("ne").share < UNREAD_BELOW  # too short to be a word


def test_arrays_round_trip_and_rejects_others(known):
    tensors = known.to_tensors()
    restored = KnownWords.from_tensors(tensors)
    prompts = [*TEXTS, *NOT_ENGLISH]
    assert list(map(restored.read, prompts)) == list(map(known.read, prompts))
    assert KnownWords.from_tensors({"other": np.zeros(1)}) is None
    assert sum(array.nbytes for array in tensors.values()) < 200_000
    for name in KNOWN_WORDS_TENSORS:
        with pytest.raises(ValueError, match=name):
            KnownWords.from_tensors({**tensors, name: tensors[name][:-1]})
        with pytest.raises(ValueError, match=name):
            KnownWords.from_tensors({k: v for k, v in tensors.items() if k != name})


@pytest.fixture(scope="module")
def trained(real_data):
    """The known words of a training without the studies of `alignment`."""
    from pqpp_models import Predictor
    from pqpp_models.text.training.data import read_captions

    train = real_data / "pqpp" / "v1.0" / "dataset" / "train.csv"
    with train.open(encoding="utf-8", newline="") as file:
        prompts = [row["best_caption"] for row in csv.DictReader(file)]
    captions = read_captions(str(real_data / "captions" / "coco_val2014_captions.txt"), prompts)
    pieces = Predictor.from_pretrained("static").tokens.vocabulary
    return KnownWords.fit(map(normalise, [*prompts, *captions]), pieces)


@pytest.mark.daily
@pytest.mark.realdata
def test_few_study_prompts_are_out_of_domain(trained, real_studies):
    for name, source in real_studies.items():
        assert (trained.rate_known([*map(normalise, source.prompts)]) == 0).mean() <= 0.05, name


def test_single_unknown_word_is_not_garbled(known):
    """It may be a name or a typo; two unknown words, or one alone, are garbled."""
    read = ["a cup of matcha", "vaporwave sunset", "a coffee surounding a kettle"]
    assert not any([*known.rate_garbled(read), *map(known.explain_unread, read)])
    assert known.rate_garbled(["qwlkj", "a smafml vessef on a table"]).tolist() == [1.0, 1.0]
    # After an article, it may be a name, so the prediction is the average.
    assert (known.rate_garbled(["a zyphlo"])[0], known.rate_known(["a zyphlo"])[0]) == (0.0, 0.0)
    assert known.explain_unread("a zyphlo") == "unknown: zyphlo"


@pytest.mark.daily
@pytest.mark.realdata
def test_few_study_prompts_are_garbled(trained, real_studies):
    for name, source in real_studies.items():
        # Some of DrawBench's prompts are garbled on purpose, and ImagenHub has some of them.
        limit = 0.1 if name in ("drawbench", "imagenhub") else 0.01
        garbled = trained.rate_garbled([*map(normalise, source.prompts)]) >= 0.5
        assert garbled.mean() <= limit, name
