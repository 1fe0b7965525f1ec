"""The fine-tuned CLIP of the PQPP paper (sections 5.2 and 11), for any CLIP-like model.

The head has text and image features as input, and two hidden layers of 512 and 256 units with ReLU
and dropout .5. For generation one neuron is trained by mean squared error on the performance scaled
to 0 .. 1, for retrieval one neuron by binary cross-entropy on the image's relevance.
"""

import itertools
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel

from pqpp_backbones.images import embedding
from pqpp_backbones.pretrained import StrictLoading
from pqpp_files.extras import require_extra
from pqpp_models.clip import AGGREGATIONS, TASKS
from pqpp_models.images.pairs import Pairs, get_task
from pqpp_models.neural import PerformanceOutput, PredictorConfig, masked_mean_squared_error
from pqpp_models.registration import add_classes as _add_classes


class ClipPredictorConfig(PredictorConfig):
    """The configuration of a `ClipForPerformancePrediction`.

    Args:
        backbone_config: Configuration of a CLIP-like model: any `AutoModel` with
            `get_text_features` and `get_image_features`.
        targets: The targets: HBPP, ratings, rates or scores for generation, P@k and RR for
            retrieval.
        limits: See `PredictorConfig`.
        task: `generation` (regression) or `retrieval` (binary classification).
        hidden_sizes: Units of the head's hidden layers (512 and 256 in the paper).
        head_dropout: Dropout after each hidden layer (0.5).
        first_k: Number of retrieved images to use (25).
        aggregation: How P@10 and RR are computed from predicted relevances: with a `threshold` of
            .5, as in the paper, or as the `expected` value.
        initializer_range: Standard deviation of the head's initial weights.

    Example:
        >>> ClipPredictorConfig(task="retrieval", targets=["mean_rr"]).first_k
        25
    """

    model_type = "clip_predictor"
    sub_configs = {"backbone_config": AutoConfig}  # noqa: RUF012 (transformers' own form)
    BACKBONE = "clip"

    backbone_config: dict | PreTrainedConfig | None = None
    task: str = "generation"
    hidden_sizes: list[int] | tuple[int, ...] = (512, 256)
    head_dropout: float = 0.5
    first_k: int = 25
    aggregation: str = "threshold"
    initializer_range: float = 0.02
    predictor_type: str = "clip"

    def __post_init__(self, **kwargs: Any) -> None:
        for name, allowed in (("task", TASKS), ("aggregation", AGGREGATIONS)):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"`{name}` must be one of {', '.join(allowed)}; got {getattr(self, name)!r}"
                )
        default = ["mean_hbpp"] if self.task == "generation" else ["mean_p10", "mean_rr"]
        self.targets = list(self.targets or default)
        if other := [target for target in self.targets if get_task(target) != self.task]:
            raise ValueError(f"{other[0]!r} is not a target of `task` {self.task!r}; change `task`")
        super().__post_init__(**kwargs)


_add_classes(ClipPredictorConfig)


