"""Load weights in the first author's published layout into `RahfForRichFeedback`.

    python -m pqpp_feedback.rahf.convert_rahf CHECKPOINT OUTPUT --tokenizer t5-base

The layout has `rename_vit` and `t5` with the names of transformers, `visual_token_projection`, two
`heatmap_predictor` and four `score_predictor`. These predictors are read in the order of their
layers, so that the names inside a layer do not matter. Sizes are inferred from the shapes. The
weights are their author's, under their own licence, and are not part of this package.
"""

import argparse
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from transformers import T5Config, ViTConfig, ViTImageProcessor

from pqpp_backbones.errors import ModelError
from pqpp_backbones.pretrained import load_tokenizer
from pqpp_feedback.rahf.configuration_rahf import RahfConfig
from pqpp_feedback.rahf.feedback import RAHF_FILES, FeedbackModel
from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback
from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES
from pqpp_feedback.rahf.processing_rahf import RahfProcessor
from pqpp_files.errors import describe
from pqpp_files.foreign.arrays import load_tensors
from pqpp_files.paths import check_output_folder

# Patterns of a ViT's weight names before version 5 of transformers, and their replacements.
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

_SHARED = ("encoder.embed_tokens", "decoder.embed_tokens", "lm_head")
_TIED = [f"text_model.{name}.weight" for name in _SHARED]
_REMEDY = "use a checkpoint in the layout of the first author's weights"
StateDict = dict[str, torch.Tensor]
_T5_PARTS = ("0.SelfAttention", "1.DenseReluDense")


def read_weights(path: str | Path) -> StateDict:
    """Read a checkpoint of weights without executing code.

    Args:
        path: A safetensors file, or a file written by `torch.save` that contains only tensors.

    Raises:
        ModelError: The file is missing or damaged, or contains objects other than tensors.
    """
    path = Path(path)
    try:
        if path.suffix == ".safetensors":
            return load_tensors(path, "", ModelError, "torch")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except ModelError:
        raise
    except Exception as error:  # the original message may advise to execute the file
        reason = getattr(error, "strerror", None) or type(error).__name__
        remedy = "check the path, or save the model's state_dict as safetensors"
        problem = f"{path} cannot be read, or contains more than tensors ({reason})"
        raise ModelError(f"{problem}; {remedy}") from None
    for name in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(name), Mapping):
            content = content[name]
    values = content.values() if isinstance(content, Mapping) else [None]
    if not all(isinstance(value, torch.Tensor) for value in values):
        raise ModelError(f"{path} has no state_dict of tensors; save a state_dict as safetensors")
    return dict(content)


def convert_weights(weights: Mapping[str, torch.Tensor]) -> RahfForRichFeedback:
    """Build the model from a state dict in the published layout.

    The shapes do not determine the image tower's number of attention heads; 64 channels per head
    are assumed.

    Args:
        weights: The weights by their published names.

    Raises:
        ModelError: A weight is missing or has an unexpected shape.
    """
    # Data-parallel training saves names with the prefix `module.`.
    layout = Checkpoint({name.removeprefix("module."): value for name, value in weights.items()})
    model = RahfForRichFeedback(infer_config(layout)).eval()
    renamed = rename_weights(layout)
    # The tied word embeddings are one tensor, which a file may store only once.
    tied = dict.fromkeys(_TIED, renamed["text_model.shared.weight"])
    try:
        model.load_state_dict(tied | renamed)
    except RuntimeError as error:  # unexpected names or shapes
        reason = describe(error, named=False)
        raise ModelError(f"the checkpoint does not fit RAHF ({reason}); {_REMEDY}") from None
    return model


