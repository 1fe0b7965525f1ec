"""A predictor with a fine-tuned CLIP-like model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.images.pairs import IMAGE_COLUMNS, read_mappings, read_pairs, score_rows
from pqpp_models.torch_predictor import TorchPredictor


class ClipPredictor(TorchPredictor):
    """A predictor whose input is a prompt with the images generated or retrieved for it.

    PQPP, sections 5.2 and 11. The columns are those of `pqpp_models.images.pairs.read_pairs`.
    """

    name = "clip"
    model_type = "clip_predictor"
    processor_class = "AutoProcessor"
    inputs = "text+images"
    required_columns = IMAGE_COLUMNS
    has_image_means = True
    made_by = "pqpp train clip"
    chunk_size = 64  # rows, each with up to fifty images

    def run_smoke_test(self) -> None:
        """Predict once, to find errors that loading does not reveal."""
        from pqpp_backbones.images.embedding import embed_images, embed_prompts

        embed_prompts(self.model.backbone, self.processor, ["a cat"], 1)
        embed_images(self.model.backbone, self.processor, [np.zeros((8, 8, 3), np.uint8)], 1)

    read_rows = staticmethod(read_mappings)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        from pqpp_models.clip.modeling_clip_predictor import score_pairs

        config = self.model.config
        pairs = read_pairs(rows, config.task, config.first_k)
        scores = score_pairs(self.model, self.processor, pairs, self.batch_size)
        return score_rows(scores, pairs, targets, config.aggregation, self.limits)
