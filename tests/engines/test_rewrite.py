"""`Judge`: refusals, ranking, word order, and adversarial rewrites."""

import csv
import statistics
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.tiny_models import save_text_encoder

from pqpp_backbones.prompt.prompt import Prompt
from pqpp_datasets.load import load_benchmark
from pqpp_engines.errors import EngineError
from pqpp_engines.rewrite import Judge, order, reward
from pqpp_engines.rewrite.judge import MIN_IN_ORDER, UNCONFIRMED, get_error_correlation
from pqpp_files.foreign.json_values import read_json
from pqpp_models.text.saved_encoder import SentenceEncoder


@pytest.fixture(scope="module")
def captions(real_data):
    rows = load_benchmark("pqpp-v1.0", data_dir=str(real_data), split="validation")
    return list(rows["prompt"])


@pytest.mark.parametrize(
    ("original", "rewrite", "reason"),
    [
        ("two dogs", "2 dogs", ""),
        ("two dogs", "a pair of dogs", ""),
        ("two dogs", "dogs", "numbers differ: 2 became none"),
        ("a dog", "two dogs", "numbers differ: none became 2"),
        ("a dog without a leash", "a dog with a leash", "a negation is lost"),
        ("a dog", "a dog without a leash", "a negation is added"),
        ("a man who isn't smiling", "a man not smiling", ""),
        ("a couch", "a sofa", ""),
        ('"a red cat on a couch"', "a red cat on a sofa", ""),
        ('a sign that says "SALE NOW"', "a blank sign for a sale", "a text is lost: “SALE NOW”"),
        ('a sign that says "SALE NOW"', "a “Sale now” sign", ""),
        ("a colorfull parrot", "a colorful parrot", ""),
        ("hey, a happy kid that plays", "a kid playing happily", ""),
        ("please would u give me an image of a couch dog on", "a dog on a couch", ""),
        ("a dog on a couch", "A dog  on a couch", "it is the same prompt"),
        ("a dog on a couch", " ", "it is blank"),
        ("a dog on a couch", "xqzt vrrk plomf", "out of domain: the predictor cannot read it"),
        ("a cat on a dog", "a dog on a cat", "two things or colours are exchanged"),
        ("a dog chases a cat", "a cat chases a dog", "two things or colours are exchanged"),
        ("a red cube and a blue ball", "a blue cube and a red ball", "two things or colours"),
        ("a small dog on a big dog", "a big dog under a small dog", ""),
        ("a girl she jumps in a puddle", "girl puddle jump she", "word salad"),
    ],
)
def test_refusal_reasons(original, rewrite, reason):
    [verdict] = Judge()(original, [rewrite])
    assert not verdict.accepted and (verdict.score > 0) == (reason == "")  # none is confirmed
    expected = reason or ("not better" if verdict.gain <= 0 else UNCONFIRMED)
    assert verdict.reason.startswith(expected)


def test_accepts_lost_negation_if_entailed():
    judge, original = Judge(), "a dog without a collar in the park"
    judge.entailment = lambda original, rewrites: [
        0.9 if "bare" in one else 0.1 for one in rewrites
    ]
    bare, dropped = judge(original, ["a dog with a bare neck in the park", "a dog in the park"])
    assert bare.accepted and not dropped.accepted


def test_lists_lost_and_added_phrases_and_rewards_the_score():
    judge, texts = Judge(), ["a puppy on a sofa", "a couch", "a dog on a couch"]
    kept, lost, same = judge(texts[2], texts)
    for word, shortened in (("green", "a horse in a kitchen"), ("kitchen", "a green horse")):
        assert judge("a green horse in a kitchen", [shortened])[0].lost == (word,)
    assert kept.lost == kept.added == () and lost.lost == ("dog",)
    messages = [[{"role": "assistant", "content": text}] for text in texts]
    rewards = reward()(["Rewrite it"] * 3, messages, original=[texts[2]] * 3, other=None)
    assert rewards == [kept.score, lost.score, 0.5 * same.in_order]


class FakeEntailment:
    """An entailment model that detects changes of meaning, but accepts word salad.

    Models trained on MNLI do so if one text contains all words of the other (McCoy,
    Pavlick and Linzen, 2019).
    """

    def __init__(self, rows):
        self.changed = {Prompt.read(r["bad"]).normalised for r in rows if r["kind"] != "salad"}

    def __call__(self, original, rewrites):
        return [0.1 if rewrite in self.changed else 0.9 for rewrite in rewrites]


