"""`benchmarks/faithfulness.py`: what is dropped and how it is counted, on a game worked by hand."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from pqpp_models.predictor import Predictor

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "faithfulness.py"
WORTH = {"bad": -3.0, "worse": -5.0, "good": 2.0, "better": 4.0, "plain": 0.0, "dull": 1.0}


class Sum(Predictor):
    """Adds up what words are worth, times a sign."""

    name, targets = "sum", ("mean_hbpp",)

    def __init__(self, sign=1.0):
        self.sign = sign

    def _score(self, rows, targets):
        return np.array([[self.sign * sum(WORTH[one] for one in row.split())] for row in rows])

    def _prior(self, targets):
        return np.zeros(len(targets))

    @classmethod
    def from_checkpoint(cls, folder, config, tensors):
        raise NotImplementedError


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("sign", [1.0, -0.5])
def test_the_worst_words_are_dropped(script, sign):
    prompts = ["good bad plain worse better dull"] * 3
    found = script["changes"]("mine", prompts, Sum(), Sum(sign), "mean_hbpp", "mean_hbpp")
    own = {"worst": [5, 8, 8], "best": [-4, -6, -7]}
    for kind, values in own.items():
        assert found.own[kind].tolist() == [values] * 3
        assert found.judge[kind] == pytest.approx(sign * found.own[kind])
    # On average a random word is worth -1/6; five draws of three prompts scatter around it.
    assert found.own["random"].shape == (3, 3)
    assert (np.abs(found.own["random"][:, 0]) <= 5).all()
    text = script["table"]([found], Sum(), Sum(sign), "mean_hbpp", "mean_hbpp")
    assert f"| all | 3 | 1 | {5 * sign:+.3f} |" in text and "not causes" in text
    assert script["picture"]([found], "mean_hbpp").startswith(b"\x89PNG")


def test_random_words_change_what_a_word_is_worth_on_average(script):
    prompts = ["good bad plain worse better dull"] * 400
    found = script["changes"]("mine", prompts, Sum(), Sum(), "mean_hbpp", "mean_hbpp")
    assert found.own["random"].mean(axis=0) == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=0.2)


def test_interval(script):
    mean, low, high = script["interval"](np.array([1.0, 3.0] * 200))
    # The standard error of 400 values that deviate by 1 is .05.
    assert mean == 2.0
    assert (low, high) == (pytest.approx(1.902, abs=0.015), pytest.approx(2.098, abs=0.015))
