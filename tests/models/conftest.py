"""What the tests of the predictors share."""

import csv

import numpy as np
import pytest
from models.made_up import made_up

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
