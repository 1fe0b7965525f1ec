"""Predictions of the shipped predictor for pairs and texts that any person can judge."""

import json
from pathlib import Path

import numpy as np
import pytest

from pqpp_models import Predictor

HERE = Path(__file__).parent


def read_lines(name):
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


def test_orders_obvious_pairs(static):
    pairs = read_lines("ordered_pairs.jsonl")
    easier, harder = (
        static.predict([pair[side] for pair in pairs], "alignment")[:, 0]
        for side in ("easier", "harder")
    )
    misordered = [pair for pair, right in zip(pairs, easier > harder, strict=True) if not right]
    assert len(pairs) == 30 and len(misordered) <= 3, misordered


def test_orders_pairs_of_ten_kinds(static):
    pairs = read_lines("pairs_by_kind.jsonl")
    kinds = list(dict.fromkeys(pair["kind"] for pair in pairs))
    values = [
        static.predict([p[side] for p in pairs], "alignment") for side in ("easier", "harder")
    ]
    right = (values[0] > values[1])[:, 0].reshape(10, 30).mean(axis=1)
    assert [pair["kind"] for pair in pairs[::30]] == kinds
    assert right[:5].mean() >= 0.95, dict(zip(kinds, right, strict=True))  # .987
    assert right[5:].mean() >= 0.85, dict(zip(kinds, right, strict=True))  # .913


def test_non_prompts_are_out_of_domain(static):
    texts = [line["prompt"] for line in read_lines("not_prompts.jsonl")]
    estimates = static.predict_with_uncertainty(texts)
    assert len(texts) == 200 and estimates.out_of_domain.sum() >= 190


def test_non_prompts_never_score_best(static):
    prompts = ["a dog", "a red car on a road", "a man riding a wave", "a bowl of fruit"]
    texts = ["\u0441\u043e\u0431\u0430\u043a\u0430 \u0432 \u043f\u0430\u0440\u043a\u0435"]
    texts += ["asdf jkl; qwer uiop", "xzvq wrtk plmn", "12 34 5678", "\U0001f600\U0001f600"]
    best = static.predict(prompts).max(axis=0)
    estimates = static.predict_with_uncertainty(texts)
    assert (estimates.values <= best).all() and estimates.out_of_domain.all()
    prior, deviation = (static.calibration[name] for name in ("prior", "prior_deviation"))
    columns = [not target.startswith("mean_") for target in static.targets]
    lower = deviation * [target == "alignment" or "hbpp" in target for target in static.targets]
    expected = prior - np.outer([0, 1, 1, 0, 0], lower)  # letters at random are worse than others
    np.testing.assert_allclose(estimates.values[:, columns], expected[:, columns], rtol=1e-6)
    np.testing.assert_allclose(estimates.deviations[:, 1:], [deviation[1:]] * 5, rtol=1e-6)
