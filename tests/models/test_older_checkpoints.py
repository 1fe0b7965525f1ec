"""Checkpoints of version 0.1.0 load, predict what they did, and are saved with a card."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the predictors need torch")
pytest.importorskip("transformers", reason="the predictors need transformers")
pytest.importorskip("PIL", reason="images need pillow")

from pqpp_models import Predictor

FOLDER = Path(__file__).parent / "older_checkpoints"
PREDICTIONS = json.loads((FOLDER / "predictions.json").read_text())

PIXELS = np.arange(16 * 16 * 3).reshape(16, 16, 3)
IMAGES = [(PIXELS * factor % 251).astype(np.uint8) for factor in (1, 3, 7)]
WITH_IMAGES = [{"prompt": "a wave", "images": IMAGES}]
SIMILARITIES = [np.eye(4), np.full((3, 3), 0.5)]
ROWS = {
    "bert": ["a red cat", "two dogs and a bird"],
    "clip_generation": WITH_IMAGES,
    "clip_retrieval": WITH_IMAGES,
    "correlation_cnn": [{"similarities": one.tolist()} for one in SIMILARITIES],
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_an_older_checkpoint_predicts_what_it_did(name, tmp_path):
    predictor = Predictor.from_pretrained(FOLDER / name)
    found = predictor.predict(ROWS[name])
    assert found == pytest.approx(np.array(PREDICTIONS[name]), abs=1e-6)
    saved = predictor.save_pretrained(tmp_path / "saved")
    assert Predictor.from_pretrained(saved).predict(ROWS[name]).tolist() == found.tolist()
    assert "On the validation split of pqpp-v1.0, which" in (saved / "README.md").read_text()
