"""Configuration of the fine-tuned text encoder that predicts performance from a prompt."""

from typing import Any

from transformers import AutoConfig, BertConfig, PreTrainedConfig

from pqpp_backbones.checkpoint import OF_FILES
from pqpp_backbones.encoder.tokens import MAX_LENGTH
from pqpp_models.registration import announce

POOLINGS = ("cls", "pooler", "mean")


class BertPredictorConfig(PreTrainedConfig):
    """What is needed to build a `BertForPerformancePrediction`.

    Args:
        backbone_config: The encoder's configuration, or its fields; BERT's own if left out.
        targets: What the outputs are, in order: names of targets.
        limits: Lowest and highest value of each target whose measure has none, like a rating.
        pooling: `cls` is the last layer's first token, `pooler` the encoder's own pooler over it,
            `mean` the mean of the last layer's tokens.
        head_size: Units of the hidden layer (512 in the paper).
        head_dropout: Dropout before the hidden layer (0.3).
        max_length: Longer prompts are cut after so many tokens. The model lowers the default to
            what its encoder takes, and refuses another number above it.
        target_weights: Weight of each target's squared error; all 1, as in the paper, if left out.
        initializer_range: Standard deviation of the head's first weights.
        normaliser: What prompts went through in training, and go through in prediction; the model
            itself gets tokens of what came out.

    Example:
        >>> BertPredictorConfig(targets=["mean_hbpp"]).num_labels
        1
    """

    model_type = "bert_predictor"
    sub_configs = {"backbone_config": AutoConfig}  # noqa: RUF012 (transformers' own form)

    backbone_config: dict | PreTrainedConfig | None = None
    targets: list[str] | tuple[str, ...] | None = None
    limits: dict[str, list[float] | tuple[float, ...]] | None = None
    pooling: str = "cls"
    head_size: int = 512
    head_dropout: float = 0.3
    max_length: int = MAX_LENGTH
    target_weights: list[float] | tuple[float, ...] | None = None
    initializer_range: float = 0.02
    normaliser: str = "as_typed"
    predictor_type: str = "bert"
    format_version: int = 1

    def __post_init__(self, **kwargs: Any) -> None:
        """Build the backbone's configuration and check the pooling."""
        if self.pooling not in POOLINGS:
            raise ValueError(f"`pooling` is {self.pooling!r}; choose among {', '.join(POOLINGS)}")
        if self.backbone_config is None:
            self.backbone_config = BertConfig()
        elif isinstance(self.backbone_config, dict):
            fields = dict(self.backbone_config)
            self.backbone_config = AutoConfig.for_model(fields.pop("model_type", "bert"), **fields)
        self.targets = list(self.targets or ["mean_hbpp"])
        if self.target_weights is not None and len(self.target_weights) != len(self.targets):
            raise ValueError(
                f"`target_weights` has {len(self.target_weights)} values; give one for each of the "
                f"{len(self.targets)} targets"
            )
        self.id2label = dict(enumerate(self.targets))
        self.label2id = {target: index for index, target in enumerate(self.targets)}
        # The hash belongs to one file of weights; a model saved again would carry a stale one.
        for name in (*OF_FILES, "num_labels"):
            kwargs.pop(name, None)
        # The parent writes its attention into the backbone's configuration, so it starts from it.
        attention = getattr(self.backbone_config, "_attn_implementation", None)
        kwargs.setdefault("attn_implementation", attention)
        super().__post_init__(**kwargs)


announce(BertPredictorConfig)
