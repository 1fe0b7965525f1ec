"""`pipeline("rich-human-feedback")`: images with prompts in; scores, heatmaps and words out."""

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
        super().__init__(*args, **{"batch_size": 16, **kwargs})
        if not isinstance(self.model, RahfForRichFeedback) or self.processor is None:
            problem = f"expected a RAHF model and its processor, got {type(self.model).__name__}"
            raise FeedbackError(f"{problem}; load a folder that `pqpp train rahf` wrote")
        self.feedback = FeedbackModel(self.model, self.processor)

    def __call__(self, inputs: Any, **options: Any) -> Any:
        """Return the feedback on a mapping; a list for lists and datasets, else an iterator."""
        if isinstance(inputs, dict | str) or not hasattr(inputs, "__len__"):
            return super().__call__(inputs, **options)
        return list(super().__call__((row for row in inputs), **options))

    def _sanitize_parameters(self, threshold: float | None = None) -> tuple[dict, dict, dict]:
        return {}, {} if threshold is None else {"threshold": threshold}, {}

    def preprocess(self, input_: Any, **_: Any) -> dict[str, Any]:
        """Return the input with its image opened."""
        match input_:
            case {"image": image, "prompt": str(prompt)}:
                return {"image": open_image(image), "prompt": prompt}
        raise FeedbackError(f"expected a dict of image and prompt (a text); got {input_!r:.80}")

    def _forward(self, input_tensors: dict[str, Any], threshold: float = 0.5) -> dict[str, Any]:
        image, prompt = input_tensors["image"], input_tensors["prompt"]
        if isinstance(prompt, str):
            (feedback,) = self.feedback.predict([image], [prompt], threshold=threshold)
            return {"image": image, "feedback": feedback}
        # In a batch, each value is a list.
        batch = self.feedback.predict(image, prompt, len(prompt), threshold)
        return {"image": image, "feedback": batch}

    def postprocess(self, model_outputs: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the pipeline's output for an image."""
        feedback, size = model_outputs["feedback"], model_outputs["image"].size
        words = zip(feedback.words, feedback.probabilities, feedback.misaligned, strict=True)
        return {
            "scores": feedback.scores,
            "heatmaps": {n: heatmap_to_image(m, size) for n, m in feedback.heatmaps.items()},
            "misaligned_words": [
                {"word": word.text, "start": word.start, "end": word.end, "probability": p}
                for word, p, is_misaligned in words
                if is_misaligned
            ],
        }
