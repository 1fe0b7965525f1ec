"""The text ensemble: a model on a frozen encoder and captions, and a fine-tuned encoder.

Its only input is the prompt. Its checkpoint contains vectors of the collection's captions and
hashed counts of their words, but no text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from pqpp_backbones.checkpoint import Tensors
from pqpp_backbones.foreign import limit_model_size
from pqpp_files.extras import require_extra
from pqpp_files.foreign.json_values import parse_json
from pqpp_models import registration
from pqpp_models.targets import TARGETS, resolve_targets
from pqpp_models.text.arrays import Floats, Singles, add_prefix, select_prefixed
from pqpp_models.text.calibration import CalibratedPredictor, read_calibration
from pqpp_models.text.collection.model import CollectionModel
from pqpp_models.text.saved_encoder import get_encoder_config, get_encoder_weights, rebuild_encoder
from pqpp_models.torch_predictor import read_processor_files

_KEYS, _ARRAYS = ("collection", "encoder", "tuned"), ("share", "tuned_mean", "tuned_scale")


@dataclass(eq=False, repr=False)
class TextEnsemblePredictor(CalibratedPredictor):
    """A predictor with an ensemble of models on prompts and a collection of captions.

    Attributes:
        tokenizer: the tokenizer of both encoders.
        encoder: the frozen encoder.
        tuned: the fine-tuned encoder with its head.
        model: kernel ridge and networks on the frozen encoder and the collection.
        calibration: as in `CalibratedPredictor`; also ``share``, the fine-tuned encoder's weight in
            the targets that it predicts, and ``tuned_mean`` and ``tuned_scale``, which standardise
            its outputs.
        targets: the targets, in the order of the model's first outputs.
    """

    tokenizer: Any
    encoder: Any
    tuned: Any
    model: CollectionModel
    targets: tuple[str, ...] = TARGETS

    name = "text_ensemble"
    made_by = "pqpp train text_ensemble"
    chunk_size = 8192

    def __post_init__(self) -> None:
        """Set the encoders to evaluation mode."""
        self.encoder.eval()
        self.tuned.eval()
        self.tables = self.model.collection.tables

    @property
    def reference_points(self) -> Singles:
        """Unit vectors of the training prompts, one per column."""
        return self.model.collection.references

    def embed(self, rows: Any) -> Singles:
        """Return unit vectors of prompts, by which distances are measured."""
        prompts = [prompt.normalised for prompt in self.read_rows(rows)]
        return self._project_last(self._encode(prompts, [self.model.collection.last_layer]))

    def compute_raw_scores(self, prompts: Sequence[str]) -> tuple[Floats, Singles]:
        """Return the standardised scores of all targets, and the prompts' unit vectors."""
        encoded = self._encode(prompts, list(self.model.collection.vectors))
        scores = self.model.predict(prompts, encoded)[:, : len(self.targets)]
        shift, scale = self.calibration["tuned_mean"], self.calibration["tuned_scale"]
        tuned = (compute_logits(self.tuned, self.tokenizer, prompts) - shift) * scale
        indices = [self.targets.index(target) for target in self.tuned.config.targets]
        share = float(self.calibration["share"][0])
        scores[:, indices] = (1 - share) * scores[:, indices] + share * tuned
        return scores, self._project_last(encoded)

    def _encode(self, prompts: Sequence[str], layers: Sequence[int]) -> dict[int, Any]:
        from pqpp_backbones.encoder.encoding import get_layer_means

        return get_layer_means(self.encoder, self.tokenizer, prompts, layers)

    def _project_last(self, encoded: Mapping[int, Any]) -> Singles:
        collection, last = self.model.collection, self.model.collection.last_layer
        return collection.centre_and_normalise({last: encoded[last]})[last]

    def _get_state(self) -> tuple[dict[str, Any], Tensors]:
        description, collection = self.model.to_tensors()
        config = {
            "collection": description,
            "encoder": get_encoder_config(self.encoder),
            "tuned": parse_json(self.tuned.config.to_json_string()),
        }
        return {**config, **self.details}, {
            **add_prefix("collection.", collection),
            **add_prefix("encoder.", get_encoder_weights(self.encoder)),
            **add_prefix("tuned.", get_encoder_weights(self.tuned)),
            **self._get_calibration_tensors(),
        }

    def _get_extra_files(self) -> dict[str, bytes]:
        return read_processor_files(self.tokenizer)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a checkpoint, given its parsed files.

        Raises:
            MissingExtraError: torch or transformers is not installed.
        """
        with require_extra(f"the predictor {cls.name!r}", "models"):
            import torch  # noqa: F401
            from transformers import AutoTokenizer
        with limit_model_size(folder):
            registration.register()  # the fine-tuned encoder has a model class of this package
            encoder, tuned = (
                rebuild_encoder(config[name], select_prefixed(f"{name}.", tensors), name == "tuned")
                for name in ("encoder", "tuned")
            )
        return cls(
            AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False),
            encoder,
            tuned,
            CollectionModel.from_tensors(
                config["collection"], select_prefixed("collection.", tensors)
            ),
            resolve_targets(config["targets"]),
            **read_calibration(config, tensors, *_KEYS, extra=_ARRAYS),
        )


def compute_logits(model: Any, tokenizer: Any, prompts: Sequence[str]) -> Floats:
    """Return the logits of a fine-tuned encoder for prompts."""
    from pqpp_backbones.encoder.encoding import score_encoded
    from pqpp_backbones.encoder.tokens import encode

    rows = encode(tokenizer, prompts, model.config.max_length)
    scores = score_encoded(model, rows, tokenizer.pad_token_id or 0, 128)
    scores = np.clip(scores, 1e-6, 1 - 1e-6)
    return np.log(scores / (1 - scores))
