"""What the tests of the predictors share."""

import csv

import numpy as np
import pytest
from models.made_up import made_up

from pqpp_models import TARGETS
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.text.ridge.fitting import fit
from pqpp_models.text.ridge.predictor import RidgePredictor

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
def fitted() -> RidgePredictor:
    """A ridge predictor fitted to 120 made-up prompts."""
    return fit(*made_up(120), TARGETS)


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


@pytest.fixture(scope="session")
def ensemble(tmp_path_factory):
    """A text ensemble of a tiny encoder, with 60 labelled and 50 further captions."""
    pytest.importorskip("transformers")
    from support.tiny_models import load_script, save_text_encoder
    from transformers import AutoModel, AutoTokenizer

    from pqpp_models.encoder.encoding import layer_means
    from pqpp_models.text.training.collection_model import FitSettings
    from pqpp_models.training.data import Rows

    folder = save_text_encoder(tmp_path_factory.mktemp("encoder"))
    script = load_script("train_text_ensemble")
    prompts, scores = made_up(60)
    prompts = [normalise(f"{prompt} {number}") for number, prompt in enumerate(prompts)]
    captions = [f"{prompt} and more {i}" for i, prompt in enumerate(made_up(50, seed=1)[0])]
    captions = [normalise(caption) for caption in captions]
    recipe = script.EnsembleRecipe(
        model=str(folder),
        dataset="made up",
        targets=list(TARGETS),
        captions=__file__,
        layers=[0, 1, 2],
        fit=FitSettings(kernel_layers=(2, 1), networks=2, hidden_size=8, epochs=2),
        tuned=script.TunedSettings(
            targets=["mean_hbpp", "glide_hbpp"],
            share=0.3,
            epochs=1,
            batch_size=16,
            learning_rate=1e-3,
            max_length=48,
        ),
    )
    tokenizer = AutoTokenizer.from_pretrained(folder)
    encoder = AutoModel.from_pretrained(folder).eval()
    encoded = layer_means(encoder, tokenizer, [*prompts, *captions], recipe.layers)
    rows = Rows(prompts, scores, None)
    read = script.Read(rows, scores, captions, encoder, tokenizer, encoded)
    predictor = script.train_ensemble(recipe, read, np.arange(60))
    predictor.details |= script.describe(recipe, read)
    return predictor
