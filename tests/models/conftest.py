"""Fixtures shared by the tests of predictors."""

import csv
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from models.made_up import made_up

from pqpp_datasets.prompt_text import normalise
from pqpp_models import TARGETS
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
"""The published column of each target."""


@pytest.fixture(scope="session")
def ridge() -> RidgePredictor:
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


@pytest.fixture(scope="session")
def real_studies(real_data, tmp_path_factory):
    """The studies of `alignment` as published."""
    import datasets

    from pqpp_models.text.training.studies import read_studies

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("studies"))
        return read_studies(str(real_data))


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
    from support.tiny_models import save_text_encoder

    from pqpp_backbones.encoder.encoding import get_layer_means
    from pqpp_backbones.encoder.pretrained import load_encoder
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.text.training.recipe import EnsembleRecipe
    from pqpp_models.text.training.settings import EnsembleTuning, FitSettings
    from pqpp_models.text.training.trainers import train_ensemble
    from pqpp_models.training.data import Rows

    folder = save_text_encoder(tmp_path_factory.mktemp("encoder"))
    prompts, scores = made_up(60)
    prompts = [normalise(f"{prompt} {number}") for number, prompt in enumerate(prompts)]
    captions = [f"{prompt} and more {i}" for i, prompt in enumerate(made_up(50, seed=1)[0])]
    captions = [normalise(caption) for caption in captions]
    recipe = EnsembleRecipe(
        model=str(folder),
        dataset="made up",
        targets=list(TARGETS),
        captions=__file__,
        layers=[0, 1, 2],
        fit=FitSettings(kernel_layers=(2, 1), networks=2, hidden_size=8, epochs=2),
        tuned=EnsembleTuning(share=0.3, epochs=1, batch_size=16, learning_rate=1e-3, max_length=48),
    )
    encoder, tokenizer = load_encoder(str(folder))
    texts = [*prompts, *captions]
    encoded = get_layer_means(encoder, tokenizer, texts, recipe.layers)
    data = SimpleNamespace(
        **{"train": Rows(prompts, scores, None), "goals": scores, "captions": captions},
        **{"new_model": partial(BertForPerformancePrediction.from_backbone, str(folder))},
        **{"encoder": encoder, "tokenizer": tokenizer, "texts": texts, "encoded": encoded},
        select_states=lambda rows: {layer: states[rows] for layer, states in encoded.items()},
    )
    return train_ensemble(recipe, data)
