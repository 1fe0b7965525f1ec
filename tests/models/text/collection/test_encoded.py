"""A collection of one's own: its place in a predictor."""

import numpy as np

from pqpp_backbones.encoder.encoding import layer_means
from pqpp_backbones.encoder.normaliser import content
from pqpp_models import Predictor
from pqpp_models.text.arrays import unit
from pqpp_models.text.collection.encoded import to_encoder, with_collection

PROMPTS = ["A cat near an old clock.", "zebra", "?", "two red birds on a mat"]

CAPTIONS = [
    f"{who} {where} {i}"
    for i in range(7)
    for who in ("A dog", "Two men")
    for where in ("in a park", "by the sea", "near a clock")
]


def test_captions_are_normalised_as_the_predictor_does(ensemble):
    shouted = [f" {caption.upper()}!" for caption in CAPTIONS]
    same, made = (with_collection(ensemble, one).model.collection for one in (shouted, CAPTIONS))
    for layer, vectors in made.vectors.items():
        np.testing.assert_array_equal(same.vectors[layer], vectors)


def test_the_labelled_captions_stay_and_the_others_go(ensemble, tmp_path):
    made = with_collection(ensemble, CAPTIONS)
    encoder, layers = to_encoder(ensemble)
    texts = [content(caption) for caption in CAPTIONS]
    states = layer_means(encoder, ensemble.tokenizer, texts, layers)
    old, new = ensemble.model.collection, made.model.collection
    assert len(new) == old.labelled + len(CAPTIONS) and new.labelled == old.labelled
    for layer, vectors in new.vectors.items():
        np.testing.assert_array_equal(vectors[: old.labelled], old.vectors[layer][: old.labelled])
        expected = unit(states[layer].astype(np.float16).astype(np.float32) - old.means[layer])
        np.testing.assert_array_equal(vectors[old.labelled :], expected)
    before, after = ensemble.predict(PROMPTS), made.predict(PROMPTS)
    assert np.abs(after - before).max() > 1e-4
    np.testing.assert_allclose(ensemble.predict(PROMPTS), before)  # left as it was
    distance = ensemble.predict_with_uncertainty(PROMPTS).distance
    np.testing.assert_array_equal(made.predict_with_uncertainty(PROMPTS).distance, distance)
    saved = Predictor.from_pretrained(made.save_pretrained(tmp_path / "made"))
    np.testing.assert_allclose(saved.predict(PROMPTS), after, atol=5e-3)
    assert f"by {len(CAPTIONS)} others" in (tmp_path / "made" / "README.md").read_text()


def test_from_a_file_to_a_predictor_by_the_command_line(ensemble, tmp_path, monkeypatch, capsys):
    import pyarrow as pa
    import pyarrow.parquet

    from pqpp_cli.main import main

    monkeypatch.chdir(tmp_path)
    ensemble.save_pretrained(tmp_path / "ensemble")
    table = pa.table({"id": range(len(CAPTIONS)), "text": CAPTIONS})
    pa.parquet.write_table(table, tmp_path / "captions.parquet")
    words = ("models", "collection", "captions.parquet", "--column", "text")
    assert main((*words, "--predictor", "ensemble", "--output", "made")) == 0
    assert "102 captions, 60 of them labelled" in capsys.readouterr().out
    made = Predictor.from_pretrained(tmp_path / "made")
    assert b"park" not in b"".join(path.read_bytes() for path in (tmp_path / "made").iterdir())
    expected = with_collection(Predictor.from_pretrained(tmp_path / "ensemble"), CAPTIONS)
    np.testing.assert_allclose(made.predict(PROMPTS), expected.predict(PROMPTS), atol=5e-3)
