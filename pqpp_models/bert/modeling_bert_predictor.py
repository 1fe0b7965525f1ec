"""The fine-tuned text encoder of the PQPP paper (sections 5.1 and 11), for any encoder.

The paper fine-tunes BERT: dropout .3 on the [CLS] state, a hidden layer of 512 with ReLU, one
output with a sigmoid, mean squared error on performance scaled to 0 .. 1. Here the encoder is any
that `AutoModel` builds, the text tower of a CLIP or the encoder of a T5; there is one output per
target.
"""

from pathlib import Path
from typing import Any, Self

import torch
from torch import nn
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from pqpp_backbones.encoder.pretrained import build_encoder, load_text_encoder, resolve_max_length
from pqpp_backbones.encoder.tokens import MAX_LENGTH
from pqpp_backbones.errors import ModelError
from pqpp_backbones.pretrained import StrictLoading
from pqpp_models.bert import POOLINGS
from pqpp_models.neural import PerformanceOutput, PredictorConfig, masked_mean_squared_error
from pqpp_models.registration import add_classes as _add_classes


class BertPredictorConfig(PredictorConfig):
    """The configuration of a `BertForPerformancePrediction`.

    Args:
        targets, limits, backbone_config: See `PredictorConfig`; the backbone is the encoder.
        pooling: `cls` (the state of the first token), `pooler` (the encoder's own pooler) or `mean`
            (the mean of the tokens' states).
        head_size: Units of the hidden layer (512 in the paper).
        head_dropout: Dropout before the hidden layer (0.3).
        max_length: Number of tokens to which prompts are truncated; default: 128, or the encoder's
            limit if it is lower.
        target_weights: Weight of each target's squared error; default: 1, as in the paper.
        initializer_range: Standard deviation of the head's initial weights.

    Example:
        >>> BertPredictorConfig(targets=["mean_hbpp"]).num_labels
        1
    """

    model_type = "bert_predictor"
    sub_configs = {"backbone_config": AutoConfig}  # noqa: RUF012 (transformers' own form)
    BACKBONE = "bert"

    backbone_config: dict | PreTrainedConfig | None = None
    pooling: str = "cls"
    head_size: int = 512
    head_dropout: float = 0.3
    max_length: int = MAX_LENGTH
    target_weights: list[float] | tuple[float, ...] | None = None
    initializer_range: float = 0.02
    predictor_type: str = "bert"

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the options, and name the outputs after the targets."""
        if self.pooling not in POOLINGS:
            raise ValueError(
                f"`pooling` must be one of {', '.join(POOLINGS)}; got {self.pooling!r}"
            )
        super().__post_init__(**kwargs)
        assert self.targets is not None
        if len(self.target_weights or self.targets) != len(self.targets):
            count = len(self.target_weights or ())
            raise ValueError(f"{len(self.targets)} targets have {count} `target_weights`")
        self.id2label = dict(enumerate(self.targets))
        self.label2id = {target: index for index, target in enumerate(self.targets)}


_add_classes(BertPredictorConfig)


class RegressionHead(nn.Module):
    """Dropout, a hidden layer with ReLU, and one output per target."""

    def __init__(self, input_size: int, hidden_size: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.hidden = nn.Linear(input_size, hidden_size)
        self.output = nn.Linear(hidden_size, outputs)

    def forward(self, pooled: torch.Tensor) -> torch.Tensor:
        """Return the logits of pooled states."""
        return self.output(torch.relu(self.hidden(self.dropout(pooled))))


class BertForPerformancePrediction(StrictLoading, PreTrainedModel):
    """A text encoder with the paper's head.

    Example:
        >>> from transformers import BertConfig
        >>> tiny = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1,
        ...                   num_attention_heads=2, intermediate_size=8)
        >>> config = BertPredictorConfig(backbone_config=tiny, targets=["mean_rr", "mean_p10"])
        >>> model = BertForPerformancePrediction(config)
        >>> model(torch.tensor([[1, 2, 3]])).scores.shape
        torch.Size([1, 2])
    """

    config_class = BertPredictorConfig
    accepts_loss_kwargs = False  # the loss is a mean, which accumulation divides
    base_model_prefix = "backbone"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True

    def __init__(self, config: BertPredictorConfig, backbone: PreTrainedModel | None = None):
        super().__init__(config)
        self.backbone = build_encoder(config.backbone_config) if backbone is None else backbone
        max_length = None if config.max_length == MAX_LENGTH else config.max_length
        try:
            config.max_length = resolve_max_length(self.backbone, max_length)
        except ModelError as error:
            raise ModelError(f"invalid configuration: {error}") from None
        assert isinstance(config.backbone_config, PreTrainedConfig) and config.targets is not None
        sizes = (config.backbone_config.hidden_size, config.head_size, len(config.targets))
        self.head = RegressionHead(*sizes, config.head_dropout)
        self.post_init()

    @classmethod
    def from_backbone(cls, name_or_path: str, **fields: Any) -> Self:
        """Create a model from a pretrained encoder and a new head.

        Args:
            name_or_path: Name or path of the encoder, for `AutoModel.from_pretrained`.
            **fields: Fields of `BertPredictorConfig`, like `targets` and `pooling`.

        Raises:
            ModelError: The encoder does not exist, or `max_length` exceeds its limit.
        """
        backbone = load_text_encoder(name_or_path, dtype=torch.float32)
        fields["max_length"] = resolve_max_length(backbone, fields.get("max_length"))
        if Path(name_or_path).is_dir():  # a published configuration contains no local path
            backbone.config.name_or_path = Path(name_or_path).resolve().name
        config = BertPredictorConfig(backbone_config=backbone.config, **fields)
        pooler = getattr(backbone, "pooler", None)
        if pooler is not None and config.pooling != "pooler":
            # An unused pooler gets no gradient and so no optimizer state, without which a sharded
            # checkpoint cannot be loaded.
            pooler.requires_grad_(False)
        # post_init does not change pretrained weights, which are marked as initialised.
        return cls(config, backbone)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> PerformanceOutput:
        """Predict the performance of prompts, scaled to 0 .. 1.

        Args:
            input_ids: Tokens, `(batch, length)`.
            attention_mask: 1 for tokens, 0 for padding.
            labels: `(batch, targets)`, scaled to 0 .. 1, NaN if missing.
            **kwargs: Passed to the encoder, such as segment ids.
        """
        pooled = self.embed(input_ids, attention_mask, **kwargs)
        with torch.autocast(pooled.device.type, enabled=False):  # scores need more than 8 bits
            logits = self.head(pooled.to(self.head.hidden.weight.dtype))
        scores = torch.sigmoid(logits)
        loss = None
        if labels is not None:
            loss = masked_mean_squared_error(scores, labels, self.config.target_weights)
        return PerformanceOutput(loss=loss, scores=scores, logits=logits)

    def embed(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> torch.Tensor:
        """Return the pooled states of prompts, shape `(batch, hidden size)`.

        Args:
            input_ids: Tokens, `(batch, length)`.
            attention_mask: 1 for a token, 0 for padding.
            **kwargs: Passed to the encoder.
        """
        states = self.backbone(input_ids, attention_mask=attention_mask, **kwargs)
        if self.config.pooling == "pooler":
            return states.pooler_output
        tokens = states.last_hidden_state
        if self.config.pooling == "cls":
            return tokens[:, 0]
        if attention_mask is None:
            return tokens.mean(dim=1)
        mask = attention_mask.unsqueeze(-1).to(tokens.dtype)
        return (tokens * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
