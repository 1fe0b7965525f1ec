"""RAHF's sizes, outputs and losses, and saved models."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="RAHF needs torch")
pytest.importorskip("transformers", reason="RAHF needs transformers")

from support.tiny_models import save_siglip  # noqa: E402
from support.tiny_rahf import PROMPTS, tiny_config, tiny_feedback  # noqa: E402

from pqpp_feedback import registration  # noqa: E402
from pqpp_feedback.rahf import FeedbackModel, RahfConfig, RahfForRichFeedback  # noqa: E402
from pqpp_feedback.rahf.modeling_rahf import load_towers  # noqa: E402
from pqpp_feedback.rahf.outputs import VARIANTS  # noqa: E402

IMAGE = np.random.default_rng(0).integers(0, 256, (48, 40, 3), dtype=np.uint8)


def get_shapes(config):
    """Return the shape of every weight without allocating memory."""
    with torch.device("meta"):
        model = RahfForRichFeedback(config)
    return {name: tuple(value.shape) for name, value in model.named_parameters()}


def test_default_config_has_published_sizes():
    config = RahfConfig()
    vision, text = config.vision_config, config.text_config
    assert (vision.patch_size, vision.num_hidden_layers, vision.num_attention_heads) == (16, 12, 12)
    assert (vision.hidden_size, vision.intermediate_size) == (768, 3072)
    assert (text.num_layers, text.num_decoder_layers, text.num_heads) == (12, 12, 12)
    assert (text.d_model, text.d_ff, config.heatmap_size) == (768, 2048, 224)
    shapes = get_shapes(config)
    head = "heatmap_heads.implausibility"
    convs = [shapes[f"{head}.convs.{i}.weight"] for i in range(2)]
    assert convs == [(768, 768, 3, 3), (384, 768, 3, 3)]
    deconvs = [shapes[f"{head}.deconvs.{i}.weight"][1:] for i in range(4)]
    assert deconvs == [(768, 3, 3), (384, 3, 3), (384, 3, 3), (192, 3, 3)]
    for i, size in enumerate((768, 384, 384, 192)):
        for name in ("first", "second"):
            assert shapes[f"{head}.readouts.{i}.{name}.weight"] == (size, size, 3, 3)
    assert shapes[f"{head}.last_conv.weight"] == (192, 192, 3, 3)
    assert shapes[f"{head}.output.weight"] == (1, 192, 3, 3)
    score = "score_heads.plausibility"
    convs = [shapes[f"{score}.convs.{i}.weight"] for i in range(4)]
    assert convs == [(768, 768, 2, 2), (384, 768, 2, 2), (128, 384, 2, 2), (64, 128, 2, 2)]
    assert [shapes[f"{score}.dense.{i}.weight"][0] for i in range(3)] == [2048, 1024, 1]
    heads = {tuple(name.split(".")[:2]) for name in shapes if "heads" in name}
    assert len(heads) == 6  # the decoder is the seventh output
    assert shapes["text_model.decoder.block.11.layer.2.DenseReluDense.wi_0.weight"] == (2048, 768)


@pytest.mark.parametrize("variant", VARIANTS)
def test_predicts_seven_outputs_in_range(variant):
    feedback = tiny_feedback(variant)
    (result,) = feedback.predict([IMAGE], [PROMPTS[0]])
    assert list(result.scores) == ["plausibility", "alignment", "aesthetics", "overall"]
    shapes = {name: heatmap.shape for name, heatmap in result.heatmaps.items()}
    assert shapes == {"implausibility": (32, 32), "misalignment": (32, 32)}
    values = [*result.scores.values(), *np.ravel(list(result.heatmaps.values()))]
    assert min(values) >= 0 and max(values) <= 1
    assert [word.text for word in result.words] == PROMPTS[0].split()
    assert len(set(result.scores.values())) == 4


def test_padding_does_not_change_predictions():
    feedback = tiny_feedback()
    single = feedback.predict([IMAGE], [PROMPTS[0]])[0]
    padded = feedback.predict([IMAGE] * 2, [PROMPTS[0], " ".join(PROMPTS)])[0]
    assert np.allclose(list(single.scores.values()), list(padded.scores.values()), atol=1e-5)
    assert np.allclose(single.probabilities, padded.probabilities, atol=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_loss_is_weighted_sum_with_gradients_everywhere(variant):
    feedback = tiny_feedback(variant)
    model = feedback.model.train()
    model.config.heatmap_weight, model.config.score_weight = 3.0, 0.5
    batch = feedback.processor(images=[IMAGE] * 2, text=list(PROMPTS[:2]))
    size = model.config.heatmap_size
    output = model(
        **batch,
        heatmap_labels=torch.zeros(2, 2, size, size),
        score_labels=torch.ones(2, 4),
        labels=feedback.processor.encode_labels(PROMPTS[:2], [[1] * 6, [1, 0, 1, 1, 1, 1, 1]]),
    )
    expected = 3 * output.heatmap_loss + 0.5 * output.score_loss + output.keyword_loss
    assert torch.isclose(output.loss, expected)
    output.loss.backward()
    assert [name for name, value in model.named_parameters() if value.grad is None] == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_joint_weight_scales_joint_outputs(variant):
    feedback = tiny_feedback(variant)
    model = feedback.model
    batch = feedback.processor(images=[IMAGE] * 2, text=list(PROMPTS[:2]))
    size = model.config.heatmap_size
    labels = {"heatmap_labels": torch.zeros(2, 2, size, size), "score_labels": torch.ones(2, 4)}
    labels["heatmap_labels"][0, 1] = float("nan")  # the first image has no misalignment label
    unweighted = model(**batch, **labels)
    maps, scores = unweighted.heatmaps.square().mean((2, 3)), (unweighted.scores - 1).square()
    # Three of four maps have labels, one of them of misalignment; scores: (1, w, 1, 1).
    mean = (maps[0, 0] + maps[1, 0] + maps[1, 1]) / 3
    assert torch.isclose(unweighted.heatmap_loss, mean)
    assert torch.isclose(unweighted.score_loss, scores.mean())
    model.config.joint_weight = 4.0
    output = model(**batch, **labels)
    assert torch.isclose(output.heatmap_loss, (maps[0, 0] + maps[1, 0] + 4 * maps[1, 1]) / 6)
    expected = (scores * torch.tensor([1.0, 4.0, 1.0, 1.0])).sum() / 14
    assert torch.isclose(output.score_loss, expected)


def test_ignores_missing_labels():
    feedback = tiny_feedback()
    batch = feedback.processor(images=[IMAGE] * 2, text=list(PROMPTS[:2]))
    labels = torch.full((2, 4), 0.5)
    labels[1] = float("nan")
    keywords = feedback.processor.encode_labels(PROMPTS[:2], [None, None])
    output = feedback.model(**batch, score_labels=labels, labels=keywords)
    assert torch.isclose(output.score_loss, (output.scores[0] - 0.5).square().mean())
    assert output.keyword_loss.item() == 0 and torch.isfinite(output.loss)


@pytest.mark.parametrize("variant", VARIANTS)
def test_save_and_load_keep_predictions(variant, tmp_path):
    from transformers import AutoModel, AutoProcessor

    registration.register()
    feedback = tiny_feedback(variant)
    folder = feedback.save_pretrained(tmp_path / "saved")
    assert not {path.suffix for path in folder.iterdir()} - {".json", ".safetensors"}
    loaded = FeedbackModel.from_pretrained(folder, device="cpu")
    before, after = (model.predict([IMAGE], [PROMPTS[0]])[0] for model in (feedback, loaded))
    assert np.allclose(list(before.scores.values()), list(after.scores.values()), atol=1e-6)
    for name, heatmap in before.heatmaps.items():
        assert np.allclose(heatmap, after.heatmaps[name], atol=1e-6)
    assert np.allclose(before.probabilities, after.probabilities, atol=1e-6)
    assert type(AutoModel.from_pretrained(folder)) is RahfForRichFeedback
    assert AutoProcessor.from_pretrained(folder).variant == variant


@pytest.mark.parametrize("kind", ["vit", "siglip"])
def test_from_towers_keeps_pretrained_weights(kind, tmp_path):
    from transformers import SiglipModel, T5ForConditionalGeneration, ViTModel

    tiny, size = tiny_config(), 32
    T5ForConditionalGeneration(tiny.text_config).save_pretrained(tmp_path / "t5")
    if kind == "vit":
        tower = ViTModel(tiny.vision_config)
        tower.save_pretrained(tmp_path / "vision")
    else:
        size = 16
        tower = SiglipModel.from_pretrained(save_siglip(tmp_path / "vision")).vision_model
    fields = {"score_conv_sizes": (8,), "score_dense_sizes": (8,), "heatmap_deconv_sizes": (8,)}
    towers = load_towers(str(tmp_path / "vision"), str(tmp_path / "t5"))
    model = RahfForRichFeedback.from_towers(*towers, heatmap_conv_sizes=(8,), **fields).eval()
    pixels = torch.randn(1, 3, size, size)
    with torch.no_grad():
        expected = model.projection(tower.eval()(pixel_values=pixels).last_hidden_state)
        assert torch.allclose(model.embed_images(pixels), expected, atol=1e-5)
    assert str(tmp_path) not in model.config.to_json_string()


def test_decodes_learned_keywords():
    """After training on one example, decoding returns its labels."""
    feedback, prompt, labels = tiny_feedback(), PROMPTS[0], [1, 0, 1, 1, 1, 0]
    batch = feedback.processor(images=[IMAGE], text=[prompt])
    batch["labels"] = feedback.processor.encode_labels([prompt], [labels])
    optimizer = torch.optim.AdamW(feedback.model.parameters(), lr=0.01)
    for _ in range(60):
        feedback.model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    (result,) = feedback.predict([IMAGE], [prompt])
    assert result.misaligned == [not label for label in labels]


def test_config_accepts_sizes_as_pairs():
    from transformers import T5Config, ViTConfig

    tiny = tiny_config()
    vision, text = tiny.vision_config.to_dict(), tiny.text_config.to_dict()
    del text["decoder_start_token_id"]
    vision |= {"image_size": (32, 32), "patch_size": [8, 8]}
    fields = ("heatmap_conv_sizes", "heatmap_deconv_sizes")
    fields += ("score_conv_sizes", "score_dense_sizes")
    config = RahfConfig(
        vision_config=ViTConfig(**vision),
        text_config=T5Config(**text),
        **{name: getattr(tiny, name) for name in fields},
    )
    assert (config.grid_size, config.image_size, config.heatmap_size) == (4, 32, 32)
    assert config.text_config.decoder_start_token_id == T5Config().pad_token_id == 0
