"""Fine-tuning in bf16 and in full precision."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from support.tiny_models import save_text_encoder  # noqa: E402

from pqpp_backbones.training.number_format import use_number_format  # noqa: E402
from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction  # noqa: E402
from pqpp_models.text.training.teacher_student import TuneSettings, fine_tune  # noqa: E402

SETTINGS = TuneSettings(epochs=2, batch_size=8, max_length=16)
PROMPTS = [f"a {one} and a {other}" for one in "abcdefgh" for other in "stuvwxyz"]


def fine_tune_model(folder, settings):
    torch.manual_seed(0)
    model = BertForPerformancePrediction.from_backbone(
        folder, targets=["mean_rr"], pooling="mean", max_length=16
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    labels = np.linspace(0, 1, len(PROMPTS), dtype=np.float32)[:, None]
    return fine_tune(model, tokenizer, PROMPTS, labels, settings, 3)


def test_bf16_is_deterministic_and_close_to_fp32(tmp_path):
    folder = str(save_text_encoder(tmp_path / "encoder"))
    full, half, repeated = (
        fine_tune_model(folder, replace(SETTINGS, mixed_precision=one)).state_dict()
        for one in ("no", "bf16", "bf16")
    )
    assert {value.dtype for value in half.values() if value.is_floating_point()} == {torch.float32}
    assert all(torch.equal(value, repeated[name]) for name, value in half.items())
    assert any(not torch.equal(value, full[name]) for name, value in half.items())
    for name, value in half.items():
        assert torch.allclose(value, full[name], atol=0.02), name


def test_head_stays_fp32_under_bf16(tmp_path):
    folder = str(save_text_encoder(tmp_path / "encoder"))
    model = BertForPerformancePrediction.from_backbone(folder, targets=["mean_rr"]).eval()
    ids = torch.arange(1, 9)[None]
    with torch.no_grad(), use_number_format("bf16"):
        output = model(ids)
        states = model.embed(ids)
    assert output.logits.dtype == output.scores.dtype == torch.float32
    assert torch.equal(output.logits, model.head(states.float()))
