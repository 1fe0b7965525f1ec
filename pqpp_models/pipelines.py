"""The pipeline `prompt-performance-prediction`."""

from collections.abc import Mapping
from copy import copy
from typing import Any

from transformers.pipelines.base import Pipeline

from pqpp_backbones.errors import ModelError
from pqpp_backbones.pretrained import check_format
from pqpp_models.errors import PredictorError
from pqpp_models.registry import get_predictor_class
from pqpp_models.torch_predictor import TorchPredictor


class PromptPerformancePredictionPipeline(Pipeline):
    """A pipeline that predicts how well prompts will do.

    The input is a prompt or, for predictors with other columns, a mapping with `prompt`; or a list
    of either. The output is a mapping of targets to predictions in the targets' own units, or a
    list of them; NaN for a prompt that cannot be read. The default model is the predictor `static`.
    """

    _load_processor = None
    _load_tokenizer = None
    _load_image_processor = False
    _load_feature_extractor = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.predictor = getattr(self.model, "predictor", None) or self._build_predictor()

    def _build_predictor(self) -> TorchPredictor:
        predictor_type = getattr(self.model.config, "predictor_type", None)
        if predictor_type is None:
            raise PredictorError(
                f"{type(self.model).__name__} is not a predictor; use a pqpp model"
            )
        check_format(self.model.config.name_or_path, self.model.config)
        predictor = get_predictor_class(predictor_type)
        processor = self.processor if self.processor is not None else self.tokenizer
        needs_images = "images" in predictor.inputs
        lacks_processor = bool(predictor.processor_class) and processor is None
        if lacks_processor or (needs_images and not hasattr(processor, "image_processor")):
            part = "processor" if needs_images else "tokenizer"
            raise ModelError(
                f"{self.model.config.name_or_path or 'the model'} has no {part}; save or "
                f"download the predictor again, or pass `{part}`"
            )
        size = self._batch_size or 64
        details = getattr(self.model.config, "training", None)
        return predictor(self.model, processor, details, self.device, size)

    def __call__(
        self, inputs: Any, targets: Any = None, batch_size: int | None = None, **kwargs: Any
    ) -> Any:
        """Predict the performance of one or more prompts.

        Args:
            inputs: A prompt, a mapping, a list of either, or a dataset.
            targets: Names of targets; default: those of `pipeline(...)`, or all of the predictor.
            batch_size: Rows per forward pass.
        """
        predictor = self.predictor
        if batch_size is not None and isinstance(predictor, TorchPredictor):
            predictor = copy(predictor)
            predictor.batch_size = batch_size
        single = isinstance(inputs, (str, Mapping))
        options = self._forward_params | self._sanitize_parameters(targets, **kwargs)[1]
        rows = predictor.predict_records([inputs] if single else inputs, **options)
        return rows[0] if single else rows

    # The three steps of transformers' own loop, for those who call them one by one.

    def _sanitize_parameters(self, targets: Any = None, num_workers: Any = None) -> tuple:
        return {}, {} if targets is None else {"targets": targets}, {}  # there is nothing to load

    def preprocess(self, input_: Any, **_: Any) -> dict[str, Any]:
        """Return the row unchanged, since the predictor prepares it."""
        return {"row": input_}

    def _forward(self, input_tensors: dict[str, Any], targets: Any = None) -> dict[str, Any]:
        return {"values": self.predictor.predict_records([input_tensors["row"]], targets)[0]}

    def postprocess(self, model_outputs: dict[str, Any], **_: Any) -> dict[str, float]:
        """Return the predictions by target."""
        return model_outputs["values"]
