"""Saving, loading, and rejection of damaged checkpoints."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from models.made_up import made_up
from safetensors.numpy import load_file, save_file

from pqpp_files.errors import PqppError
from pqpp_models import TARGETS, ModelError, Predictor
from pqpp_models.text.ridge.fitting import fit
from pqpp_models.text.ridge.predictor import RidgePredictor

PROMPTS = ["A man riding a wave.", "", "a zebra \U0001f993 paints\ntwo oranges"]


@pytest.fixture
def saved(ridge, tmp_path) -> Path:
    return ridge.save_pretrained(tmp_path / "saved")


def change_config(folder: Path, **changes) -> None:
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config))


def change_tensors(folder: Path, change) -> None:
    """Change the arrays, and update their hash in the configuration."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    content = (folder / "model.safetensors").read_bytes()
    change_config(folder, weights_sha256=hashlib.sha256(content).hexdigest())


def check_rejected(folder: Path, *expected: str) -> None:
    with pytest.raises(ModelError) as caught:
        Predictor.from_pretrained(folder)
    message = str(caught.value)
    assert "\n" not in message
    for part in (str(folder), *expected):
        assert part in message


def test_round_trip(ridge, saved, tmp_path):
    names = ["README.md", "config.json", "fitted_rows.safetensors", "model.safetensors"]
    assert sorted(p.name for p in saved.iterdir()) == names
    for loaded in (Predictor.from_pretrained(saved), RidgePredictor.from_pretrained(str(saved))):
        assert isinstance(loaded, RidgePredictor)
        np.testing.assert_array_equal(loaded.predict(PROMPTS), ridge.predict(PROMPTS))
    copy = loaded.save_pretrained(tmp_path / "again")
    for name in names:
        assert (copy / name).read_bytes() == (saved / name).read_bytes()


def test_replaces_older_checkpoint(ridge, saved):
    before = ridge.predict(PROMPTS)
    fit(*made_up(90), TARGETS).save_pretrained(saved)
    assert np.nanmax(np.abs(Predictor.from_pretrained(saved).predict(PROMPTS) - before)) > 1e-6
    assert [p.name for p in saved.parent.iterdir()] == ["saved"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"predictor_type": "text_ensemble", "format_version": 1}, "contains a 'text_ensemble'"),
        (None, "contains other files"),
        ({}, "contains other files"),
    ],
)
def test_keeps_folders_with_other_files(ridge, tmp_path, config, expected):
    (tmp_path / "model.safetensors").write_bytes(b"mine")
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config))
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(PqppError, match=f"{expected}.*; choose an"):
        ridge.save_pretrained(tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{}", "has no 'predictor_type'"),
        (b'{"predictor_type": "ridge"}', "format_version None"),
        (b'{"predictor_type": "ridge", "format_version": 0}', "format_version 0"),
    ],
)
def test_rejects_damaged_config(saved, content, expected):
    (saved / "config.json").write_bytes(content)
    check_rejected(saved, "config.json", expected)


def test_rejects_damaged_weights(saved):
    weights = saved / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    check_rejected(saved, "model.safetensors", "does not match")
    weights.unlink()
    check_rejected(saved, "model.safetensors cannot be read")


def set_value(name, index, value):
    def change(tensors):
        tensors[name] = tensors[name].copy()
        tensors[name][index] = value

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda t: t.pop("weights"), "KeyError: 'weights'"),
        (lambda t: t.update({"weights": np.zeros((3, 9), "f4")}), "matmul"),
        (lambda t: t.update({"references": np.zeros((0, 64), "i1")}), "NaN or infinity"),
        (lambda t: t.update({"calibration.slope": np.zeros(8, "f4")}), "out of bounds"),
        (lambda t: t.update({"encoder.word_pairs": np.zeros(8, "u1")}), "word tables"),
        (lambda t: t.update({"encoder.pairs.cells": np.zeros(8, "u1")}), "table of piece pairs"),
        (lambda t: t.update({"encoder.pairs.pieces": np.zeros(8, "u4")}), "vocabulary is invalid"),
        (set_value("weights", (0, 0), np.nan), "'weights' is empty or contains NaN"),
        (set_value("standard.deviation", 0, 0.0), "deviations are invalid"),
    ],
)
def test_rejects_inconsistent_weights(saved, change, expected):
    change_tensors(saved, change)
    check_rejected(saved, expected)
