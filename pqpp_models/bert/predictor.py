"""A predictor with a fine-tuned text encoder."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.prompt.prompt import Prompt
from pqpp_models.prompts import parse_prompts
from pqpp_models.targets import unscale_targets
from pqpp_models.torch_predictor import TorchPredictor


class BertPredictor(TorchPredictor):
    """A predictor with a fine-tuned text encoder (PQPP, sections 5.1 and 11).

    Predictions are in each target's own units and range.
    """

    name = "bert"
    model_type = "bert_predictor"
    processor_class = "AutoTokenizer"
    made_by = "pqpp train bert"
    read_rows = staticmethod(parse_prompts)
    chunk_size = 16384  # many rows at once, so that sorting by length pays

    def embed(self, rows: Any) -> NDArray[np.float32]:
        """Return the pooled states of prompts, the input of the head."""
        from pqpp_backbones.encoder.encoding import embed

        encoded = self._encode(self.read_rows(rows))
        return embed(self.model, encoded, self.processor.pad_token_id or 0, self.batch_size)

    def run_smoke_test(self) -> None:
        """Predict once, to find errors that loading does not reveal."""
        self.predict(["a cat"])

    def _encode(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        from pqpp_backbones.encoder.tokens import encode

        length = self.model.config.max_length
        return encode(self.processor, [prompt.normalised for prompt in prompts], length)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        from pqpp_backbones.encoder.encoding import score_encoded

        pad_id = self.processor.pad_token_id or 0
        scores = score_encoded(self.model, self._encode(rows), pad_id, self.batch_size)
        columns = [self.targets.index(target) for target in targets]
        return unscale_targets(scores, self.targets, self.limits)[:, columns]
