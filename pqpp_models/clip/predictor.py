"""The fine-tuned CLIP as a predictor: prompts with their images in, performance out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models import registration
from pqpp_models.images.rows import read_mappings
from pqpp_models.torch_predictor import TorchPredictor


class ClipPredictor(TorchPredictor):
    """Predicts performance from a prompt and the images generated or retrieved for it.

    PQPP, sections 5.2 and 11. A row has `prompt` and images, see `pqpp_models.images.pairs`.
    """

    name = "clip"
    inputs = "text+images"
    averages_images = True
    made_by = "training/train_clip.py"
    chunk_size = 64  # rows, each with up to fifty images

    @property
    def required_columns(self) -> tuple[tuple[str, ...], ...]:
        """Of each group of columns a row must hold at least one."""
        from pqpp_models.images.pairs import IMAGE_COLUMNS

        return IMAGE_COLUMNS

    @classmethod
    def model_class(cls) -> Any:
        """Return `ClipForPerformancePrediction`."""
        from pqpp_models.clip.modeling_clip_predictor import ClipForPerformancePrediction

        return ClipForPerformancePrediction

    @classmethod
    def load_processor(cls, folder: Path, config: Any) -> Any:
        """Return the tokenizer and image processor saved in a folder."""
        from transformers import AutoProcessor

        registration.register()  # the processor's loader reads the model's configuration
        return AutoProcessor.from_pretrained(str(folder), trust_remote_code=False)

    def _try(self) -> None:
        from pqpp_models.images.embedding import try_embedding

        try_embedding(self.model.backbone, self.processor)

    def _read_rows(self, rows: Any) -> list[Any]:
        return read_mappings(rows)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        from pqpp_models.images.embedding import score_pairs
        from pqpp_models.images.pairs import performance, read_pairs

        config = self.model.config
        pairs = read_pairs(rows, config.task, config.first_k)
        scores = score_pairs(self.model, self.processor, pairs, self.batch_size)
        return performance(scores, pairs, targets, config.aggregation, self.limits)
