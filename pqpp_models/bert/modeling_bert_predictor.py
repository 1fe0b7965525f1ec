"""The fine-tuned text encoder of the PQPP paper (sections 5.1 and 11), for any encoder.

The paper fine-tunes BERT: dropout .3 on the [CLS] state, a hidden layer of 512 with ReLU, one
output with a sigmoid, mean squared error on performance scaled to 0 .. 1. Here the encoder is
whatever `AutoModel` builds, and there is one output a target.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch
from torch import nn
from transformers import AutoModel, PreTrainedModel

from pqpp_models.bert.configuration_bert_predictor import MAX_LENGTH, BertPredictorConfig
from pqpp_models.errors import CheckpointError, PredictorError
from pqpp_models.outputs import PerformanceOutput, known_mean_squared_error
from pqpp_models.pretrained import loading
from pqpp_models.strict_loading import StrictLoading

# What transformers calls an encoder's table of learned positions.
_TABLES = ("position_embeddings", "position_embedding", "embed_positions", "wpe")


class RegressionHead(nn.Module):
    """Dropout, a hidden layer with ReLU, and one output a target."""

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
    base_model_prefix = "backbone"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True

    def __init__(self, config: BertPredictorConfig, backbone: PreTrainedModel | None = None):
        super().__init__(config)
        if backbone is None:
            backbone = AutoModel.from_config(config.backbone_config)
        self.backbone = backbone
        asked = None if config.max_length == MAX_LENGTH else config.max_length
        try:
            config.max_length = allowed_length(backbone, asked)
        except PredictorError as error:
            raise CheckpointError(f"the configuration is not usable: {error}") from None
        self.head = RegressionHead(
            config.backbone_config.hidden_size,
            config.head_size,
            len(config.targets),
            config.head_dropout,
        )
        self.post_init()

    @classmethod
    def from_backbone(cls, name_or_path: str, **fields: Any) -> Self:
        """Put a new head on a pretrained encoder.

        Args:
            name_or_path: What `AutoModel.from_pretrained` takes.
            **fields: Fields of `BertPredictorConfig`, like `targets` and `pooling`.

        Raises:
            CheckpointError: There is no such encoder.
            PredictorError: `max_length` is more than it takes.
        """
        backbone = pretrained_encoder(name_or_path, dtype=torch.float32)
        fields["max_length"] = allowed_length(backbone, fields.get("max_length"))
        if Path(name_or_path).is_dir():  # a published configuration tells no local path
            backbone.config.name_or_path = Path(name_or_path).resolve().name
        config = BertPredictorConfig(backbone_config=backbone.config, **fields)
        unused = getattr(backbone, "pooler", None)
        if unused is not None and config.pooling != "pooler":
            # It would get no gradient and have no state in the optimizer, which a sharded
            # checkpoint can't be read back without.
            unused.requires_grad_(False)
        # post_init leaves pretrained weights alone: they are marked as initialised.
        return cls(config, backbone)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> PerformanceOutput:
        """Predict performance, scaled to 0 .. 1.

        Args:
            input_ids: Tokens, `(batch, length)`.
            attention_mask: 1 for a token, 0 for padding.
            token_type_ids: Segments, for encoders that have them.
            labels: `(batch, targets)`, scaled to 0 .. 1, NaN where there is no value.
            **kwargs: Passed to the encoder.
        """
        if token_type_ids is not None:
            kwargs["token_type_ids"] = token_type_ids
        logits = self.head(self.embed(input_ids, attention_mask, **kwargs))
        scores = torch.sigmoid(logits)
        loss = None
        if labels is not None:
            loss = known_mean_squared_error(scores, labels, self.config.target_weights)
        return PerformanceOutput(loss=loss, scores=scores, logits=logits)

    def embed(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> torch.Tensor:
        """Return what the head gets of each prompt: `(batch, hidden size)`.

        Args:
            input_ids: Tokens, `(batch, length)`.
            attention_mask: 1 for a token, 0 for padding.
            **kwargs: Passed to the encoder.
        """
        states = self.backbone(input_ids, attention_mask=attention_mask, **kwargs)
        return self._pool(states, attention_mask)

    def _pool(self, states: Any, attention_mask: torch.Tensor | None) -> torch.Tensor:
        if self.config.pooling == "pooler":
            return states.pooler_output
        tokens = states.last_hidden_state
        if self.config.pooling == "cls":
            return tokens[:, 0]
        if attention_mask is None:
            return tokens.mean(dim=1)
        mask = attention_mask.unsqueeze(-1).to(tokens.dtype)
        return (tokens * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def pretrained_encoder(name_or_path: str, **options: Any) -> PreTrainedModel:
    """Return a pretrained text encoder.

    Args:
        name_or_path: A folder, or a name on the Hub.
        **options: Further options of `AutoModel.from_pretrained`.

    Raises:
        CheckpointError: There is none, or it is a model of another kind.

    Example:
        >>> import tempfile
        >>> pretrained_encoder(tempfile.mkdtemp())
        Traceback (most recent call last):
            ...
        pqpp_models.errors.CheckpointError: ... is no text encoder that transformers can load ...
    """
    remedy = "name a folder or OWNER/REPOSITORY of one, like google-bert/bert-base-cased"
    what = f"{name_or_path} is no text encoder that transformers can load"
    with loading(what, remedy, name_or_path):
        encoder = AutoModel.from_pretrained(name_or_path, **options)
    config = encoder.config
    is_decoded = getattr(config, "is_encoder_decoder", False)
    reads_text = encoder.main_input_name == "input_ids" and not is_decoded
    if not reads_text or not hasattr(config, "hidden_size"):
        raise CheckpointError(
            f"{name_or_path} holds a model of type {config.model_type!r}, which is no text "
            f"encoder; {remedy}"
        )
    return encoder


def longest_input(encoder: nn.Module) -> int | None:
    """Return how many tokens an encoder takes, None where its positions have no end.

    Args:
        encoder: The encoder; what counts is its table of learned positions.

    Example:
        >>> from transformers import BertConfig
        >>> tiny = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1,
        ...                   num_attention_heads=2, max_position_embeddings=40)
        >>> longest_input(AutoModel.from_config(tiny))
        40
    """
    found = []
    for name, part in encoder.named_modules():
        if isinstance(part, nn.Embedding) and name.rpartition(".")[2] in _TABLES:
            # RoBERTa's kind counts from behind the padding's number.
            unused = 0 if part.padding_idx is None else part.padding_idx + 1
            found.append(part.num_embeddings - unused)
    told = getattr(encoder.config, "max_position_embeddings", None)
    return min([*found, told or found[0]]) if found else None


def allowed_length(encoder: nn.Module, max_length: int | None) -> int:
    """Return after how many tokens prompts are cut.

    Args:
        encoder: The encoder.
        max_length: What is asked for; None for the default, or what the encoder takes if less.

    Raises:
        PredictorError: The encoder does not take so many.

    Example:
        >>> from transformers import BertConfig
        >>> tiny = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1,
        ...                   num_attention_heads=2, max_position_embeddings=40)
        >>> allowed_length(AutoModel.from_config(tiny), None)
        40
    """
    most = longest_input(encoder)
    if max_length is None:
        return MAX_LENGTH if most is None else min(MAX_LENGTH, most)
    if most is not None and max_length > most:
        raise PredictorError(
            f"`max_length` is {max_length}, but the encoder takes {most} tokens; give {most} or "
            "less"
        )
    return max_length
