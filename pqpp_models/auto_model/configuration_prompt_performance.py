"""Configuration of a predictor that needs no torch, as transformers sees it."""

from typing import Any

from transformers import PreTrainedConfig

from pqpp_models.registration import NUMPY, announce


class PromptPerformanceConfig(PreTrainedConfig):
    """What a predictor of `static`'s kind, or one that `pqpp fit` made, tells of itself.

    Args:
        targets: What it predicts, in the order of its scores.
        predictor_type: The name of its kind, like `static` or `ridge`.

    Example:
        >>> PromptPerformanceConfig(targets=["mean_hbpp", "mean_rr"]).id2label
        {0: 'mean_hbpp', 1: 'mean_rr'}
    """

    model_type = NUMPY

    targets: list[str] | tuple[str, ...] | None = None
    predictor_type: str = ""

    def __post_init__(self, **kwargs: Any) -> None:
        """Name the scores by their targets."""
        self.targets = list(self.targets or [])
        self.id2label = dict(enumerate(self.targets))
        self.label2id = {target: index for index, target in enumerate(self.targets)}
        kwargs.pop("num_labels", None)
        super().__post_init__(**kwargs)


announce(PromptPerformanceConfig)
