"""Rewrites: the meaning by hand, attacks that are refused."""

import statistics
from pathlib import Path

import numpy as np
import pytest

from pqpp_datasets.load import load_benchmark
from pqpp_engines.errors import EngineError
from pqpp_engines.rewrite import Judge, meaning_lost
from pqpp_engines.rewrite.judge import TOO_UNSURE, shared_error
from pqpp_files.read_table import read_table

pytestmark = pytest.mark.nltk


@pytest.fixture(scope="module")
def captions(real_data):
    rows = load_benchmark("pqpp-v1.0", data_dir=str(real_data), split="validation")
    return list(rows["prompt"])


@pytest.mark.parametrize(
    ("original", "rewrite", "lost"),
    [
        ("two dogs", "2 dogs", ""),
        ("two dogs", "a pair of dogs", ""),
        ("two dogs", "three dogs", "numbers differ: 2 became 3"),
        ("two dogs", "dogs", "numbers differ: 2 became none"),
        ("a dog", "two dogs", "numbers differ: none became 2"),
        ("a dog without a leash", "a dog with a leash", "negations differ: negation became none"),
        ("a dog", "a dog without a leash", "negations differ: none became negation"),
        ("a man who isn't smiling", "a man not smiling", ""),
        ("a dog under a table", "a dog beneath a table", ""),
        ("a dog under a table", "a dog on a table", "the place is lost: below"),
        ("a bear left of a tree", "a bear right of a tree", "the place is lost: left"),
        ("a couch", "a sofa", ""),
        ("a dog", "a puppy", ""),
        ("a puppy", "a dog", "a word is lost: puppy"),
        ("a red car", "a car", "a word is lost: red"),
        ("men riding horses", "a man rides a horse", ""),
        ("a dog chases a cat", "a cat is chased by a dog", ""),
        ("a dog chases a cat", "a puppy chasing a cat", ""),
        ("a cat on a dog", "on a dog, a cat", ""),
        ("a woman with a dog", "a dog with a woman", ""),  # says the same
        ("a man throws a ball to a dog", "a dog throws a ball to a man", ""),  # not seen
        ("gel wrist wrest", "gel wrist rest", "a word is lost: wrest"),
        ("working class life", "novelty", "a word is lost: working"),
    ],
)
def test_what_a_rewrite_has_lost(original, rewrite, lost):
    assert meaning_lost(original, rewrite) == lost


def test_what_is_surely_better_and_says_the_same_is_accepted():
    judge = Judge("mean_hbpp", "static-train", confidence=0.5)
    original, better = "a couch dog on", "a dog on a couch"
    refused = ["a couch", original, " ", "xqzt vrrk plomf", "a dog on a couch, two cats"]
    verdicts = judge(original, [better, *refused])
    assert verdicts[0].accepted == (verdicts[0].gain > 0)
    reasons = [one.reason for one in verdicts[1:]]
    assert reasons[0] == "a word is lost: dog" and reasons[1] == "it is the same prompt"
    assert reasons[2] == "it is blank" and reasons[3].startswith("it is far")
    assert reasons[4] == "numbers differ: none became 2"
    assert judge.rank(original, [*refused, better])[0].prompt == better


@pytest.mark.parametrize("target", ["mean_hbpp", "mean_p10"])
def test_the_probability_is_that_of_what_is_no_chance(target):
    """Of two errors of which a part is shared by the most alike, and less by the less alike."""
    judge = Judge(target, "static")
    texts = ["a dog on a couch", "on a couch a dog"]
    found = judge.predictor.predict_with_uncertainty(texts, [target])
    one, other = judge.predictor.embed(texts).astype(float)
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    known, rho = (float(shared_error("static", target, at)) for at in (1.0, cosine))
    [verdict] = judge(texts[0], texts[1:])
    deviations = known**0.5 * found.deviations[:, 0]  # without chance
    covariance = np.diag(deviations**2)
    covariance[0, 1] = covariance[1, 0] = rho / known * deviations.prod()
    spread = np.sqrt(np.array([-1, 1]) @ covariance @ np.array([-1, 1]))
    assert verdict.gain == pytest.approx(float(found.values[1, 0] - found.values[0, 0]), abs=1e-6)
    normal = statistics.NormalDist(0, spread)
    assert verdict.probability == pytest.approx(normal.cdf(verdict.gain), abs=1e-5)
    assert verdict.similarity == pytest.approx(cosine, abs=1e-6)


def without_words(judge, text, count=4):
    """Leave out some words, each time that whose loss raises the prediction most."""
    words = text.split()
    for _ in range(count):
        shorter = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
        words = shorter[int(judge.predictor.predict(shorter, judge.target).argmax())].split()
    return " ".join(words)


@pytest.mark.parametrize("target", ["alignment", "mean_hbpp"])
def test_of_three_rewrites_of_an_awkward_prompt_the_better_one_comes_first(target):
    rows = read_table(Path(__file__).with_name("awkward_prompts.csv"))
    judge, first = Judge(target), []
    for awkward, better, worse in zip(
        *(rows.texts(name) for name in ("awkward", "better", "worse")), strict=True
    ):
        shorter = without_words(judge, awkward)
        best = judge.rank(awkward, [worse, shorter, better])[0]
        is_one = best.accepted or best.reason.startswith(TOO_UNSURE)
        first.append(("better", "worse", "shorter")[[better, worse, shorter].index(best.prompt)]
                     if is_one else "none")  # fmt: skip
    assert len(first) == 60
    assert first.count("better") >= 0.8 * 60
    assert first.count("shorter") < 0.02 * 60


def test_a_request_is_no_meaning_and_additions_are_limited():
    judge = Judge()
    [verdict] = judge("please would u give me an image of a couch dog on", ["a dog on a couch"])
    assert verdict.accepted and verdict.lost == () and verdict.gain > 0
    assert verdict.probability is None  # `alignment` has no deviation
    with pytest.raises(EngineError, match="alignment of static has no deviation"):
        Judge(confidence=0.6)
    [verdict] = judge("a dog on a couch", ["a dog on a couch on fire, with crying people"])
    assert verdict.reason == "too much is added: fire, crying, people"
    assert verdict.added == ("fire", "crying", "people")
    [verdict] = judge("a small dog on a couch", ["small dog couch"])
    assert verdict.reason == "it only leaves words out"


def test_leaving_out_words_is_not_accepted_though_the_predictor_likes_it(captions):
    """Greedily, up to four words: what a predictor alone is gamed by."""
    judge = Judge("mean_hbpp", "static-train")
    found = [
        judge(one, [without_words(judge, one, n) for n in range(1, 5)]) for one in captions[:40]
    ]
    assert np.mean([verdicts[-1].gain for verdicts in found]) > 0.2  # the attack works
    assert np.mean([verdict.accepted for verdicts in found for verdict in verdicts]) < 0.02
