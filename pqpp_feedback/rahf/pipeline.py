"""`pipeline("rich-human-feedback")`: images with prompts in; scores, heatmaps and words out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from transformers.pipelines.base import Pipeline

from pqpp_feedback.rahf.feedback import (
    Feedback,
    FeedbackModel,
    check_batch_size,
    check_threshold,
)
from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback
from pqpp_feedback.rahf.overlays import heatmap_image, overlay
from pqpp_models.errors import PredictorError
from pqpp_models.images.pairs import open_image


class RichHumanFeedbackPipeline(Pipeline):
    """Judges generated images.

    It takes a mapping with `image` (an image of PIL, a path, an array) and `prompt`, or a list of
    such mappings, and returns for each a mapping with

    - `scores`: plausibility, alignment, aesthetics, overall, each 0 to 1;
    - `heatmaps`: implausibility and misalignment, grey images of the image's size;
    - `misaligned_words`: each with `word`, `start` and `end` in the prompt, and `probability`;
    - `overlays`, with `overlays=True`: the image tinted by each heatmap.

    `threshold`, `overlays` and `batch_size` given to `pipeline(...)` hold for each call that names
    none.
    """

    _load_processor = True
    _load_tokenizer = False
    _load_image_processor = False
    _load_feature_extractor = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not isinstance(self.model, RahfForRichFeedback) or self.processor is None:
            raise PredictorError(
                f"{type(self.model).__name__} is no RAHF model with its processor; give a folder "
                "or repository written by training/train_rahf.py"
            )
        if self._batch_size is not None:
            check_batch_size(self._batch_size)
        self.feedback = FeedbackModel(self.model, self.processor)

    def __call__(
        self,
        inputs: Any,
        batch_size: int | None = None,
        threshold: float | None = None,
        overlays: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Judge one image or many.

        Args:
            inputs: A mapping with `image` and `prompt`, or a list of them.
            batch_size: Images that the model sees at once; 16 if named nowhere.
            threshold: From which probability on a word counts as misaligned; .5 if named nowhere.
            overlays: Also return the tinted images.
            **kwargs: Not used; refused, so that a misspelled option is noticed.

        Raises:
            PredictorError: An input is no such mapping, or an option is unknown or out of range.
        """
        kwargs |= {"threshold": threshold, "overlays": overlays}
        _, forward, after = self._sanitize_parameters(**kwargs)
        sizes = (batch_size, self._batch_size, 16)
        size = next(one for one in sizes if one is not None)
        single = isinstance(inputs, Mapping)
        rows = _checked([inputs] if single else inputs)
        images = [open_image(row["image"]) for row in rows]
        self.feedback.threshold = {**self._forward_params, **forward}.get("threshold", 0.5)
        judged = self.feedback.judge(images, [row["prompt"] for row in rows], size)
        tinted = {**self._postprocess_params, **after}.get("overlays", False)
        found = [
            plain_values(one, image, tinted) for one, image in zip(judged, images, strict=True)
        ]
        return found[0] if single else found

    # The three steps of transformers' own loop, for those who call them one by one.

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict, dict, dict]:
        unknown = set(kwargs) - {"threshold", "overlays"}
        if unknown:
            raise PredictorError(f"the pipeline has no option {sorted(unknown)[0]!r}")
        given = {name: value for name, value in kwargs.items() if value is not None}
        if "threshold" in given:
            check_threshold(given["threshold"])
        forward, after = (
            {name: given[name] for name in names if name in given}
            for names in (("threshold",), ("overlays",))
        )
        return {}, forward, after

    def preprocess(self, input_: Any, **_: Any) -> dict[str, Any]:
        """Return the row with its image opened."""
        return {"image": open_image(input_["image"]), "prompt": input_["prompt"]}

    def _forward(self, row: dict[str, Any], threshold: float = 0.5, **_: Any) -> dict[str, Any]:
        self.feedback.threshold = threshold
        return {"judged": self.feedback.judge([row["image"]], [row["prompt"]])[0], **row}

    def postprocess(
        self, model_outputs: dict[str, Any], overlays: bool = False, **_: Any
    ) -> dict[str, Any]:
        """Return what the pipeline returns for an image."""
        return plain_values(model_outputs["judged"], model_outputs["image"], overlays)


def _checked(inputs: Any) -> list[Mapping[str, Any]]:
    """Return the inputs as a list; each is a mapping with an image and a prompt."""
    if not isinstance(inputs, Iterable):
        raise PredictorError(
            f"the input is a {type(inputs).__name__}; give a mapping with `image` and `prompt`, or "
            "a list of them"
        )
    rows = list(inputs)
    for index, row in enumerate(rows):
        known = isinstance(row, Mapping) and {"image", "prompt"} <= set(row)
        if not known or not isinstance(row["prompt"], str):
            raise PredictorError(
                f"the input at index {index} is no mapping with `image` and `prompt`"
            )
    return rows


def plain_values(judged: Feedback, image: Any, overlays: bool) -> dict[str, Any]:
    """Return a judgment as plain values and pictures."""
    pairs = zip(judged.words, judged.probabilities, judged.misaligned, strict=True)
    found: dict[str, Any] = {
        "scores": judged.scores,
        "heatmaps": {k: heatmap_image(v, image.size) for k, v in judged.heatmaps.items()},
        "misaligned_words": [
            {"word": w.text, "start": w.start, "end": w.end, "probability": probability}
            for w, probability, is_misaligned in pairs
            if is_misaligned
        ],
    }
    if overlays:
        found["overlays"] = {k: overlay(image, v) for k, v in judged.heatmaps.items()}
    return found
