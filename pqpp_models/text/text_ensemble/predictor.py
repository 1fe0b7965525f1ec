"""The text ensemble: a frozen encoder with a collection of captions, and a fine-tuned encoder.

It sees a prompt only. What it knows of the collection that queries are run against is saved with
it: vectors of captions and hashed counts of their words, never their text.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_models.checkpoint import EXTRA_FILES, Tensors, write_checkpoint
from pqpp_models.errors import CheckpointError, MissingResourceError, UnknownPredictorError
from pqpp_models.targets import TARGETS, resolve_targets
from pqpp_models.text.calibrated import CalibratedPredictor, distance_to_nearest
from pqpp_models.text.collection_state import pack_model, unpack_model
from pqpp_models.text.instructions import OutsideModel
from pqpp_models.text.text_ensemble.model import CollectionModel

_COLLECTION, _ENCODER, _TUNED, _OUTSIDE = "collection.", "encoder.", "tuned.", "outside."
_CALIBRATION = ("slope", "offset", "spread", "far", "share", "tuned_mean", "tuned_scale")


class TextEnsemblePredictor(CalibratedPredictor):
    """Predicts performance from a prompt and from how a collection of captions lies around it.

    Args:
        tokenizer: splits prompts for both encoders.
        encoder: the frozen encoder.
        tuned: the fine-tuned encoder with its head.
        model: kernel ridge and networks on the frozen encoder and the collection.
        calibration: ``share`` is the fine-tuned encoder's part in the targets that it has; from
            its outputs ``tuned_mean`` is taken, and they are multiplied by ``tuned_scale``. The
            rest is as in `CalibratedPredictor`.
        outside: what is done with prompts unlike captions, as in `StaticPredictor`; without it
            nothing is done.
        targets: the targets, in the order of the model's first outputs.
        details: what the configuration tells beside.
    """

    name = "text_ensemble"
    supervised = True
    chunk_size = 8192

    def __init__(
        self,
        tokenizer: Any,
        encoder: Any,
        tuned: Any,
        model: CollectionModel,
        calibration: Mapping[str, NDArray[np.float32]],
        targets: Sequence[str] = TARGETS,
        details: Mapping[str, Any] | None = None,
        outside: OutsideModel | None = None,
    ) -> None:
        self.tokenizer, self.encoder, self.tuned = tokenizer, encoder.eval(), tuned.eval()
        self.model, self.outside, self.tables = model, outside, model.tables
        self.calibration = dict(calibration)
        self.targets = tuple(targets)
        self.details = dict(details or {})
        self._last = max(model.collection.vectors)
        known = model.collection.vectors[self._last][: model.collection.labelled]
        self._points = np.ascontiguousarray(known.T)

    def embed(self, rows: Any) -> NDArray[np.float32]:
        """Return the last layer's unit vectors, in which distances are measured.

        Args:
            rows: as in ``predict``.
        """
        from pqpp_models.text.encoder.encoding import layer_means

        encoded = layer_means(self.encoder, self.tokenizer, self._read_rows(rows), [self._last])
        return self.model.collection.project(encoded)[self._last]

    def raw_scores(self, prompts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the standardised scores of all targets, and the distances."""
        from pqpp_models.text.encoder.encoding import layer_means

        layers = list(self.model.collection.vectors)
        encoded = layer_means(self.encoder, self.tokenizer, prompts, layers)
        scores = self.model.predict(prompts, encoded)[:, : len(self.targets)]
        shift, scale = self.calibration["tuned_mean"], self.calibration["tuned_scale"]
        tuned = (tuned_logits(self.tuned, self.tokenizer, prompts) - shift) * scale
        places = [self.targets.index(target) for target in self.tuned.config.targets]
        share = float(self.calibration["share"][0])
        scores[:, places] = (1 - share) * scores[:, places] + share * tuned
        vectors = self.model.collection.project({self._last: encoded[self._last]})[self._last]
        return scores, distance_to_nearest(vectors, self._points)

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        description, arrays = pack_model(self.model)
        tensors: Tensors = {f"{_COLLECTION}{name}": array for name, array in arrays.items()}
        for prefix, module in ((_ENCODER, self.encoder), (_TUNED, self.tuned)):
            for name, tensor in module.state_dict().items():
                tensors[f"{prefix}{name}"] = tensor.detach().float().cpu().numpy()
        tensors |= {f"calibration.{name}": array for name, array in self.calibration.items()}
        if self.outside is not None:
            tensors |= {f"{_OUTSIDE}{k}": array for k, array in self.outside.tensors().items()}
        config = {
            "collection": description,
            "encoder": json.loads(self.encoder.config.to_json_string(use_diff=False)),
            "tuned": json.loads(self.tuned.config.to_json_string()),
        }
        return {**config, **self.details}, tensors

    def save_pretrained(self, folder: str | os.PathLike[str]) -> Path:
        """Write both encoders, the collection, the tokenizer and the card to a folder.

        Args:
            folder: a new folder, an empty one, or one with an older checkpoint of the
                same type, which is replaced whole or not at all.

        Returns:
            The folder.

        Raises:
            CheckpointError: the folder holds other things than a checkpoint.
        """
        config, tensors = self._state()
        with tempfile.TemporaryDirectory() as beside:
            self.tokenizer.save_pretrained(beside)
            found = {path.name: path.read_bytes() for path in Path(beside).iterdir()}
        files = {name: content for name, content in found.items() if name in EXTRA_FILES}
        full = {"predictor_type": self.name, "targets": list(self.targets), **config}
        return write_checkpoint(folder, full, tensors, self._card(), files)

    def _card(self) -> str:
        from pqpp_models.text.text_ensemble.card import render_card

        return render_card(self.targets, self.details)

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Say where such a predictor comes from: no weights are in the package."""
        raise UnknownPredictorError(
            f"no weights of {name!r} come with the package; train them by "
            f"training/train_text_ensemble.py, or give a folder (./{name}) or OWNER/REPOSITORY"
        )

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a folder whose files have been read.

        Raises:
            CheckpointError: the weights or the configuration do not fit each other.
            MissingResourceError: torch or transformers is not installed.
        """
        try:
            from transformers import AutoTokenizer
        except ImportError as error:
            raise MissingResourceError(
                f"the predictor {cls.name!r} needs {error.name}; install pqpp[models]"
            ) from None
        parts = {
            prefix: {
                name.removeprefix(prefix): array
                for name, array in tensors.items()
                if name.startswith(prefix)
            }
            for prefix in (_COLLECTION, _ENCODER, _TUNED, _OUTSIDE, "calibration.")
        }
        try:
            targets = resolve_targets(config["targets"])
            encoder, tuned = _load_encoders(config, parts)
            tokenizer = AutoTokenizer.from_pretrained(str(folder))
            calibration = {name: parts["calibration."][name] for name in _CALIBRATION}
            outside = OutsideModel.from_tensors(parts[_OUTSIDE]) if parts[_OUTSIDE] else None
        except (AttributeError, KeyError, TypeError, ValueError, OSError, RuntimeError) as error:
            reason = str(error).splitlines()[0][:200] if str(error) else ""
            raise CheckpointError(
                f"{folder} is no usable {cls.name} ({type(error).__name__}: {reason}); save or "
                "download the predictor again"
            ) from None
        model = unpack_model(str(folder), config.get("collection", {}), parts[_COLLECTION])
        own = {"predictor_type", "format_version", "targets", "weights_sha256"}
        own |= {"collection", "encoder", "tuned"}
        details = {name: value for name, value in config.items() if name not in own}
        return cls(tokenizer, encoder, tuned, model, calibration, targets, details, outside)


