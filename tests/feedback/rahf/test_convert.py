"""The RAHF converter: outputs of the author's code, and the published sizes."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="RAHF needs torch")
transformers = pytest.importorskip("transformers", reason="RAHF needs transformers")

from pqpp_feedback.rahf import RahfForRichFeedback, convert_rahf  # noqa: E402
from pqpp_feedback.rahf.convert_rahf import Checkpoint, convert_weights, infer_config  # noqa: E402

SCORES = ("plausibility", "alignment", "aesthetics", "overall")


def make_layout(size, width, grid, convs, deconvs, score_sizes, dense):
    """Return the shapes of the projection and the heads, as the published file has them."""
    shapes = {}

    def layer(name, *shape):
        shapes[f"{name}.weight"] = shape
        shapes[f"{name}.bias"] = (shape[1] if "deconv" in name else shape[0],)

    def norm(name, channels):
        shapes[f"{name}.scale"] = (channels, 1, 1)

    layer("visual_token_projection", size, width)
    for kind in ("implausibility", "misalignment"):
        head = f"heatmap_predictor.{kind}"
        layer(f"{head}.conv_layers.0", convs[0], size, 3, 3)
        norm(f"{head}.conv_layers.2", convs[0])
        layer(f"{head}.conv_layers.3", convs[1], convs[0], 3, 3)
        norm(f"{head}.conv_layers.5", convs[1])
        for i, pair in enumerate(itertools.pairwise((convs[1], *deconvs))):
            layer(f"{head}.deconv_layers.{i}.0", *pair, 3, 3)
            norm(f"{head}.deconv_layers.{i}.1", pair[1])
            for j in (0, 3):
                layer(f"{head}.conv_layers2.{i}.{j}", pair[1], pair[1], 3, 3)
                norm(f"{head}.conv_layers2.{i}.{j + 1}", pair[1])
        layer(f"{head}.last_conv1", deconvs[-1], deconvs[-1], 3, 3)
        layer(f"{head}.last_conv2", 1, deconvs[-1], 3, 3)
    for kind in SCORES:
        head = f"score_predictor.{kind}"
        for i, pair in enumerate(itertools.pairwise((size, *score_sizes))):
            layer(f"{head}.conv_layers.{3 * i}", pair[1], pair[0], 3, 3)
            norm(f"{head}.conv_layers.{3 * i + 1}", pair[1])
        sizes = (score_sizes[-1] * grid**2, *dense, 1)
        for i, pair in enumerate(itertools.pairwise(sizes)):
            layer(f"{head}.linear_layers.{2 * i}", pair[1], pair[0])
    return shapes


def to_old_name(name):
    """Return the name of a ViT tensor in transformers 4."""
    for new, old in (
        ("layers.", "encoder.layer."),
        ("attention.q_proj", "attention.attention.query"),
        ("attention.k_proj", "attention.attention.key"),
        ("attention.v_proj", "attention.attention.value"),
        ("attention.o_proj", "attention.output.dense"),
        ("mlp.fc1", "intermediate.dense"),
        ("mlp.fc2", "output.dense"),
    ):
        name = name.replace(new, old)
    return name


@torch.no_grad()
def test_converted_model_matches_the_authors_code(real_data):
    folder = real_data / "rahf_reference"
    with np.load(folder / "state_dict.npz") as saved, np.load(folder / "cases.npz") as cases:
        model = convert_weights({name: torch.from_numpy(saved[name]) for name in saved})
        for case in ("0", "1"):
            inputs = {
                name: torch.from_numpy(cases[f"{case}.{name}"])
                for name in ("pixel_values", "input_ids", "labels")
            }
            output = model(**inputs)
            for name, values, kinds in (
                ("heatmap", output.heatmaps, ("implausibility", "misalignment")),
                ("score", output.scores, SCORES),
            ):
                for index, kind in enumerate(kinds):
                    expected = cases[f"{case}.{name}.{kind}"]
                    np.testing.assert_allclose(values[:, index], expected, atol=1e-5)
            logits = cases[f"{case}.decoder_logits"]
            np.testing.assert_allclose(output.logits, logits, atol=1e-5 * np.abs(logits).max())
            loss = cases[f"{case}.sequence_loss"][0]
            assert float(output.keyword_loss) == pytest.approx(loss, abs=1e-5)


def test_infers_published_sizes():
    """The shapes are those of ViT-L/16 at 384 pixels, T5-base and their heads."""
    with torch.device("meta"):
        vit = transformers.ViTModel(
            transformers.ViTConfig(
                hidden_size=1024,
                num_hidden_layers=24,
                num_attention_heads=16,
                intermediate_size=4096,
                image_size=384,
            )
        )
        t5 = transformers.T5ForConditionalGeneration(
            transformers.T5Config(d_model=768, d_ff=3072, num_layers=12, num_heads=12)
        )
    shapes = {f"vit.{to_old_name(name)}": value.shape for name, value in vit.state_dict().items()}
    shapes |= {f"t5.{name}": value.shape for name, value in t5.state_dict().items()}
    score_sizes = tuple(768 // n for n in (1, 2, 4, 8, 16, 64))
    deconvs = (768, 384, 384, 192)
    shapes |= make_layout(768, 1024, 24, (768, 384), deconvs, score_sizes, (512, 128))
    # Expanded tensors have the shapes, but use no memory.
    weights = {name: torch.zeros(1).expand(*shape) for name, shape in shapes.items()}
    config = infer_config(Checkpoint(weights))
    assert (config.grid_size, config.heatmap_size, config.score_map_size) == (24, 384, 24)
    vision, text = config.vision_config, config.text_config
    sizes = vision.num_hidden_layers, vision.num_attention_heads, vision.image_size
    assert sizes == (24, 16, 384)
    assert (text.d_ff, text.num_layers, text.num_decoder_layers, text.d_kv) == (3072, 12, 12, 64)
    assert text.feed_forward_proj == "relu" and text.tie_word_embeddings
    assert config.score_conv_sizes == list(score_sizes)
    assert config.score_dense_sizes == [512, 128]
    with torch.device("meta"):
        model = RahfForRichFeedback(config)
    renamed = convert_rahf.rename_weights(Checkpoint(weights))
    assert {k: v.shape for k, v in renamed.items()} == {
        k: v.shape for k, v in model.state_dict().items() if k in renamed
    }
    missing = set(model.state_dict()) - set(renamed)
    assert missing <= {"text_model.encoder.embed_tokens.weight", "text_model.lm_head.weight"}


def test_command_rejects_missing_tokenizer_and_file_as_output(tmp_path, monkeypatch, capsys):
    from safetensors.torch import save_file

    from pqpp_backbones.training.script import run_or_exit

    save_file({"vit.a": torch.zeros(1)}, tmp_path / "w.safetensors")
    (tmp_path / "nothing").mkdir()

    def read_error(output, tokenizer):
        words = [str(tmp_path / "w.safetensors"), str(tmp_path / output)]
        words += ["--tokenizer", str(tmp_path / tokenizer)]
        monkeypatch.setattr("sys.argv", ["convert_rahf", *words])
        with pytest.raises(SystemExit) as exit_info:
            run_or_exit(convert_rahf.main)
        assert exit_info.value.code == 2
        return capsys.readouterr().err.splitlines()[-1]

    assert "nothing has no usable tokenizer" in read_error("out", "nothing")
    assert not (tmp_path / "out").exists()
    assert "w.safetensors is a file; use a folder" in read_error("w.safetensors", "nothing")
