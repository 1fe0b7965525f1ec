"""Predictors without torch, with the interface of transformers' models."""

import os
from typing import Any, Self

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from pqpp_hub import PushReport
from pqpp_models.errors import PredictorError
from pqpp_models.hub import push_to_hub
from pqpp_models.neural import PerformanceOutput
from pqpp_models.predictor import Predictor
from pqpp_models.registration import NUMPY, add_classes
from pqpp_models.registry import DEFAULT_PREDICTOR, list_predictors


class PromptPerformanceConfig(PreTrainedConfig):
    """The configuration of a predictor like `static`, or of one fitted by `pqpp fit`.

    Args:
        targets: The targets, in the order of the scores.
        predictor_type: The type of the predictor, like `static` or `ridge`.

    Example:
        >>> PromptPerformanceConfig(targets=["mean_hbpp", "mean_rr"]).id2label
        {0: 'mean_hbpp', 1: 'mean_rr'}
    """

    model_type = NUMPY

    targets: list[str] | tuple[str, ...] | None = None
    predictor_type: str = ""

    def __post_init__(self, **kwargs: Any) -> None:
        """Name the scores after their targets."""
        self.targets = list(self.targets or [])
        self.id2label = dict(enumerate(self.targets))
        self.label2id = {target: index for index, target in enumerate(self.targets)}
        kwargs.pop("num_labels", None)
        super().__post_init__(**kwargs)


add_classes(PromptPerformanceConfig)


class PromptPerformanceModel(PreTrainedModel):
    """A predictor with the interface of transformers' models.

    It accepts prompts instead of tokens, and computes on the CPU. It has no parameters to train.

    Raises:
        PredictorError: `predictor` is missing.

    Example:
        >>> model = PromptPerformanceModel.from_pretrained("static")
        >>> model(["a red cat", "two dogs"], "mean_hbpp").scores.shape
        torch.Size([2, 1])
    """

    config_class = PromptPerformanceConfig
    main_input_name = "prompts"

    def __init__(self, config: PromptPerformanceConfig, predictor: Predictor | None = None) -> None:
        super().__init__(config)
        if predictor is None:
            problem = "a configuration has no weights; load the model with from_pretrained"
            raise PredictorError(problem)
        self.predictor = predictor

    @property
    def device(self) -> torch.device:
        """The device, which is always the CPU."""
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        """The data type of the scores."""
        return torch.float64

    def forward(self, prompts: Any, targets: Any = None) -> PerformanceOutput:
        """Predict the performance of prompts.

        Args:
            prompts: A prompt, or anything that `Predictor.predict` accepts.
            targets: Names of targets; default: all.

        Returns:
            `scores` of shape (prompts, targets), in the targets' own units.

        Raises:
            PredictorError: The prompts cannot be read, or a target is unknown.
        """
        rows = [prompts] if isinstance(prompts, str) else prompts
        return PerformanceOutput(scores=torch.from_numpy(self.predictor.predict(rows, targets)))

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | os.PathLike[str],
        *_: Any,
        config: PromptPerformanceConfig | None = None,
        revision: str | None = None,
        cache_dir: str | None = None,
        token: str | bool | None = None,
        **__: Any,
    ) -> Self:
        """Load a predictor with `Predictor.from_pretrained`.

        Args:
            pretrained_model_name_or_path: A shipped name, a folder or OWNER/REPOSITORY.
            config: The configuration; default: the model's own.
            revision, cache_dir, token: Options for a repository.

        Raises:
            ModelError, PredictorError: The predictor cannot be loaded.
        """
        name = pretrained_model_name_or_path
        predictor = Predictor.from_pretrained(name, revision, cache_dir, token)
        if config is None:
            config = PromptPerformanceConfig(
                targets=predictor.targets, predictor_type=predictor.name
            )
        return cls(config, predictor).eval()

    def save_pretrained(self, save_directory: str | os.PathLike[str], **_: Any) -> None:
        """Save the predictor with `Predictor.save_pretrained`."""
        self.predictor.save_pretrained(save_directory)

    def push_to_hub(self, repo_id: str, **options: Any) -> PushReport:
        """Push the predictor with `pqpp_models.push_to_hub`."""
        return push_to_hub(self.predictor, repo_id, **options)


def load_shipped_model(name: str | None) -> PromptPerformanceModel | None:
    """Load a shipped model, or the default one without a name; return None for other names.

    Example:
        >>> load_shipped_model("n_words").predictor.name, load_shipped_model("OWNER/REPOSITORY")
        ('n_words', None)
    """
    name = name or DEFAULT_PREDICTOR
    return PromptPerformanceModel.from_pretrained(name) if name in list_predictors() else None
