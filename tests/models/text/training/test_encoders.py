"""The encoders that the trainers accept."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from models.made_up import write_made_up
from support.tiny_models import ENCODERS, save_encoder, save_text_encoder, train

from pqpp_backbones.encoder.pretrained import get_max_length, get_word_pieces, load_encoder
from pqpp_backbones.errors import ModelError
from pqpp_files.errors import PqppError
from pqpp_models import Predictor

RECIPE = """
dataset: data
layers: [0, 1, 2]
captions: captions.txt
targets: [mean_hbpp, mean_rr]
fit: {kernel_layers: [2, 1], networks: 2, hidden_size: 8, epochs: 1}
tuned: {epochs: 1, batch_size: 16, max_length: 40}
"""
PROMPTS = ["a cat", "a man riding a wave on a surfboard", "zebra " * 40]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A dataset, captions and the recipe, in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_made_up(tmp_path)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def train_ensemble(kind, files):
    """Train on an encoder of a kind, and return the folder of what was saved."""
    encoder = save_encoder(files / f"encoder_{kind}", kind)
    flags = ["--config", "recipe.yaml", "--model", str(encoder), "--output", f"made_{kind}"]
    train("text_ensemble", *flags)
    return files / f"made_{kind}"


def load_and_predict(folder):
    predictor = Predictor.from_pretrained(folder)
    return predictor, predictor.predict(PROMPTS)


def test_accepts_clip_text_tower(files):
    predictor, result = load_and_predict(train_ensemble("clip", files))
    assert predictor.encoder.config.model_type == "clip_text_model" and np.isfinite(result).all()
    # The weights are the pretrained ones, and the length is limited by the positions.
    encoder, _ = load_encoder(str(files / "encoder_clip"))
    from transformers import CLIPModel

    tower = CLIPModel.from_pretrained(files / "encoder_clip").text_model.state_dict()
    weights = {name.removeprefix("text_model."): one for name, one in encoder.state_dict().items()}
    assert weights.keys() == tower.keys()
    assert all((weights[name] == tower[name]).all() for name in tower)
    assert get_max_length(encoder) == 48


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENCODERS)
def test_trains_any_encoder(kind, files):
    folder = train_ensemble(kind, files)
    predictor, result = load_and_predict(folder)
    assert result.shape == (3, 2) and np.isfinite(result).all()
    # Raw scores differ between prompts; a slope of 0 may make predictions equal.
    assert len(set(predictor.compute_raw_scores(PROMPTS)[0][:, 0])) == 3
    np.testing.assert_allclose(predictor.predict(PROMPTS[::-1])[::-1], result, atol=2e-6)
    saved = predictor.save_pretrained(files / "again")
    assert Predictor.from_pretrained(saved).predict(PROMPTS).tolist() == result.tolist()
    # The frozen encoder is unchanged, and the fine-tuned one has changed.
    original = load_encoder(str(files / f"encoder_{kind}"))[0].state_dict()
    frozen, tuned = predictor.encoder.state_dict(), predictor.tuned.backbone.state_dict()
    assert all((frozen[name] == one).all() for name, one in original.items())
    assert any((tuned[name] != one).any() for name, one in original.items())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_train_bert_accepts_any_encoder(kind, pooling, files):
    encoder = save_encoder(files / "encoder", kind)
    flags = ["--model", str(encoder), "--dataset", "data", "--targets", "mean_hbpp,mean_rr"]
    flags += ["--num_train_epochs", "1", "--per_device_train_batch_size", "8"]
    flags += ["--pooling", pooling, "--output_dir", "made"]
    train("bert", *flags)
    predictor, result = load_and_predict(files / "made" / "model")
    np.testing.assert_allclose(predictor.predict(["A  CAT!"]), result[:1], atol=2e-6)
    assert result.shape == (3, 2) and np.isfinite(result).all()
    np.testing.assert_allclose(predictor.predict(PROMPTS[::-1])[::-1], result, atol=2e-6)


def test_rejects_encoders_without_word_pieces(tmp_path):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    encoder, tokenizer = load_encoder(str(save_text_encoder(tmp_path / "encoder")))
    assert get_word_pieces(encoder, tokenizer)[:2] == ["[PAD]", "[UNK]"]
    pairs = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    with pytest.raises(ModelError, match="is BPE, not WordPiece"):
        get_word_pieces(encoder, PreTrainedTokenizerFast(tokenizer_object=pairs))
    tokenizer.add_tokens(["more"])
    with pytest.raises(ModelError, match="tokenizer's 58 pieces do not match the encoder's 57"):
        get_word_pieces(encoder, tokenizer)


def test_rejects_kernel_layer_outside_layers(files):
    (files / "recipe.yaml").write_text(RECIPE.replace("layers: [0, 1, 2]", "layers: [0, 2]", 1))
    with pytest.raises(PqppError, match=r"layer 1 of `fit.kernel_layers` is not in"):
        train("text_ensemble", "--config", "recipe.yaml")


def test_rejects_layer_above_those_of_the_encoder(files):
    encoder = save_text_encoder(files / "encoder")  # two layers
    (files / "recipe.yaml").write_text(RECIPE.replace("layers: [0, 1, 2]", "layers: [0, 1, 2, 6]"))
    with pytest.raises(ModelError, match="choose layers from 0 to 2"):
        train("text_ensemble", "--config", "recipe.yaml", "--model", str(encoder))


@pytest.mark.parametrize("change", [{"return_dict": False}, {"layer_norm_eps": float("nan")}])
def test_encoder_that_fails_is_refused(tmp_path, change):
    from pqpp_models.text.saved_encoder import SentenceEncoder

    path = save_text_encoder(tmp_path) / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ModelError, match=r"the encoder (failed|returns NaN)"):
        SentenceEncoder.load(str(tmp_path)).embed(PROMPTS)
