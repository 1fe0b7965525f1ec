"""Pretrained text encoders that are saved in the checkpoint of a predictor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pqpp_backbones.checkpoint import Tensors
from pqpp_backbones.foreign import limit_model_size
from pqpp_files.extras import require_extra
from pqpp_files.foreign.json_values import parse_json
from pqpp_hub.pull import work_offline
from pqpp_models.text.arrays import Singles, normalise_rows


def get_encoder_config(encoder: Any) -> dict[str, Any]:
    """Return the configuration of an encoder, without local paths."""
    config: dict[str, Any] = parse_json(encoder.config.to_json_string(use_diff=False))
    if Path(config.get("_name_or_path") or "").is_dir():
        config["_name_or_path"] = Path(config["_name_or_path"]).name
    return config


def get_encoder_weights(module: Any) -> Tensors:
    """Return the weights of a module as arrays."""
    return {k: v.detach().float().cpu().numpy() for k, v in module.state_dict().items()}


def rebuild_encoder(config: Mapping[str, Any], arrays: Tensors, is_registered: bool = False) -> Any:
    """Restore a module from its configuration and weights.

    Args:
        is_registered: whether the model type is pqpp's own.
    """
    import torch
    from transformers import AutoConfig, AutoModel

    from pqpp_backbones.encoder.pretrained import build_encoder

    fields = dict(config)
    encoder_config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    build = AutoModel.from_config if is_registered else build_encoder
    module = build(encoder_config)
    module.load_state_dict({key: torch.from_numpy(array) for key, array in arrays.items()})
    return module.eval()


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """A sentence encoder with its tokenizer.

    Attributes:
        name: the repository or folder name.
        revision: the commit, or a hash of the folder's files.
        model, tokenizer: transformers objects.
    """

    name: str
    revision: str
    model: Any
    tokenizer: Any

    @classmethod
    def load(cls, name_or_path: str) -> Self:
        """Load an encoder from a folder or the Hub.

        Raises:
            ModelError: the encoder does not exist.
            MissingExtraError: torch or transformers is not installed.
        """
        with require_extra("a sentence encoder", "models"):
            from pqpp_backbones.encoder.pretrained import load_encoder
        from pqpp_backbones.pretrained import fetch_model

        folder, source = fetch_model(name_or_path, "encoder")
        name = Path(source.name).name if source.revision.startswith("sha256:") else source.name
        return cls(name, source.revision, *load_encoder(str(folder)))

    def embed(self, prompts: Sequence[str], progress: bool = False) -> Singles:
        """Return the prompts' mean states in the last layer as unit vectors, one per row."""
        from pqpp_backbones.encoder.encoding import get_layer_means

        last = self.model.config.num_hidden_layers
        means = get_layer_means(self.model, self.tokenizer, prompts, [last], progress)
        return normalise_rows(means[last])

    def get_state(self) -> tuple[dict[str, Any], Tensors]:
        """Return the entries of the configuration, and the arrays."""
        facts = {"name": self.name, "revision": self.revision}
        return {**facts, "config": get_encoder_config(self.model)}, get_encoder_weights(self.model)

    @classmethod
    def from_checkpoint(cls, folder: Path, facts: Mapping[str, Any], arrays: Tensors) -> Self:
        """Restore the encoder of a checkpoint.

        Raises:
            MissingExtraError: torch or transformers is not installed.
        """
        with require_extra("a sentence encoder", "models"):
            from transformers import AutoTokenizer
        with limit_model_size(folder), work_offline():
            model = rebuild_encoder(facts["config"], arrays)
            tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
        return cls(str(facts["name"]), str(facts["revision"]), model, tokenizer)
