"""`pipeline("prompt-performance-prediction")` for every predictor."""

from collections.abc import Mapping
from typing import Any

from transformers.pipelines.base import Pipeline

from pqpp_backbones.errors import ModelError
from pqpp_backbones.pretrained import check_format
from pqpp_models.errors import PredictorError
from pqpp_models.registry import get_predictor_class
from pqpp_models.torch_predictor import TorchPredictor


class PromptPerformancePredictionPipeline(Pipeline):
    """A pipeline that predicts how well prompts will do.

    It accepts a prompt or a list of them for a text predictor, or a mapping with `prompt` and the
    predictor's other columns (or a list of such mappings) for the others. It returns one mapping of
    targets to values, or a list of them, in the targets' own units. The default model is the
    predictor `static`, which is part of the package; names of `pqpp models list` are accepted too.
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
                f"{type(self.model).__name__} is not a predictor; use a model of pqpp"
            )
        check_format(self.model.config.name_or_path, self.model.config)
        predictor = get_predictor_class(predictor_type)
        processor = self.processor if self.processor is not None else self.tokenizer
        sees_images = "images" in predictor.inputs
        is_lacking = bool(predictor.processor_class) and processor is None
        if is_lacking or (sees_images and not hasattr(processor, "image_processor")):
            what = "processor" if sees_images else "tokenizer"
            raise ModelError(
                f"{self.model.config.name_or_path or 'the model'} has no {what}; save or "
                f"download the predictor again, or pass `{what}`"
            )
        size = self._batch_size or 64
        return predictor(self.model, processor, device=self.device, batch_size=size)

    def __call__(
        self, inputs: Any, targets: Any = None, batch_size: int | None = None, **kwargs: Any
    ) -> Any:
        """Predict for one input or many.

        Args:
            inputs: A prompt, a mapping, a list of either, or a dataset.
            targets: Names of targets; default: all targets of the predictor.
            batch_size: Rows per forward pass.
        """
        self._sanitize_parameters(**kwargs)
        if batch_size is not None and isinstance(self.predictor, TorchPredictor):
            self.predictor.batch_size = batch_size
        single = isinstance(inputs, (str, Mapping))
        rows = self._predict_values([inputs] if single else inputs, targets)
        return rows[0] if single else rows

    def _predict_values(self, rows: Any, targets: Any) -> list[dict[str, float]]:
        names = self.predictor.get_columns(targets)
        values = self.predictor.predict(rows, targets)
        return [dict(zip(names, row, strict=True)) for row in values.tolist()]

    # The three steps of transformers' own loop, for those who call them one by one.

    def _sanitize_parameters(self) -> tuple[dict, dict, dict]:
        return {}, {}, {}

    def preprocess(self, input_: Any, **_: Any) -> dict[str, Any]:
        """Return the row unchanged: the predictor prepares it."""
        return {"row": input_}

    def _forward(self, input_tensors: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {"values": self._predict_values([input_tensors["row"]], None)[0]}

    def postprocess(self, model_outputs: dict[str, Any], **_: Any) -> dict[str, float]:
        """Return the values by target."""
        return model_outputs["values"]