def tuned_logits(tuned: Any, tokenizer: Any, prompts: Sequence[str]) -> NDArray[np.float64]:
    """Return what a fine-tuned encoder says of some prompts, before the sigmoid.

    Args:
        tuned: a `BertForPerformancePrediction` in evaluation mode.
        tokenizer: its tokenizer.
        prompts: the texts.
    """
    from pqpp_models.text.encoder.encoding import score
    from pqpp_models.text.encoder.tokens import encode

    rows = encode(tokenizer, prompts, tuned.config.max_length)
    outputs = len(tuned.config.targets)
    scores = score(tuned, rows, tokenizer.pad_token_id or 0, 128, tuned.device, outputs)
    scores = np.clip(scores, 1e-6, 1 - 1e-6)
    return np.log(scores / (1 - scores))


def _load_encoders(config: Mapping[str, Any], parts: Mapping[str, Tensors]) -> tuple[Any, Any]:
    import torch
    from transformers import AutoConfig, AutoModel

    from pqpp_models.bert.configuration_bert_predictor import BertPredictorConfig
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction

    fields = dict(config["encoder"])
    encoder = AutoModel.from_config(AutoConfig.for_model(fields.pop("model_type"), **fields))
    tuned_fields = {key: value for key, value in config["tuned"].items() if key != "model_type"}
    tuned = BertForPerformancePrediction(BertPredictorConfig(**tuned_fields))
    for module, prefix in ((encoder, _ENCODER), (tuned, _TUNED)):
        state = {name: torch.from_numpy(array) for name, array in parts[prefix].items()}
        module.load_state_dict(state)
    return encoder, tuned
