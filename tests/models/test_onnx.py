"""The text predictor on onnxruntime: the same predictions, by the same interface."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the export needs torch")
for needed in ("transformers", "onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(needed, reason=f"the export needs {needed}")

from support.tiny_models import save_text_encoder  # noqa: E402

from pqpp_models import CheckpointError, Predictor  # noqa: E402
from pqpp_models.bert.modeling_bert_predictor import (  # noqa: E402
    BertForPerformancePrediction,
)
from pqpp_models.bert.onnx_predictor import OnnxBertPredictor  # noqa: E402
from pqpp_models.bert.predictor import BertPredictor  # noqa: E402

PROMPTS = ["a cat", "", "a man riding a wave on a surfboard", "zebra " * 90]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory):
    from transformers import AutoTokenizer

    encoder = str(save_text_encoder(tmp_path_factory.mktemp("encoder"), hidden_size=32))
    torch.manual_seed(0)
    model = BertForPerformancePrediction.from_backbone(
        encoder, targets=["mean_rr", "mean_hbpp"], pooling="mean"
    )
    return BertPredictor(model, AutoTokenizer.from_pretrained(encoder), device="cpu")


@pytest.mark.slow
def test_it_predicts_the_same(predictor, tmp_path):
    expected = predictor.predict(PROMPTS)
    exact = OnnxBertPredictor.from_torch(predictor, int8=False)
    assert np.allclose(exact.predict(PROMPTS), expected, atol=1e-5)
    small = OnnxBertPredictor.from_torch(predictor)
    assert len(small.graph) < len(exact.graph)
    assert np.allclose(small.predict(PROMPTS), expected, atol=2e-2)
    assert predictor.model.config._attn_implementation == "sdpa"

    folder = small.save_pretrained(tmp_path / "saved")
    loaded = Predictor.from_pretrained(folder)
    assert isinstance(loaded, OnnxBertPredictor)
    assert np.array_equal(loaded.predict(PROMPTS, "mean_hbpp"), small.predict(PROMPTS)[:, 1:])

    (folder / "model.onnx").write_bytes(exact.graph)
    with pytest.raises(CheckpointError, match="damaged or belongs to another"):
        Predictor.from_pretrained(folder)
    (folder / "model.onnx").unlink()
    with pytest.raises(CheckpointError, match="is missing"):
        Predictor.from_pretrained(folder)