@pytest.mark.parametrize("target", ["alignment", "mean_hbpp"])
@pytest.mark.parametrize("has_entailment", [False, True])
def test_ranks_good_rewrites_above_bad_ones(target, has_entailment):
    """Each of 30 prompts has a good and a bad rewrite, and each of 60 a better and a worse one."""
    rows = read_rows("rewrites")
    judge, winners = Judge(target), []
    judge.entailment = FakeEntailment(rows) if has_entailment else None
    for row in rows:
        good, bad = judge(row["prompt"], [row["good"], row["bad"]])
        assert good.score > 0, good.reason
        winners.append("good" if good.score > bad.score else row["kind"])
        assert has_entailment or not good.accepted
        assert not (bad.accepted and row["kind"] == "changed")
    assert winners.count("good") >= 0.8 * 30
    assert winners.count("salad") <= (0 if has_entailment else 1)
    judge.entailment, awkward = None, read_rows("awkward_prompts")
    ranked = [judge.rank(row["awkward"], [row["worse"], row["better"]])[0] for row in awkward]
    better = [one.prompt == row["better"] for one, row in zip(ranked, awkward, strict=True)]
    assert len(better) == 60 and sum(better) >= 0.8 * 60


def read_rows(name):
    with Path(__file__).with_name(f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def shuffle_words(captions):
    shuffler = np.random.default_rng(0)
    return [" ".join(shuffler.permutation(text.rstrip(". ").split())) for text in captions]


def test_order_table_matches_captions(real_data):
    """The counts and the slope of the table follow from the captions."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    captions = load_benchmark("pqpp-v1.0", data_dir=str(real_data), split="train")["prompt"]
    table = read_json(order.TABLE)
    counts = Counter(pair for text in captions for pair in order.list_adjacent_classes(text))
    assert {" ".join(pair): number for pair, number in counts.items()} == table["pairs"]
    scores = [[order.score_adjacent_words(text)] for text in (*captions, *shuffle_words(captions))]
    fit = linear_model.LogisticRegression(C=np.inf).fit(scores, [1] * 6000 + [0] * 6000)
    assert fit.coef_[0, 0] == pytest.approx(table["slope"], rel=0.05)


def test_order_probability_separates_shuffled_captions(captions):
    score = np.vectorize(order.compute_order_probability)
    ordered, shuffled = score(captions), score(shuffle_words(captions))
    assert (ordered[:, None] > shuffled).mean() > 0.98
    assert (ordered < MIN_IN_ORDER).mean() < 0.02 and (shuffled < MIN_IN_ORDER).mean() > 0.75


@pytest.mark.parametrize("target", ["mean_hbpp", "mean_p10"])
def test_probability_excludes_chance(target):
    """Similar prompts share part of their errors, which cancels in the gain."""
    judge = Judge(target, "static")
    texts = ["a dog on a couch", "on a couch a dog"]
    predicted = judge.predictor.predict_with_uncertainty(texts, [target])
    first, second = judge.predictor.embed(texts).astype(float)
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    maximum, rho = get_error_correlation("static", target, [1.0, cosine])
    [verdict] = judge(texts[0], texts[1:])
    deviations = maximum**0.5 * predicted.deviations[:, 0]  # without chance
    covariance = np.diag(deviations**2)
    covariance[0, 1] = covariance[1, 0] = rho / maximum * deviations.prod()
    deviation = np.sqrt(np.array([-1, 1]) @ covariance @ np.array([-1, 1]))
    assert verdict.gain == pytest.approx(np.diff(predicted.values[:, 0])[0], abs=1e-6)
    normal = statistics.NormalDist(0, deviation)
    assert verdict.probability == pytest.approx(normal.cdf(verdict.gain), abs=1e-5)
    assert verdict.similarity == pytest.approx(cosine, abs=1e-6)


def drop_words(judge, text, count=4):
    """Drop words greedily, each time the one whose loss raises the prediction most."""
    words = text.split()
    for _ in range(count):
        shorter = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
        words = shorter[int(judge.predictor.predict(shorter, judge.target).argmax())].split()
    return " ".join(words)


def test_confidence_needs_a_deviation_and_encoder_sets_similarity(tmp_path):
    pytest.importorskip("torch")
    [verdict] = Judge()("a couch dog on", ["a dog on a couch"])
    assert verdict.probability is None  # `alignment` has no deviation
    with pytest.raises(EngineError, match="static predicts none for alignment"):
        Judge(confidence=0.6)
    save_text_encoder(tmp_path / "own")
    texts = ["a dog on a couch", "on a couch a dog"]
    [verdict] = Judge(encoder=str(tmp_path / "own"))(texts[0], texts[1:])
    one, other = SentenceEncoder.load(str(tmp_path / "own")).embed(texts)
    assert verdict.similarity == pytest.approx(float(one @ other), abs=1e-6)


def test_dropping_words_lowers_the_score(captions):
    """The prediction alone rewards dropping words."""
    judge = Judge("mean_hbpp", "static-train")
    verdicts = [judge(one, [one + " ", drop_words(judge, one)])[1] for one in captions[:40]]
    assert np.mean([verdict.gain for verdict in verdicts]) > 0.2  # the attack works
    assert np.mean([verdict.score for verdict in verdicts]) < 0.25
