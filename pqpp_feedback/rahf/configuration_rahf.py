"""The configuration of RAHF; its defaults are those in section 9 of the RichHF paper."""

from typing import Any, Self

from transformers import AutoConfig, PreTrainedConfig, T5Config, ViTConfig

from pqpp_feedback.errors import check_choice
from pqpp_feedback.rahf.outputs import HEAD_STYLES, VARIANTS
from pqpp_feedback.registration import add_classes


class RahfConfig(PreTrainedConfig):
    """The sizes of the image tower, of the T5 and of the heads.

    The defaults are ViT-B/16 at 224 pixels, and a T5 with 12 layers, 12 heads and an MLP size of
    2048, as in T5 v1.1 base.

    Args:
        vision_config: A `ViTConfig`, SigLIP's vision config, or another one with one token per
            patch after any other tokens; images and patches are square.
        text_config: The configuration of any T5; by default, decoding starts with the padding
            token.
        variant: `multi_head`, seven heads, or `augmented_prompt`, three heads for which a task
            string before the prompt selects the output (section 4.1.2).
        head_style: `paper`, or `released` for the first author's published weights: norms without
            mean and bias, residual read-out convolutions, and a decoder that attends only to the
            prompt.
        heatmap_conv_sizes: Numbers of filters of the heatmap head's first convolutions.
        heatmap_deconv_sizes: Numbers of filters of the heatmap head's deconvolutions, each of which
            doubles the map's size.
        score_conv_sizes: Numbers of filters of the score head's convolutions.
        score_conv_kernel: Kernel size of the score head's convolutions.
        score_conv_padding: Padding of the score head's convolutions.
        score_dense_sizes: Numbers of outputs of the score head's dense layers before the last one,
            which has a single output.
        heatmap_weight: Weight of the heatmaps' squared error in the loss.
        score_weight: Weight of the scores' squared error.
        keyword_weight: Weight of the rewritten prompt's cross-entropy.
        joint_weight: Relative weight of the outputs that need image and prompt together,
            misalignment and alignment; the others have weight 1.
        initializer_range: Standard deviation of the heads' initial weights.

    Example:
        >>> RahfConfig.small().heatmap_size
        32
    """

    model_type = "rahf"
    sub_configs = {"vision_config": AutoConfig, "text_config": AutoConfig}  # noqa: RUF012

    vision_config: dict | PreTrainedConfig | None = None
    text_config: dict | PreTrainedConfig | None = None
    variant: str = "multi_head"
    head_style: str = "paper"
    heatmap_conv_sizes: list[int] | tuple[int, ...] = (768, 384)
    heatmap_deconv_sizes: list[int] | tuple[int, ...] = (768, 384, 384, 192)
    score_conv_sizes: list[int] | tuple[int, ...] = (768, 384, 128, 64)
    score_conv_kernel: int = 2
    score_conv_padding: int = 0
    score_dense_sizes: list[int] | tuple[int, ...] = (2048, 1024)
    heatmap_weight: float = 5.0
    score_weight: float = 1.0
    keyword_weight: float = 1.0
    joint_weight: float = 1.0
    initializer_range: float = 0.02

    def __post_init__(self, **kwargs: Any) -> None:
        """Build the configurations of image tower and T5, and check the options."""
        check_choice("variant", self.variant, VARIANTS)
        check_choice("head_style", self.head_style, HEAD_STYLES)
        self.vision_config = _build_config(self.vision_config or ViTConfig(), "vit")
        base = _make_t5_config(768, 2048, 12, 12, tie_word_embeddings=False)
        self.text_config = _build_config(self.text_config or base, "t5")
        if getattr(self.text_config, "decoder_start_token_id", None) is None:
            self.text_config.decoder_start_token_id = self.text_config.pad_token_id
        for name in ("heatmap_conv_sizes", "heatmap_deconv_sizes", "score_conv_sizes"):
            setattr(self, name, [int(size) for size in getattr(self, name)])
        super().__post_init__(**kwargs)

    @property
    def grid_size(self) -> int:
        """The number of patches along a side of the image."""
        return self.image_size // _get_side(self.vision_config, "patch_size")

    @property
    def image_size(self) -> int:
        """The number of pixels along a side of the image."""
        return _get_side(self.vision_config, "image_size")

    @property
    def heatmap_size(self) -> int:
        """The number of pixels along a side of a predicted heatmap."""
        return self.grid_size * 2 ** len(self.heatmap_deconv_sizes)

    @property
    def score_map_size(self) -> int:
        """The side of the feature map that is the input of the score head's dense layers."""
        shrinkage = self.score_conv_kernel - 1 - 2 * self.score_conv_padding
        return self.grid_size - shrinkage * len(self.score_conv_sizes)

    @classmethod
    def small(cls, variant: str = "multi_head", vocab_size: int = 256, **fields: Any) -> Self:
        """Return a small configuration, which two CPU cores can train in minutes."""
        # The default of .02 is for widths from 768 on; at these widths, activations would vanish.
        init = {"initializer_range": 0.08}
        vision = ViTConfig(
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=3,
            num_attention_heads=4,
            image_size=64,
            patch_size=8,
            hidden_dropout_prob=0.0,
            **init,
        )
        # Untied, a small T5's initial logits are so large that half of the training reduces them.
        options = {"tie_word_embeddings": True, "dropout_rate": 0.0}
        text = _make_t5_config(64, 128, 2, 4, vocab_size=vocab_size, **options)
        heads = {"heatmap_conv_sizes": (48, 32), "heatmap_deconv_sizes": (24, 16)}
        heads |= {"score_conv_sizes": (32, 16), "score_dense_sizes": (64, 32)}
        fields = {"variant": variant, **heads, **init, **fields}
        return cls(vision_config=vision, text_config=text, **fields)


def _make_t5_config(size: int, mlp_size: int, layers: int, heads: int, **fields: Any) -> T5Config:
    return T5Config(
        d_model=size,
        d_kv=size // heads,
        d_ff=mlp_size,
        num_layers=layers,
        num_heads=heads,
        feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
        **fields,
    )


def _get_side(config: Any, name: str) -> int:
    """Return the side of a square that transformers writes as one or two numbers."""
    value = getattr(config, name)
    (side,) = set(value) if isinstance(value, (list, tuple)) else [value]
    return int(side)


def _build_config(config: Any, kind: str) -> PreTrainedConfig:
    if not isinstance(config, dict):
        return config
    fields = dict(config)
    return AutoConfig.for_model(fields.pop("model_type", kind), **fields)


add_classes(RahfConfig, "pqpp_feedback.rahf.processing_rahf:RahfProcessor")
