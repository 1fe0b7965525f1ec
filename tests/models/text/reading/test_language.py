"""Other languages are detected, and garbled words are distinguished from rare ones."""

import csv
from pathlib import Path

import numpy as np
import pytest

from pqpp_models import Predictor
from pqpp_models.text.reading.language import detect_language

TRANSLATIONS = Path(__file__).parents[2] / "sense" / "translations.tsv"
RARE = [
    "inertia",
    "a capybara",
    "an okapi beside a samovar",
    "a theodolite",
    "an ocelot and a marmoset",
]
UNCOMMON = [
    "chalamet beside a cybertruck",
    "tv",
    "a pikachu eating pizza in the park",
    "seven",
    "a photo of three",
    "2 cats",
]


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


@pytest.fixture(scope="module")
def translations():
    with TRANSLATIONS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == 50
    return {name: [row[name] for row in rows] for name in rows[0]}


def garble(text, random):
    """Return a text with a typo in each word of four or more letters."""
    words = []
    for word in text.split():
        if len(word) > 3:
            at, kind = random.integers(1, len(word) - 1), random.integers(3)
            ends = [word[at + 1 :], word[at + 1] + word[at] + word[at + 2 :], word[at] + word[at:]]
            word = word[:at] + ends[kind]
        words.append(word)
    return " ".join(words)


@pytest.mark.parametrize("language", ["German", "French", "Spanish", "Chinese"])
def test_other_languages_get_prior_and_are_named(static, translations, language):
    prompts = translations[language]
    result = static.predict_with_uncertainty(prompts)
    assert result.out_of_domain.mean() >= 0.96
    prior = static.calibration["prior"]
    unread = result.values[result.out_of_domain]
    np.testing.assert_allclose(unread, np.tile(prior, (len(unread), 1)), 1e-5)
    message = f"language: {language} (write the prompt in English)"
    assert np.mean([message in ignored for ignored in result.ignored]) >= 0.96


def test_english_is_in_domain(static, translations):
    estimates = static.predict_with_uncertainty(translations["English"])
    assert not estimates.out_of_domain.any() and not any(estimates.ignored)


def test_garbled_english_scores_lower(static, translations):
    random = np.random.default_rng(0)
    plain = [text for text in translations["English"] if sum(len(w) > 3 for w in text.split()) > 2]
    typos = [garble(text, random) for text in plain]
    before, after = (static.predict(texts, "alignment,mean_hbpp") for texts in (plain, typos))
    assert len(plain) > 30 and (after < before).all(axis=1).mean() >= 0.9
    prior = [0.526, 1.134]
    assert (after.mean(axis=0) < np.array(prior) - 0.15).all()
    ignored = static.predict_with_uncertainty(typos).ignored
    assert np.mean(["garbled: " in text for text in ignored]) >= 0.9


@pytest.mark.parametrize("prompt", [*RARE, *UNCOMMON])
def test_rare_words_are_not_garbled(static, prompt):
    estimates = static.predict_with_uncertainty([prompt])
    assert "garbled" not in estimates.ignored[0]
    assert not (prompt in RARE and estimates.out_of_domain[0])


@pytest.mark.parametrize(
    "prompt",
    ["dog dog dog dog dog dog", "the of and to in", "Tcennis rpacket.", "cat dog cat dog cat dog"],
)
def test_meaningless_prompts_score_low(static, prompt):
    values = static.predict([prompt, "a dog"], "alignment,mean_hbpp")
    assert (values[0] < values[1] - 0.3).all()
    retrieval = static.predict([prompt], "mean_p10")[0, 0]
    prior = static.calibration["prior"][static.targets.index("mean_p10")]
    assert retrieval == pytest.approx(prior, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("um cachorro vermelho corre na praia", "Portuguese"),
        ("un cane rosso corre sulla spiaggia", "Italian"),
        ("een rode hond rent op het strand", "Dutch"),
        ("czerwony pies biegnie po plaży", "Polish"),
        ("kırmızı bir köpek sahilde koşuyor", "Turkish"),
        ("seekor anjing merah berlari di pantai", "Indonesian"),
        ("một con chó trên bãi biển", "Vietnamese"),
        ("собака бежит по пляжу", "Russian or a language near it"),
        ("犬がビーチを走る", "Japanese"),
        ("강아지가 해변을 달린다", "Korean"),
        ("समुद्र तट पर एक कुत्ता", "Hindi or a language in its script"),
        ("كلب على الشاطئ", "Arabic or a language in its script"),
        ("सैकत पर 一 dog", "Hindi or a language in its script"),
        ('a sign that says "la vie est belle"', None),
        ("a dog in the style of le corbusier", None),
        ("qwrt zxcvb", None),
        ("42 !?", None),
        ("", None),
    ],
)
def test_detects_language(text, language):
    assert detect_language(text) == language
