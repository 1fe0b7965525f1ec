"""Load weights of the first author's published layout into `RahfForRichFeedback`.

    python -m pqpp_feedback.rahf.convert_rahf CHECKPOINT OUTPUT --tokenizer t5-base

The layout: `vit` and `t5` with the names of transformers, `visual_token_projection`, two
`heatmap_predictor` and four `score_predictor`, each of which is read in the order of its layers,
so that the names inside a layer do not matter. Sizes come from the shapes. The weights themselves
are their author's, under their own licence; nothing of them is in this package.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES
from pqpp_files.errors import in_a_line
from pqpp_models.errors import CheckpointError

if TYPE_CHECKING:
    import torch

    from pqpp_feedback.rahf.configuration_rahf import RahfConfig
    from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback

# Names of transformers before and after version 5, inside a ViT.
_VIT_NAMES = (
    (r"^encoder\.layer\.(\d+)\.", r"layers.\1."),
    (r"\.attention\.attention\.(query|key|value)\.", r".attention.\1."),
    (r"\.attention\.query\.", ".attention.q_proj."),
    (r"\.attention\.key\.", ".attention.k_proj."),
    (r"\.attention\.value\.", ".attention.v_proj."),
    (r"\.attention\.output\.dense\.", ".attention.o_proj."),
    (r"(\d)\.intermediate\.dense\.", r"\1.mlp.fc1."),
    (r"(\d)\.output\.dense\.", r"\1.mlp.fc2."),
)

_TIED = ("encoder.embed_tokens", "decoder.embed_tokens", "lm_head")
_READOUT = ("first", "second")


def read_weights(path: str | Path) -> dict[str, torch.Tensor]:
    """Read a checkpoint of weights; nothing in it is executed.

    Args:
        path: A safetensors file, or a file of `torch.save` that holds tensors only.

    Raises:
        CheckpointError: The file is missing, damaged, or holds other things than tensors.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = Path(path)
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise CheckpointError(f"{path} cannot be read ({reason}); check the path") from None
    except Exception as error:
        raise CheckpointError(
            f"{path} holds other things than tensors ({type(error).__name__}); save its "
            "state_dict as safetensors"
        ) from None
    for name in ("state_dict", "model"):
        if isinstance(found, Mapping) and isinstance(found.get(name), Mapping):
            found = found[name]
    if not isinstance(found, Mapping) or not all(
        isinstance(v, torch.Tensor) for v in found.values()
    ):
        raise CheckpointError(f"{path} holds no state_dict of tensors; give one")
    return dict(found)


def convert(
    weights: Mapping[str, torch.Tensor],
    vision_heads: int | None = None,
    text_fields: Mapping[str, Any] | None = None,
    vision_fields: Mapping[str, Any] | None = None,
) -> RahfForRichFeedback:
    """Return the model of a state dict in the published layout.

    Args:
        weights: By their published names.
        vision_heads: Attention heads of the image tower, which no shape tells; a head of 64
            channels if left out.
        text_fields: Fields of the T5's configuration that no shape tells.
        vision_fields: Fields of the ViT's configuration that no shape tells.

    Raises:
        CheckpointError: A part is missing or has an unexpected shape.
    """
    from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback

    # A model saved from several devices puts `module.` before each name.
    weights = {name.removeprefix("module."): value for name, value in weights.items()}
    config = config_of(weights, vision_heads, text_fields, vision_fields)
    model = RahfForRichFeedback(config).eval()
    try:
        lacking, odd = model.load_state_dict(renamed(weights), strict=False)
    except RuntimeError as error:  # another shape
        reason = in_a_line(error, named=False)
        raise CheckpointError(
            f"the weights do not fit together ({reason}); check the file"
        ) from None
    # Word embeddings are one tensor, which a file may hold once.
    tied = {f"text_model.{name}.weight" for name in _TIED}
    lacking = [name for name in lacking if name not in tied]
    if lacking:
        raise CheckpointError(f"the weights lack what becomes {lacking[0]!r}; check the file")
    if odd:
        raise CheckpointError(f"the weights hold {odd[0]!r}, which this layout has not")
    return model


