"""A collection of one's own: the search for neighbours, files, and its place in a predictor."""

import json

import numpy as np
import pytest

from pqpp_models import ModelError, Predictor
from pqpp_models.text.arrays import unit
from pqpp_models.text.collection.encoded import EncodedCaptions, to_encoder, with_collection

PROMPTS = ["A cat near an old clock.", "zebra", "?", "two red birds on a mat"]

CAPTIONS = [
    f"{who} {where} {i}"
    for i in range(7)
    for who in ("A dog", "Two men")
    for where in ("in a park", "by the sea", "near a clock")
]


@pytest.fixture
def captions(ensemble):
    encoder, layers = to_encoder(ensemble)
    return EncodedCaptions.build(CAPTIONS, encoder, ensemble.tokenizer, layers)


def test_captions_are_normalised_as_the_predictor_does(ensemble, captions):
    encoder, layers = to_encoder(ensemble)
    shouted = [f" {caption.upper()}!" for caption in CAPTIONS]
    same = EncodedCaptions.build(shouted, encoder, ensemble.tokenizer, layers)
    for layer, states in captions.states.items():
        np.testing.assert_array_equal(same.states[layer], states)


def test_captions_come_back_from_their_folder(captions, tmp_path):
    folder = captions.save_pretrained(tmp_path / "mine")
    again = EncodedCaptions.from_pretrained(folder)
    assert len(again) == len(captions) == len(CAPTIONS)
    assert again.encoder_sha256 == captions.encoder_sha256 and again.encoder == captions.encoder
    for layer, states in captions.states.items():
        np.testing.assert_array_equal(again.states[layer], states)
    np.testing.assert_array_equal(again.tables.counts, captions.tables.counts)
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"park" not in content and b"Two men" not in content
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    captions.save_pretrained(folder)
    assert first == {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("change", [{"captions": 3}, {"layers": []}, {"layers": [7]}])
def test_damaged_collections_are_refused(captions, tmp_path, change):
    folder = captions.save_pretrained(tmp_path / "mine")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(ModelError, match="has no usable collection") as caught:
        EncodedCaptions.from_pretrained(folder)
    assert "\n" not in str(caught.value)


def test_the_labelled_captions_stay_and_the_others_go(ensemble, captions, tmp_path):
    made = with_collection(ensemble, captions)
    old, new = ensemble.model.collection, made.model.collection
    assert len(new) == old.labelled + len(CAPTIONS) and new.labelled == old.labelled
    for layer, vectors in new.vectors.items():
        np.testing.assert_array_equal(vectors[: old.labelled], old.vectors[layer][: old.labelled])
        expected = unit(captions.states[layer] - old.means[layer])
        np.testing.assert_array_equal(vectors[old.labelled :], expected)
    before, after = ensemble.predict(PROMPTS), made.predict(PROMPTS)
    assert np.abs(after - before).max() > 1e-4
    np.testing.assert_allclose(ensemble.predict(PROMPTS), before)  # left as it was
    distance = ensemble.predict_with_uncertainty(PROMPTS).distance
    np.testing.assert_array_equal(made.predict_with_uncertainty(PROMPTS).distance, distance)
    saved = Predictor.from_pretrained(made.save_pretrained(tmp_path / "made"))
    np.testing.assert_allclose(saved.predict(PROMPTS), after, atol=5e-3)
    assert f"by {len(CAPTIONS)} others" in (tmp_path / "made" / "README.md").read_text()


def test_from_a_file_to_a_predictor_by_the_command_line(
    ensemble, captions, tmp_path, monkeypatch, capsys
):
    import pyarrow as pa
    import pyarrow.parquet

    from pqpp_cli.main import main

    monkeypatch.chdir(tmp_path)
    ensemble.save_pretrained(tmp_path / "ensemble")
    table = pa.table({"id": range(len(CAPTIONS)), "text": CAPTIONS})
    pa.parquet.write_table(table, tmp_path / "captions.parquet")
    build = ("models", "collection", "build", "captions.parquet", "--column", "text")
    build += ("--predictor", "ensemble", "--output", "mine")
    assert main(build) == 0
    assert "42 distinct captions of 42" in capsys.readouterr().out
    again = EncodedCaptions.from_pretrained(tmp_path / "mine")
    for layer, states in captions.states.items():
        np.testing.assert_allclose(again.states[layer], states, atol=1e-3)
    attach = ("models", "collection", "attach", "mine")
    attach += ("--predictor", "ensemble", "--output", "made")
    assert main(attach) == 0
    assert "102 captions, 60 of them labelled" in capsys.readouterr().out
    made = Predictor.from_pretrained(tmp_path / "made")
    expected = with_collection(Predictor.from_pretrained(tmp_path / "ensemble"), again)
    np.testing.assert_allclose(made.predict(PROMPTS), expected.predict(PROMPTS), atol=5e-3)
