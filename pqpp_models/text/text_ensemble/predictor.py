"""The text ensemble: a frozen encoder with a collection of captions, and a fine-tuned encoder.

It sees a prompt only. What it knows of the collection that queries are run against is saved with
it: vectors of captions and hashed counts of their words, never their text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_files.errors import in_a_line
from pqpp_files.extras import needing
from pqpp_models import registration
from pqpp_models.building import building_within
from pqpp_models.checkpoint import Tensors
from pqpp_models.encoder.normaliser import KEY, NORMALISERS, read_normaliser
from pqpp_models.errors import CheckpointError
from pqpp_models.targets import TARGETS, resolve_targets
from pqpp_models.text.calibration import (
    CalibratedPredictor,
    distance_to_nearest,
    read_calibration,
)
from pqpp_models.text.collection.collection import Collection
from pqpp_models.text.collection.model import CollectionModel
from pqpp_models.text.instructions import InstructionModel, renamed_details
from pqpp_models.text.known_words import KnownWords
from pqpp_models.torch_predictor import processor_files

# The prefixes of the arrays in a checkpoint; "outside." is the instruction model.
_PREFIXES = ("collection.", "encoder.", "tuned.", "outside.")
_OWN = {"predictor_type", "format_version", "targets", "weights_sha256"}
_OWN |= {"collection", "encoder", "tuned", KEY}


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
        targets: the targets, in the order of the model's first outputs.
        details: what the configuration tells beside.
        instruction_model, known_words: as in `CalibratedPredictor`.
        normaliser: the name of the one that prompts went through in training.
    """

    name = "text_ensemble"
    made_by = "training/train_text_ensemble.py"
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
        instruction_model: InstructionModel | None = None,
        normaliser: str = "as_typed",
        known_words: KnownWords | None = None,
    ) -> None:
        self.known_words = known_words
        self.tokenizer, self.encoder, self.tuned = tokenizer, encoder.eval(), tuned.eval()
        self.model, self.instruction_model = model, instruction_model
        self.normaliser = normaliser
        self.tables = model.collection.tables
        self.calibration = dict(calibration)
        self.targets = tuple(targets)
        self.details = dict(details or {})
        self._references = model.collection.references

    def with_collection(self, collection: Collection, told: Mapping[str, Any]) -> Self:
        """Return the same predictor with another collection, and with what the card tells of it."""
        made = type(self)(
            self.tokenizer,
            self.encoder,
            self.tuned,
            replace(self.model, collection=collection),
            self.calibration,
            self.targets,
            {**self.details, "own_collection": dict(told)},
            self.instruction_model,
            self.normaliser,
            self.known_words,
        )
        made.record = self.record
        return made

    def embed(self, rows: Any) -> NDArray[np.float32]:
        """Return the last layer's unit vectors, in which distances are measured."""
        prompts = self._normalised(self._read_rows(rows))
        return self._last_vectors(self._encode(prompts, [self.model.collection.last]))

    def raw_scores(self, prompts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the standardised scores of all targets, and the distances."""
        prompts = self._normalised(prompts)
        encoded = self._encode(prompts, list(self.model.collection.vectors))
        scores = self.model.predict(prompts, encoded)[:, : len(self.targets)]
        shift, scale = self.calibration["tuned_mean"], self.calibration["tuned_scale"]
        tuned = (tuned_logits(self.tuned, self.tokenizer, prompts) - shift) * scale
        places = [self.targets.index(target) for target in self.tuned.config.targets]
        share = float(self.calibration["share"][0])
        scores[:, places] = (1 - share) * scores[:, places] + share * tuned
        return scores, distance_to_nearest(self._last_vectors(encoded), self._references)

    def _normalised(self, prompts: Sequence[str]) -> list[str]:
        return [NORMALISERS[self.normaliser](prompt) for prompt in prompts]

    def _encode(self, prompts: Sequence[str], layers: Sequence[int]) -> dict[int, Any]:
        from pqpp_models.encoder.encoding import layer_means

        return layer_means(self.encoder, self.tokenizer, prompts, layers)

    def _last_vectors(self, encoded: Mapping[int, Any]) -> NDArray[np.float32]:
        collection = self.model.collection
        return collection.project({collection.last: encoded[collection.last]})[collection.last]

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        description, collection = self.model.tensors()
        weights = {
            prefix: {k: v.detach().float().cpu().numpy() for k, v in module.state_dict().items()}
            for prefix, module in (("encoder.", self.encoder), ("tuned.", self.tuned))
        }
        instructions = self.instruction_model.tensors() if self.instruction_model else {}
        parts = {
            "collection.": collection,
            **weights,
            "outside.": instructions,
            "": self._calibration_tensors(),
        }
        encoder = json.loads(self.encoder.config.to_json_string(use_diff=False))
        if Path(encoder.get("_name_or_path") or "").is_dir():  # a configuration tells no local path
            encoder["_name_or_path"] = Path(encoder["_name_or_path"]).name
        config = {
            "collection": description,
            "encoder": encoder,
            "tuned": json.loads(self.tuned.config.to_json_string()),
            KEY: self.normaliser,
        }
        return {**config, **self.details}, {
            f"{prefix}{name}": array
            for prefix, part in parts.items()
            for name, array in part.items()
        }

    def _try(self) -> None:
        self.predict(["a cat"])

    def _files(self) -> dict[str, bytes]:
        return processor_files(self.tokenizer)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a folder whose files have been read.

        Raises:
            CheckpointError: the weights or the configuration do not fit each other.
            MissingExtraError: torch or transformers is not installed.
        """
        with needing(f"the predictor {cls.name!r}", "models"):
            import torch  # noqa: F401
            from transformers import AutoTokenizer
        parts = {
            prefix: {
                name.removeprefix(prefix): array
                for name, array in tensors.items()
                if name.startswith(prefix)
            }
            for prefix in _PREFIXES
        }
        normaliser = read_normaliser(folder, config)
        try:
            targets = resolve_targets(config["targets"])
            with building_within(folder):
                encoder, tuned = _load_encoders(config, parts)
            tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
            calibration = read_calibration(tensors)
            for name in ("share", "tuned_mean", "tuned_scale"):
                calibration[name] = tensors[f"calibration.{name}"]
            known_words = KnownWords.from_tensors(tensors)
            given = parts["outside."]
            instruction_model = InstructionModel.from_tensors(given) if given else None
        except Exception as error:  # tokenizers raise bare ones
            raise CheckpointError(
                f"{folder} is no usable {cls.name} ({in_a_line(error)}); save or download the "
                "predictor again"
            ) from None
        description = config.get("collection", {})
        model = CollectionModel.from_tensors(str(folder), description, parts["collection."])
        details = renamed_details({k: v for k, v in config.items() if k not in _OWN})
        return cls(
            tokenizer,
            encoder,
            tuned,
            model,
            calibration,
            targets,
            details,
            instruction_model,
            normaliser,
            known_words,
        )


def tuned_logits(tuned: Any, tokenizer: Any, prompts: Sequence[str]) -> NDArray[np.float64]:
    """Return what a `BertForPerformancePrediction` says of some prompts, before the sigmoid."""
    from pqpp_models.encoder.encoding import score
    from pqpp_models.encoder.tokens import encode

    rows = encode(tokenizer, prompts, tuned.config.max_length)
    outputs = len(tuned.config.targets)
    scores = score(tuned, rows, tokenizer.pad_token_id or 0, 128, tuned.device, outputs)
    scores = np.clip(scores, 1e-6, 1 - 1e-6)
    return np.log(scores / (1 - scores))


def _load_encoders(config: Mapping[str, Any], parts: Mapping[str, Tensors]) -> tuple[Any, Any]:
    import torch
    from transformers import AutoConfig, AutoModel

    from pqpp_models.encoder.pretrained import new_encoder

    registration.register()  # the fine-tuned one is a model of this package
    modules = []
    for name in ("encoder", "tuned"):
        fields = dict(config[name])
        own = AutoConfig.for_model(fields.pop("model_type"), **fields)
        build = new_encoder if name == "encoder" else AutoModel.from_config
        module = build(own)
        state = {key: torch.from_numpy(array) for key, array in parts[f"{name}."].items()}
        module.load_state_dict(state)
        modules.append(module)
    return tuple(modules)
