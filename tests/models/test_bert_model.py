"""The text predictor: head, pooling, saving, loading and `AutoModel`."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the text predictor needs torch")
pytest.importorskip("transformers", reason="the text predictor needs transformers")

from support.spellings import TYPED  # noqa: E402
from support.tiny_models import save_text_encoder, save_vit  # noqa: E402

from pqpp_backbones.encoder.encoding import to_batch  # noqa: E402
from pqpp_backbones.encoder.pretrained import get_max_length, load_encoder  # noqa: E402
from pqpp_models import TARGETS, ModelError, Predictor  # noqa: E402
from pqpp_models.bert.modeling_bert_predictor import (  # noqa: E402
    BertForPerformancePrediction,
    BertPredictorConfig,
)
from pqpp_models.bert.predictor import BertPredictor  # noqa: E402

PROMPTS = ["a cat", "?", "a man riding a wave on a surfboard", "zebra " * 90, "été 猫", "a cat"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return str(save_text_encoder(tmp_path_factory.mktemp("encoder")))


def new_predictor(encoder, **fields):
    from transformers import AutoTokenizer

    torch.manual_seed(0)
    model = BertForPerformancePrediction.from_backbone(encoder, **{"targets": TARGETS, **fields})
    return BertPredictor(model, AutoTokenizer.from_pretrained(encoder), device="cpu")


def test_keeps_pretrained_weights(encoder):
    from transformers import AutoModel

    wrapped = new_predictor(encoder).model.backbone.state_dict()
    plain = AutoModel.from_pretrained(encoder).state_dict()
    assert all(torch.equal(wrapped[name], plain[name]) for name in plain)


def test_predictions_are_in_range_and_do_not_depend_on_the_neighbours(encoder):
    predictor = new_predictor(encoder)
    predictions = predictor.predict(PROMPTS)
    alone = np.concatenate([predictor.predict([prompt]) for prompt in PROMPTS])
    assert predictions.shape == (6, 9) and predictions.dtype == np.float64
    assert np.allclose(predictions, alone, atol=1e-6)
    assert np.allclose(predictions[0], predictions[5], atol=1e-6)
    assert (predictions[:, :3] >= -1).all() and (predictions[:, :3] <= 2).all()
    assert (predictions[:, 3:] >= 0).all() and (predictions[:, 3:] <= 1).all()


@pytest.mark.parametrize("pooling", ["cls", "pooler", "mean"])
def test_padding_does_not_change_predictions(encoder, pooling):
    model = new_predictor(encoder, pooling=pooling).model
    narrow = model(**to_batch([[2, 5, 6, 3]], 0)).scores
    wide = model(**to_batch([[2, 5, 6, 3], [2, *range(4, 20), 3]], 0)).scores
    assert torch.allclose(narrow[0], wide[0], atol=1e-6)


def test_spelling_does_not_change_predictions(encoder, tmp_path):
    predictor = new_predictor(encoder, pooling="mean")
    prompts = [prompt for prompt in PROMPTS if prompt != "?"]  # it has no words
    known, points = predictor.predict(prompts), predictor.embed(prompts)
    for typed in TYPED.values():
        other = [typed(prompt) for prompt in prompts]
        np.testing.assert_allclose(predictor.predict(other), known, atol=1e-6)
        np.testing.assert_allclose(predictor.embed(other), points, atol=1e-5)
    saved = predictor.save_pretrained(tmp_path / "ours")
    predictor.model.save_pretrained(tmp_path / "theirs")  # by transformers
    predictor.processor.save_pretrained(tmp_path / "theirs")
    for folder in (saved, tmp_path / "theirs"):
        loaded = Predictor.from_pretrained(folder)
        np.testing.assert_allclose(loaded.predict(["A cat."]), known[:1], atol=1e-6)


def test_loss_ignores_missing_labels(encoder):
    model = new_predictor(encoder, targets=["mean_rr", "mean_p10"]).model
    batch = to_batch([[2, 5, 3]], 0)
    known = model(**batch, labels=torch.tensor([[0.5, float("nan")]]))
    assert known.loss.item() == pytest.approx((known.scores[0, 0].item() - 0.5) ** 2, rel=1e-5)
    empty_loss = model(**batch, labels=torch.full((1, 2), float("nan"))).loss
    empty_loss.backward()
    assert empty_loss.item() == 0


def test_saved_predictor_predicts_the_same(encoder, tmp_path):
    predictor = new_predictor(encoder, targets=["mean_rr"])
    folder = predictor.save_pretrained(tmp_path / "saved")
    loaded = Predictor.from_pretrained(folder)
    assert isinstance(loaded, BertPredictor) and loaded.targets == ("mean_rr",)
    assert np.array_equal(loaded.predict(PROMPTS), predictor.predict(PROMPTS))
    assert {path.suffix for path in folder.iterdir()} <= {".json", ".safetensors", ".md", ".txt"}
    assert str(tmp_path) not in (folder / "config.json").read_text()
    predictor.save_pretrained(folder)  # replaces it


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head_size": 7}, "does not fit config.json"),
        ({"pooling": "sum"}, "is not usable"),
        ({"targets": ["mean_love"]}, "is not usable"),
        ({"backbone_config": {"model_type": "no_such_model"}}, "is not usable"),
        ({"weights_sha256": "0" * 64}, "does not match the SHA-256 in"),
        ({"max_length": 512}, "`max_length` must be at most 128"),
    ],
)
def test_rejects_inconsistent_checkpoints(encoder, tmp_path, change, message):
    folder = new_predictor(encoder).save_pretrained(tmp_path / "saved")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(ModelError, match=message) as caught:
        Predictor.from_pretrained(folder)
    assert "\n" not in str(caught.value)


def test_rejects_missing_tokenizer(encoder, tmp_path):
    folder = new_predictor(encoder).save_pretrained(tmp_path / "saved")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(ModelError, match="bert predictor cannot be loaded"):
        Predictor.from_pretrained(folder)


SMALL = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
SMALL["intermediate_size"] = 8


@pytest.mark.parametrize(
    ("kind", "fields", "longest"),
    [
        ("bert", {"max_position_embeddings": 40}, 40),
        # Positions start after the padding id 1, so the 39th token has position 40.
        ("roberta", {"max_position_embeddings": 41, "pad_token_id": 1}, 39),
        ("mpnet", {"max_position_embeddings": 41, "pad_token_id": 1}, 39),
        ("distilbert", {"dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 8}, 40),
        ("modernbert", {"max_position_embeddings": 40, "pad_token_id": 0}, None),
    ],
)
def test_max_length_is_limit_of_encoder(kind, fields, longest):
    from transformers import AutoConfig, AutoModel

    sizes = {"max_position_embeddings": 40} if kind == "distilbert" else SMALL
    special = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    config = AutoConfig.for_model(kind, **{"vocab_size": 30, **sizes, **special, **fields})
    encoder = AutoModel.from_config(config).eval()
    assert get_max_length(encoder) == longest
    tokens = torch.full((1, longest or 50), 5)
    assert encoder(tokens).last_hidden_state.shape[1] == (longest or 50)
    if longest is not None:
        with pytest.raises((IndexError, RuntimeError)):
            encoder(torch.full((1, longest + 1), 5))


def test_lowers_default_max_length_and_rejects_longer(tmp_path):
    from transformers import BertConfig, BertModel

    config = BertConfig(**SMALL, max_position_embeddings=40)
    BertModel(config).save_pretrained(tmp_path / "short")
    loaded = BertForPerformancePrediction.from_backbone(str(tmp_path / "short"))
    assert loaded.config.max_length == 40
    built = BertForPerformancePrediction(BertPredictorConfig(backbone_config=config))
    assert built.config.max_length == 40
    explicit = BertForPerformancePrediction.from_backbone(str(tmp_path / "short"), max_length=40)
    assert explicit.config.max_length == 40
    for length in (41, 128):
        with pytest.raises(ModelError, match=f"`max_length` must be at most 40, .* got {length}"):
            BertForPerformancePrediction.from_backbone(str(tmp_path / "short"), max_length=length)


def test_rejects_models_that_are_no_text_encoders(encoder, tmp_path):
    model, tokenizer = load_encoder(encoder)
    assert not model.training and tokenizer("a")["input_ids"][0] == 2
    with pytest.raises(ModelError, match="of type 'vit', not a text enc"):
        load_encoder(str(save_vit(tmp_path / "vit")))
    with pytest.raises(ModelError, match="is not a text encoder that transformers can load"):
        load_encoder(str(tmp_path))
