"""`pipeline("rich-human-feedback")`: images with prompts in; scores, heatmaps and words out."""

from collections.abc import Mapping, Sequence
from typing import Any

from transformers.pipelines.base import Pipeline

from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.rahf.assessor import heatmap_to_image
from pqpp_feedback.rahf.feedback import FeedbackModel
from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback
from pqpp_files.foreign.images import open_image


class RichHumanFeedbackPipeline(Pipeline):
    """The pipeline that predicts feedback on generated images.

    The input is a mapping with `image` (a PIL image, a path or an array) and `prompt`, or a list of
    such mappings. The output is, for each, a mapping with

    - `scores`: plausibility, alignment, aesthetics, overall, each 0 to 1;
    - `heatmaps`: implausibility and misalignment, grey images of the image's size;
    - `misaligned_words`: each with `word`, `start` and `end` in the prompt, and `probability`.

    `threshold` and `batch_size` of `pipeline(...)` are the defaults for each call.
    """

    _load_processor = True
    _load_tokenizer = False
    _load_image_processor = False
    _load_feature_extractor = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not isinstance(self.model, RahfForRichFeedback) or self.processor is None:
            problem = f"expected a RAHF model and its processor, got {type(self.model).__name__}"
            raise FeedbackError(f"{problem}; load a folder that `pqpp train rahf` wrote")
        self.feedback = FeedbackModel(self.model, self.processor)

    def __call__(self, inputs: Any, batch_size: int | None = None, **options: Any) -> Any:
        """Predict feedback on one image or several.

        Args:
            inputs: A mapping with `image` and `prompt`, or a list of them.
            batch_size: Images per batch; default: that of `pipeline(...)`, else 16.
            options: `threshold`, the minimum probability of a misaligned word; default: that of
                `pipeline(...)`, else .5.
        """
        options = {**self._forward_params, **self._sanitize_parameters(**options)[1]}
        size = next(n for n in (batch_size, self._batch_size, 16) if n is not None)
        is_single = isinstance(inputs, Mapping)
        rows = [self.preprocess(row) for row in ([inputs] if is_single else inputs)]
        results = self._predict(rows, size, **options)
        return results[0] if is_single else results

    def _predict(
        self, rows: Sequence[Mapping[str, Any]], batch_size: int, threshold: float = 0.5
    ) -> list[dict[str, Any]]:
        images, prompts = ([row[name] for row in rows] for name in ("image", "prompt"))
        self.feedback.threshold = threshold
        results = []
        feedback = self.feedback.predict(images, prompts, batch_size)
        for entry, image in zip(feedback, images, strict=True):
            words = zip(entry.words, entry.probabilities, entry.misaligned, strict=True)
            maps = entry.heatmaps.items()
            values = {
                "scores": entry.scores,
                "heatmaps": {name: heatmap_to_image(heatmap, image.size) for name, heatmap in maps},
                "misaligned_words": [
                    {"word": word.text, "start": word.start, "end": word.end, "probability": p}
                    for word, p, is_misaligned in words
                    if is_misaligned
                ],
            }
            results.append(values)
        return results

    # The steps of transformers' `Pipeline`, for callers of single steps.

    def _sanitize_parameters(self, threshold: float | None = None) -> tuple[dict, dict, dict]:
        return {}, {} if threshold is None else {"threshold": threshold}, {}

    def preprocess(self, input_: Any, **_: Any) -> dict[str, Any]:
        """Return the input with its image opened."""
        return {"image": open_image(input_["image"]), "prompt": input_["prompt"]}

    def _forward(self, row: dict[str, Any], **options: Any) -> dict[str, Any]:
        return self._predict([row], 1, **options)[0]

    def postprocess(self, model_outputs: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the pipeline's output for an image."""
        return model_outputs
