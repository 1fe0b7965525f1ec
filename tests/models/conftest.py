"""What the tests of the predictors share."""

import csv

import numpy as np
import pytest

from pqpp_models import TARGETS
from pqpp_models.lexical import LexicalPredictor

COLUMNS = {
    "glide_hbpp": "glide_score",
    "sdxl_hbpp": "sdxl_score",
    "mean_hbpp": "avg_generative_score",
    "clip_p10": "clip_pk",
    "blip2_p10": "blip2_pk",
    "mean_p10": "retrieval_avg_pk",
    "clip_rr": "clip_rr",
    "blip2_rr": "blip2_rr",
    "mean_rr": "retrieval_avg_rr",
}
"""The published columns of our targets."""

SUBJECTS = ("man", "woman", "dog", "cat", "bird", "child", "zebra", "horse")
ACTIONS = ("riding", "holding", "near", "under", "painting", "chasing")
THINGS = ("a wave", "two oranges", "a red bus", "the old clock", "a surfboard", "an umbrella")


def made_up(n: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Return prompts with nine scores that depend on their words, in the targets' units."""
    rng = np.random.default_rng(seed)
    parts = [rng.integers(len(words), size=n) for words in (SUBJECTS, ACTIONS, THINGS)]
    prompts = [
        f"A {SUBJECTS[s]} {ACTIONS[a]} {THINGS[t]}." for s, a, t in zip(*parts, strict=True)
    ]
    hidden = parts[0] / 8 + parts[1] / 12 + rng.normal(0, 0.1, n)
    scores = np.clip(hidden[:, None] / 2 + rng.normal(0, 0.05, (n, 9)), 0, 1)
    scores[:, :3] = scores[:, :3] * 3 - 1
    return prompts, scores


@pytest.fixture(scope="session")
def fitted() -> LexicalPredictor:
    """A lexical predictor fitted to 120 made-up prompts."""
    return LexicalPredictor.fit(*made_up(120))


@pytest.fixture
def read_split(real_data):
    """Read the prompts and scores of a published split, without the code under test."""

    def read(name: str) -> tuple[list[str], np.ndarray]:
        path = real_data / "pqpp" / "v1.0" / "dataset" / f"{name}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        scores = [[float(row[COLUMNS[target]]) for target in TARGETS] for row in rows]
        return [row["best_caption"] for row in rows], np.array(scores)

    return read


@pytest.fixture
def nltk_data(real_data, monkeypatch):
    """Let NLTK find its data in the folder of real data."""
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(real_data / "nltk_data")])
    return real_data / "nltk_data"