def renamed(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the weights under the names that they have in `RahfForRichFeedback`."""
    found = {
        **_vit(weights),
        **{f"text_model.{name}": value for name, value in _under(weights, "t5").items()},
        "projection.weight": _one(weights, "visual_token_projection.weight"),
        "projection.bias": _one(weights, "visual_token_projection.bias"),
    }
    for name in HEATMAPS:
        theirs, ours = f"heatmap_predictor.{name}", f"heatmap_heads.{name}"
        found |= _part(
            weights, f"{theirs}.conv_layers", f"{ours}.convs.{{}}", f"{ours}.conv_norms.{{}}"
        )
        for i in range(_count(weights, f"{theirs}.deconv_layers")):
            one = f"{ours}.readouts.{i}"
            norm, norms = f"{ours}.deconv_norms.{i}", f"{one}.norms.{{}}"
            found |= _part(weights, f"{theirs}.deconv_layers.{i}", f"{ours}.deconvs.{i}", norm)
            found |= _part(weights, f"{theirs}.conv_layers2.{i}", f"{one}.{{}}", norms, _READOUT)
        found |= _part(weights, f"{theirs}.last_conv1", f"{ours}.last_conv")
        found |= _part(weights, f"{theirs}.last_conv2", f"{ours}.output")
    for name in SCORES:
        theirs, ours = f"score_predictor.{name}", f"score_heads.{name}"
        found |= _part(weights, f"{theirs}.conv_layers", f"{ours}.convs.{{}}", f"{ours}.norms.{{}}")
        found |= _part(weights, f"{theirs}.linear_layers", f"{ours}.dense.{{}}")
    return found


def _part(
    weights: Mapping[str, torch.Tensor],
    theirs: str,
    layer: str,
    norm: str = "",
    names: Sequence[str] = (),
) -> dict[str, torch.Tensor]:
    """Return the layers and norms under a prefix, in order, by our names with a place for each."""
    found = {}
    for i, (weight, bias) in enumerate(_layers(weights, theirs)):
        name = names[i] if i < len(names) else i
        found[f"{layer}.weight".format(name)], found[f"{layer}.bias".format(name)] = weight, bias
    # Whatever the norms are called, their scales are the tensors of three dimensions.
    scales = [value for value in _under(weights, theirs).values() if value.ndim == 3]
    return found | {f"{norm}.weight".format(i): one.flatten() for i, one in enumerate(scales)}


def config_of(
    weights: Mapping[str, torch.Tensor],
    vision_heads: int | None,
    text_fields: Mapping[str, Any] | None,
    vision_fields: Mapping[str, Any] | None,
) -> RahfConfig:
    """Return the configuration that the shapes of the weights tell."""
    from pqpp_feedback.rahf.configuration_rahf import RahfConfig

    heat = f"heatmap_predictor.{HEATMAPS[0]}"
    score = f"score_predictor.{SCORES[0]}"
    score_convs = _layers(weights, f"{score}.conv_layers")
    dense = _layers(weights, f"{score}.linear_layers")
    vision = _vision_config(weights, vision_heads, vision_fields)
    grid, kernel = vision.image_size // vision.patch_size, score_convs[0][0].shape[-1]
    side = math.isqrt(dense[0][0].shape[1] // score_convs[-1][0].shape[0])
    lost = (grid - side) // len(score_convs)
    return RahfConfig(
        vision_config=vision,
        text_config=_text_config(weights, text_fields),
        variant="multi_head",
        head_style="released",
        heatmap_conv_sizes=[c[0].shape[0] for c in _layers(weights, f"{heat}.conv_layers")],
        heatmap_deconv_sizes=[c[0].shape[1] for c in _layers(weights, f"{heat}.deconv_layers")],
        score_conv_sizes=[conv[0].shape[0] for conv in score_convs],
        score_conv_kernel=kernel,
        score_conv_padding=(kernel - 1 - lost) // 2,
        score_dense_sizes=[layer[0].shape[0] for layer in dense[:-1]],
    )


def _vision_config(weights, heads, fields) -> Any:
    from transformers import ViTConfig

    vit = _vit(weights)
    patch = vit["vision_model.embeddings.patch_embeddings.projection.weight"]
    positions = vit["vision_model.embeddings.position_embeddings"].shape[1]
    inner = vit["vision_model.layers.0.mlp.fc1.weight"].shape[0]
    size = patch.shape[0]
    grid = math.isqrt(positions - 1)
    if grid * grid != positions - 1:
        raise CheckpointError(f"{positions} positions are no square of patches and a class token")
    own = {
        "hidden_size": size,
        "intermediate_size": inner,
        "num_hidden_layers": _count(vit, "vision_model.layers"),
        "num_attention_heads": heads or max(1, size // 64),
        "patch_size": patch.shape[-1],
        "image_size": grid * patch.shape[-1],
    }
    return ViTConfig(**own, **(fields or {}))


def _text_config(weights, fields) -> Any:
    from transformers import T5Config

    t5 = _under(weights, "t5")
    gated = "encoder.block.0.layer.1.DenseReluDense.wi_0.weight" in t5
    wide = _one(t5, f"encoder.block.0.layer.1.DenseReluDense.{'wi_0' if gated else 'wi'}.weight")
    bias = _one(t5, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
    query = _one(t5, "encoder.block.0.layer.0.SelfAttention.q.weight")
    shared = _one(t5, "shared.weight")
    head = t5.get("lm_head.weight")
    own = {
        "vocab_size": shared.shape[0],
        "d_model": shared.shape[1],
        "d_kv": query.shape[0] // bias.shape[1],
        "d_ff": wide.shape[0],
        "num_layers": _count(t5, "encoder.block"),
        "num_decoder_layers": _count(t5, "decoder.block"),
        "num_heads": bias.shape[1],
        "relative_attention_num_buckets": bias.shape[0],
        "feed_forward_proj": "gated-gelu" if gated else "relu",
        "tie_word_embeddings": head is None or bool((head == shared).all()),
        "decoder_start_token_id": 0,
    }
    return T5Config(**{**own, **(fields or {})})


def _vit(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    found = {}
    for name, value in _under(weights, "vit").items():
        if name.startswith("pooler."):  # made by default, used by nothing
            continue
        for old, new in _VIT_NAMES:
            name = re.sub(old, new, name)
        found[f"vision_model.{name}"] = value
    return found


def _under(weights: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """Return what is under a prefix, in the order of its numbers, the prefix taken off."""
    found = {k[len(prefix) + 1 :]: v for k, v in weights.items() if k.startswith(f"{prefix}.")}
    return dict(sorted(found.items(), key=lambda item: _natural(item[0])))


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = name.split(".")
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def _layers(weights, prefix: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return weight and bias of each layer under a prefix, in order."""
    found = [
        (value, _one(weights, f"{prefix}.{name}".removesuffix("weight") + "bias"))
        for name, value in _under(weights, prefix).items()
        if value.ndim in (2, 4) and name.split(".")[-1] == "weight"
    ]
    if not found:
        raise CheckpointError(f"the weights have no layers under {prefix!r}; check the layout")
    return found


def _count(weights, prefix: str) -> int:
    numbers = {name.split(".")[0] for name in _under(weights, prefix)}
    return len({number for number in numbers if number.isdigit()})


def _one(weights: Mapping[str, torch.Tensor], name: str) -> torch.Tensor:
    if name not in weights:
        raise CheckpointError(f"the weights have no {name!r}; check the layout")
    return weights[name]


def main() -> None:
    """Convert a file and save the model with its processor."""
    from transformers import AutoTokenizer, ViTImageProcessor

    from pqpp_feedback.rahf.feedback import FILES, FeedbackModel
    from pqpp_feedback.rahf.heads import layer_rows
    from pqpp_feedback.rahf.processing_rahf import RahfProcessor
    from pqpp_files.check_output import check_output_folder
    from pqpp_hub.card import render_card
    from pqpp_models.pretrained import TEXTS, loading

    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("checkpoint", help="the published file")
    parser.add_argument("output", help="a new folder")
    parser.add_argument("--tokenizer", default="google-t5/t5-base", help="the T5's tokenizer")
    options = parser.parse_args()
    name = options.tokenizer
    check_output_folder(options.output, FILES)
    weights = read_weights(options.checkpoint)
    remedy = "name the T5's by --tokenizer"
    with loading(f"{name} holds no usable tokenizer", remedy, name, files=TEXTS):
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    model = convert(weights)
    size = model.config.vision_config.image_size
    images = ViTImageProcessor(size={"height": size, "width": size})
    processor = RahfProcessor(images, tokenizer)
    card = render_card(
        "feedback/rahf", variant=model.config.variant, details=None, layers=layer_rows(model)
    )
    FeedbackModel(model, processor).save_pretrained(options.output, card)


if __name__ == "__main__":
    from pqpp_models.training.script import run_script

    run_script(main)