class PairHead(nn.Module):
    """Hidden layers with ReLU and dropout, then one output."""

    def __init__(self, input_size: int, hidden_sizes: list[int], dropout: float) -> None:
        super().__init__()
        sizes = [input_size, *hidden_sizes]
        layers: list[nn.Module] = []
        for n_inputs, n_outputs in itertools.pairwise(sizes):
            layers += [nn.Linear(n_inputs, n_outputs), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers)
        self.output = nn.Linear(sizes[-1], 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the logit of each pair."""
        return self.output(self.layers(features))


class ClipForPerformancePrediction(StrictLoading, PreTrainedModel):
    """A CLIP-like model with the paper's head, which scores (prompt, image) pairs."""

    config_class = ClipPredictorConfig
    accepts_loss_kwargs = False  # the loss is a mean, which accumulation divides
    base_model_prefix = "backbone"
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_attention_backend = True

    def __init__(self, config: ClipPredictorConfig, backbone: PreTrainedModel | None = None):
        super().__init__(config)
        if backbone is None:
            backbone = AutoModel.from_config(config.backbone_config, trust_remote_code=False)
        self.backbone = backbone
        size = embedding.get_feature_size(config.backbone_config)
        self.head = PairHead(size, list(config.hidden_sizes), config.head_dropout)
        self.post_init()

    @classmethod
    def from_backbone(cls, name_or_path: str, **fields: Any) -> Self:
        """Create a model from a pretrained CLIP-like model and a new head.

        Args:
            name_or_path: Name or path of the CLIP-like model, for `AutoModel.from_pretrained`.
            **fields: Fields of `ClipPredictorConfig`, like `task` and `targets`.

        Raises:
            ModelError: The model does not exist, or is not CLIP-like.
        """
        backbone = embedding.load_backbone(name_or_path)
        if Path(name_or_path).is_dir():  # a published configuration contains no local path
            backbone.config.name_or_path = Path(name_or_path).resolve().name
        return cls(ClipPredictorConfig(backbone_config=backbone.config, **fields), backbone)

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        pixel_values: torch.Tensor | None = None,
        text_embeds: torch.Tensor | None = None,
        image_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **_: Any,
    ) -> PerformanceOutput:
        """Score each prompt with the image at the same index.

        Args:
            input_ids: Tokens of the prompts, unless `text_embeds` is given.
            attention_mask: 1 for tokens, 0 for padding.
            pixel_values: The images, unless `image_embeds` is given.
            text_embeds: Precomputed text features.
            image_embeds: Precomputed image features.
            labels: `(pairs,)`, scaled performance or relevance, NaN if missing.
        """
        if text_embeds is None:
            tokens = {"input_ids": input_ids, "attention_mask": attention_mask}
            text_embeds = self.backbone.get_text_features(**tokens).pooler_output
        if image_embeds is None:
            image_embeds = self.backbone.get_image_features(pixel_values).pooler_output
        logits = self.head(torch.cat([text_embeds, image_embeds], dim=-1))
        is_retrieval = self.config.task == "retrieval"
        # Only probabilities have a sigmoid; the paper's regression neuron has none.
        scores = torch.sigmoid(logits) if is_retrieval else logits
        loss = None
        if labels is not None and is_retrieval:
            labels = labels.view(-1, 1)
            known = ~torch.isnan(labels)
            losses = functional.binary_cross_entropy_with_logits(
                logits.float(), torch.nan_to_num(labels), reduction="none"
            )
            loss = (losses * known).sum() / known.sum().clamp(min=1)
        elif labels is not None:
            loss = masked_mean_squared_error(logits, labels.view(-1, 1))
        return PerformanceOutput(loss=loss, scores=scores, logits=logits)


def prepare_tuning(model: Any, tuning: str, rank: int, alpha: int) -> None:
    """Prepare a model for training its head only, its head and low-rank adapters, or all weights.

    Args:
        model: A model with `backbone` and `head`.
        tuning: One of `TUNINGS`.
        alpha: The numerator of the adapters' scale, alpha / rank.

    Raises:
        MissingExtraError: Adapters are requested and peft is not installed.
    """
    if tuning == "full":
        return
    model.backbone.requires_grad_(False)
    if tuning == "lora":
        with require_extra("`tuning: lora`", "models"):
            from peft import LoraConfig, get_peft_model
        adapters = LoraConfig(r=rank, lora_alpha=alpha, target_modules=["q_proj", "v_proj"])
        model.backbone = get_peft_model(model.backbone, adapters)


def merge_adapters(model: Any, tuning: str) -> None:
    """Merge trained adapters, if any, into the weights, and make all weights trainable."""
    if tuning == "lora":
        model.backbone = model.backbone.merge_and_unload()
    model.requires_grad_(True)


def embed_pairs(
    backbone: Any, processor: Any, pairs: Pairs, batch_size: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the text and image features of each pair."""
    text = embedding.embed_prompts(backbone, processor, pairs.prompts, batch_size)
    return text[pairs.row], embedding.embed_images(backbone, processor, pairs.images, batch_size)


def score_pairs(model: Any, processor: Any, pairs: Pairs, batch_size: int) -> NDArray[np.float64]:
    """Return the score of each pair."""
    text, images = embed_pairs(model.backbone, processor, pairs, batch_size)

    def score_batch(indices: NDArray[np.int64]) -> torch.Tensor:
        features = {"text_embeds": text[indices], "image_embeds": images[indices]}
        tensors = {name: torch.from_numpy(rows).to(model.device) for name, rows in features.items()}
        return model(**tensors).scores[:, 0]

    return embedding.run_batches(np.arange(len(text)), score_batch, batch_size).astype(np.float64)
