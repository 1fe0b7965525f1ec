"""RAHF as an assessor: its scores, heatmaps and misaligned words as evidence."""

import base64
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pqpp_feedback.assess.assessor import Assessor, Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.rahf.feedback import FeedbackModel
from pqpp_feedback.rahf.outputs import SCORES

_MAX_SIDE = 64


class RahfAssessor(Assessor):
    """An assessor whose score is RAHF's `overall`; it gives no verdict.

    Args:
        model: The loaded model; None to score stored evidence.
        threshold: Minimum probability of a misaligned word.
    """

    name = routine = "rahf"

    def __init__(self, model: FeedbackModel | None, threshold: float = 0.5) -> None:
        super().__init__({"rahf": model.source} if model else {})
        self._model, self._threshold = model, threshold

    @property
    def settings(self) -> Mapping[str, Any]:
        """The threshold for misaligned words."""
        return {"threshold": self._threshold}

    def observe(self, images: Sequence[Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Return scores, heatmaps as grey PNG, and the probability of each word."""
        assert self._model is not None
        batch_size = 1 if str(self._model.model.device) == "cpu" else max(1, len(images))
        prompts = [picture.prompt for picture in pictures]
        feedback = self._model.predict(list(images), prompts, batch_size)
        return [
            {
                "scores": entry.scores,
                "heatmaps": {name: encode_png(heatmap) for name, heatmap in entry.heatmaps.items()},
                "words": [
                    {**asdict(word), "probability": probability}
                    for word, probability in zip(entry.words, entry.probabilities, strict=True)
                ],
            }
            for entry in feedback
        ]

    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return `overall`; the reason names the lowest score and the misaligned words."""
        scores = evidence["scores"]
        lowest = min((name for name in SCORES if name != "overall"), key=scores.__getitem__)
        rated = [word for word in evidence["words"] if word["probability"] is not None]
        words = [word["text"] for word in rated if word["probability"] >= self._threshold]
        outcome = f"misaligned: {', '.join(words)}" if words else "no word is misaligned"
        reason = f"lowest is {lowest}, {scores[lowest]:.2f}; {outcome}"
        return Verdict(None, scores["overall"], reason)


def encode_png(heatmap: NDArray[np.floating]) -> str:
    """Return a heatmap in 0 .. 1 as a base64 greyscale PNG of at most 64 x 64 pixels.

    Example:
        >>> base64.b64decode(encode_png(np.eye(4)))[1:4]
        b'PNG'
    """
    grey = heatmap_to_image(heatmap, heatmap.shape[::-1])
    buffer = io.BytesIO()
    grey.reduce(math.ceil(max(grey.size) / _MAX_SIDE)).save(buffer, "png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def heatmap_to_image(heatmap: NDArray[np.floating], size: tuple[int, int]) -> Any:
    """Return a heatmap in 0 .. 1 as a greyscale image of a given size, white for 1."""
    grey = (255 * np.clip(heatmap, 0, 1)).round().astype(np.uint8)
    return Image.fromarray(grey).resize(size, Image.Resampling.BILINEAR)