class Checkpoint(dict):
    """A state dict with the published names; a missing name raises a `ModelError`."""

    def __missing__(self, name: str) -> torch.Tensor:
        raise ModelError(f"the checkpoint has no {name!r}; {_REMEDY}")

    def select(self, prefix: str) -> StateDict:
        """Select the entries under a prefix, in numeric order, without the prefix."""
        names = [name for name in self if name.startswith(f"{prefix}.")]
        names.sort(key=lambda name: re.sub(r"\d+", lambda number: number[0].zfill(9), name))
        return {name[len(prefix) + 1 :]: self[name] for name in names}

    def get_layers(self, prefix: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return the weight and bias of each layer under a prefix, in order."""
        layers = [
            (value, self[f"{prefix}.{name}".removesuffix("weight") + "bias"])
            for name, value in self.select(prefix).items()
            if value.ndim in (2, 4) and name.split(".")[-1] == "weight"
        ]
        if not layers:
            raise ModelError(f"the checkpoint has no layers under {prefix!r}; {_REMEDY}")
        return layers

    def count_parts(self, prefix: str) -> int:
        """Return the number of numbered modules under a prefix."""
        return len({name.split(".")[0] for name in self.select(prefix) if name[0].isdigit()})

    def rename(self, old: str, new: str, norm: str = "", names: Sequence[str] = ()) -> StateDict:
        """Return the weights of layers and norms under a prefix, with pqpp's names."""
        state: StateDict = {}
        keys = names or itertools.count()
        for name, (weight, bias) in zip(keys, self.get_layers(old), strict=False):
            state |= {f"{new}.weight".format(name): weight, f"{new}.bias".format(name): bias}
        # The names of norms vary; their scales are the tensors with three dimensions.
        scales = [value for value in self.select(old).values() if value.ndim == 3]
        return state | {f"{norm}.weight".format(i): s.flatten() for i, s in enumerate(scales)}

    def rename_vit(self) -> "Checkpoint":
        """Return the weights of the image tower, with pqpp's names."""
        layout = Checkpoint()
        for name, value in self.select("vit").items():
            if not name.startswith("pooler."):  # created by default, never used
                for old, new in _VIT_NAMES:
                    name = re.sub(old, new, name)
                layout[f"vision_model.{name}"] = value
        return layout


def rename_weights(layout: Checkpoint) -> StateDict:
    """Return the weights under the names of `RahfForRichFeedback`."""
    state = {
        **layout.rename_vit(),
        **{f"text_model.{name}": value for name, value in layout.select("t5").items()},
        **layout.rename("visual_token_projection", "projection"),
    }
    for name in HEATMAPS:
        old, new = f"heatmap_predictor.{name}", f"heatmap_heads.{name}"
        norm = f"{new}.conv_norms.{{}}"
        state |= layout.rename(f"{old}.conv_layers", f"{new}.convs.{{}}", norm)
        for i in range(layout.count_parts(f"{old}.deconv_layers")):
            readout, norm = f"{new}.readouts.{i}", f"{new}.deconv_norms.{i}"
            state |= layout.rename(f"{old}.deconv_layers.{i}", f"{new}.deconvs.{i}", norm)
            targets = f"{readout}.{{}}", f"{readout}.norms.{{}}", ("first", "second")
            state |= layout.rename(f"{old}.conv_layers2.{i}", *targets)
        state |= layout.rename(f"{old}.last_conv1", f"{new}.last_conv")
        state |= layout.rename(f"{old}.last_conv2", f"{new}.output")
    for name in SCORES:
        old, new = f"score_predictor.{name}", f"score_heads.{name}"
        state |= layout.rename(f"{old}.conv_layers", f"{new}.convs.{{}}", f"{new}.norms.{{}}")
        state |= layout.rename(f"{old}.linear_layers", f"{new}.dense.{{}}")
    return state


def infer_config(layout: Checkpoint) -> RahfConfig:
    """Infer the configuration from the shapes of the weights."""
    heatmap_head, score_head = f"heatmap_predictor.{HEATMAPS[0]}", f"score_predictor.{SCORES[0]}"
    vit, t5 = layout.rename_vit(), Checkpoint(layout.select("t5"))
    size, _, _, patch = vit["vision_model.embeddings.patch_embeddings.projection.weight"].shape
    positions = vit["vision_model.embeddings.position_embeddings"].shape[1]
    grid = math.isqrt(positions - 1)
    if grid * grid != positions - 1:
        raise ModelError(f"the patches of the image tower do not form a square; {_REMEDY}")
    vision = ViTConfig(
        hidden_size=size,
        intermediate_size=vit["vision_model.layers.0.mlp.fc1.weight"].shape[0],
        num_hidden_layers=vit.count_parts("vision_model.layers"),
        num_attention_heads=max(1, size // 64),
        patch_size=patch,
        image_size=grid * patch,
    )
    attention, relu = (f"encoder.block.0.layer.{part}" for part in _T5_PARTS)
    is_gated = f"{relu}.wi_0.weight" in t5
    buckets, heads = t5[f"{attention}.relative_attention_bias.weight"].shape
    shared, lm_head = t5["shared.weight"], t5.get("lm_head.weight")
    text = T5Config(
        vocab_size=shared.shape[0],
        d_model=shared.shape[1],
        d_kv=t5[f"{attention}.q.weight"].shape[0] // heads,
        d_ff=t5[f"{relu}.{'wi_0' if is_gated else 'wi'}.weight"].shape[0],
        num_layers=t5.count_parts("encoder.block"),
        num_decoder_layers=t5.count_parts("decoder.block"),
        num_heads=heads,
        relative_attention_num_buckets=buckets,
        feed_forward_proj="gated-gelu" if is_gated else "relu",
        tie_word_embeddings=lm_head is None or bool((lm_head == shared).all()),
        decoder_start_token_id=0,
    )

    def get_shapes(prefix: str) -> list[torch.Size]:
        return [weight.shape for weight, _ in layout.get_layers(prefix)]

    convs, deconvs = (get_shapes(f"{heatmap_head}.{n}_layers") for n in ("conv", "deconv"))
    score_convs, dense = (get_shapes(f"{score_head}.{n}_layers") for n in ("conv", "linear"))
    kernel, side = score_convs[0][-1], math.isqrt(dense[0][1] // score_convs[-1][0])
    shrinkage = (grid - side) // len(score_convs)
    return RahfConfig(
        vision_config=vision,
        text_config=text,
        variant="multi_head",
        head_style="released",
        heatmap_conv_sizes=[shape[0] for shape in convs],
        heatmap_deconv_sizes=[shape[1] for shape in deconvs],
        score_conv_sizes=[shape[0] for shape in score_convs],
        score_conv_kernel=kernel,
        score_conv_padding=(kernel - 1 - shrinkage) // 2,
        score_dense_sizes=[shape[0] for shape in dense[:-1]],
    )


def main() -> None:
    """Convert the checkpoint in the command line, and save the model with its processor."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("checkpoint", help="the published file")
    parser.add_argument("output", help="a new folder")
    parser.add_argument("--tokenizer", default="google-t5/t5-base", help="the T5's tokenizer")
    options = parser.parse_args()
    check_output_folder(options.output, RAHF_FILES)
    weights = read_weights(options.checkpoint)
    tokenizer = load_tokenizer(options.tokenizer)
    model = convert_weights(weights)
    size = model.config.image_size
    image_processor = ViTImageProcessor(size={"height": size, "width": size})
    processor = RahfProcessor(image_processor, tokenizer)
    FeedbackModel(model, processor).save_pretrained(options.output, details={})


if __name__ == "__main__":
    from pqpp_backbones.training.script import run_or_exit

    run_or_exit(main)
