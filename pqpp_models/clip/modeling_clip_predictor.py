"""The fine-tuned CLIP of the PQPP paper (sections 5.2 and 11), for any CLIP-like model.

Text and image features are concatenated and go through two hidden layers of 512 and 256 with ReLU
and dropout .5. For generation one neuron is trained by mean squared error on the performance
scaled to 0 .. 1, for retrieval one neuron by binary cross-entropy on the image's relevance.
"""

import itertools
from pathlib import Path
from typing import Any, Self

import torch
from torch import nn
from torch.nn import functional
from transformers import AutoModel, PreTrainedModel

from pqpp_backbones.images.embedding import embed_pixels, embed_tokens, feature_size, load_backbone
from pqpp_backbones.pretrained import StrictLoading
from pqpp_models.clip.configuration_clip_predictor import ClipPredictorConfig
from pqpp_models.outputs import PerformanceOutput, known_mean_squared_error


class PairHead(nn.Module):
    """Hidden layers with ReLU and dropout, then one neuron."""

    def __init__(self, input_size: int, hidden_sizes: list[int], dropout: float) -> None:
        super().__init__()
        sizes = [input_size, *hidden_sizes]
        layers: list[nn.Module] = []
        for size, following in itertools.pairwise(sizes):
            layers += [nn.Linear(size, following), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers)
        self.output = nn.Linear(sizes[-1], 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the logit of each pair."""
        return self.output(self.layers(features))


class ClipForPerformancePrediction(StrictLoading, PreTrainedModel):
    """A CLIP-like model with the paper's head; scores (prompt, image) pairs."""

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
        size = feature_size(config.backbone_config)
        self.head = PairHead(size, list(config.hidden_sizes), config.head_dropout)
        self.post_init()

    @classmethod
    def from_backbone(cls, name_or_path: str, **fields: Any) -> Self:
        """Put a new head on a pretrained CLIP-like model.

        Args:
            name_or_path: What `AutoModel.from_pretrained` takes.
            **fields: Fields of `ClipPredictorConfig`, like `task` and `targets`.

        Raises:
            CheckpointError: There is no such model, or it is of another kind.
        """
        backbone = load_backbone(name_or_path)
        if Path(name_or_path).is_dir():  # a published configuration tells no local path
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
        """Score pairs: the i-th prompt with the i-th image.

        Args:
            input_ids: Tokens of the prompts; or give `text_embeds`.
            attention_mask: 1 for a token, 0 for padding.
            pixel_values: The prepared images; or give `image_embeds`.
            text_embeds: Text features computed before, from a frozen backbone.
            image_embeds: Image features computed before.
            labels: `(pairs,)`, scaled performance or relevance, NaN where it is not known.
        """
        if text_embeds is None:
            tokens = {"input_ids": input_ids}
            if attention_mask is not None:
                tokens["attention_mask"] = attention_mask
            text_embeds = embed_tokens(self.backbone, **tokens)
        if image_embeds is None:
            image_embeds = embed_pixels(self.backbone, pixel_values)
        logits = self.head(torch.cat([text_embeds, image_embeds], dim=-1))
        is_retrieval = self.config.task == "retrieval"
        # Only what is a probability gets a sigmoid: the paper's regression neuron has none.
        scores = torch.sigmoid(logits) if is_retrieval else logits
        loss = None if labels is None else self._loss(logits, labels.view(-1, 1))
        return PerformanceOutput(loss=loss, scores=scores, logits=logits)

    def _loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        if self.config.task == "generation":
            return known_mean_squared_error(logits, labels)
        known = ~torch.isnan(labels)
        wanted = torch.nan_to_num(labels)
        loss = functional.binary_cross_entropy_with_logits(logits.float(), wanted, reduction="none")
        return (loss * known).sum() / known.sum().clamp(min=1)
