"""Configuration of the CLIP-like model that predicts performance from a prompt and its images."""

from typing import Any

from transformers import AutoConfig, CLIPConfig, PreTrainedConfig

from pqpp_backbones.checkpoint import OF_FILES
from pqpp_models.images.pairs import task_of
from pqpp_models.registration import announce

TASKS = ("generation", "retrieval")
AGGREGATIONS = ("threshold", "expected")


class ClipPredictorConfig(PreTrainedConfig):
    """What is needed to build a `ClipForPerformancePrediction`.

    Args:
        backbone_config: The configuration of a CLIP-like model, or its fields; CLIP's own if left
            out. Any model of `AutoModel` with `get_text_features` and `get_image_features`.
        targets: What is predicted: HBPP, ratings, rates or scores for generation, P@k and RR for
            retrieval.
        limits: Lowest and highest value of each target whose measure has none, like a rating.
        task: `generation` has a regression head, `retrieval` a binary one.
        hidden_sizes: Units of the head's hidden layers (512 and 256 in the paper).
        head_dropout: Dropout after each (0.5).
        first_k: How many retrieved images are looked at (25).
        aggregation: How relevances become P@10 and RR: `threshold` counts an image from .5 on, as
            in the paper; `expected` takes the expectation over the predicted probabilities.
        initializer_range: Standard deviation of the head's first weights.

    Example:
        >>> ClipPredictorConfig(task="retrieval", targets=["mean_rr"]).first_k
        25
    """

    model_type = "clip_predictor"
    sub_configs = {"backbone_config": AutoConfig}  # noqa: RUF012 (transformers' own form)

    backbone_config: dict | PreTrainedConfig | None = None
    targets: list[str] | tuple[str, ...] | None = None
    limits: dict[str, list[float] | tuple[float, ...]] | None = None
    task: str = "generation"
    hidden_sizes: list[int] | tuple[int, ...] = (512, 256)
    head_dropout: float = 0.5
    first_k: int = 25
    aggregation: str = "threshold"
    initializer_range: float = 0.02
    predictor_type: str = "clip"
    format_version: int = 1

    def __post_init__(self, **kwargs: Any) -> None:
        """Build the backbone's configuration and check the choices."""
        for name, allowed in (("task", TASKS), ("aggregation", AGGREGATIONS)):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"`{name}` is {getattr(self, name)!r}; choose among {', '.join(allowed)}"
                )
        if self.backbone_config is None:
            self.backbone_config = CLIPConfig()
        elif isinstance(self.backbone_config, dict):
            fields = dict(self.backbone_config)
            self.backbone_config = AutoConfig.for_model(fields.pop("model_type", "clip"), **fields)
        default = ["mean_hbpp"] if self.task == "generation" else ["mean_p10", "mean_rr"]
        self.targets = list(self.targets or default)
        wrong = [target for target in self.targets if task_of(target) != self.task]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is not a target of the task {self.task!r}")
        # The hash belongs to one file of weights; a model saved again would carry a stale one.
        for name in OF_FILES:
            kwargs.pop(name, None)
        attention = getattr(self.backbone_config, "_attn_implementation", None)
        kwargs.setdefault("attn_implementation", attention)
        super().__post_init__(**kwargs)


announce(ClipPredictorConfig)
