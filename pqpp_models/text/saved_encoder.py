"""A pretrained text encoder inside a predictor's checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqpp_backbones.checkpoint import Tensors
from pqpp_files.foreign.json_values import parse_json


def encoder_config(encoder: Any) -> dict[str, Any]:
    """Return an encoder's configuration, without a local path."""
    config: dict[str, Any] = parse_json(encoder.config.to_json_string(use_diff=False))
    if Path(config.get("_name_or_path") or "").is_dir():
        config["_name_or_path"] = Path(config["_name_or_path"]).name
    return config


def encoder_weights(module: Any) -> Tensors:
    """Return the arrays of a module."""
    return {k: v.detach().float().cpu().numpy() for k, v in module.state_dict().items()}


def rebuilt_encoder(config: Mapping[str, Any], arrays: Tensors, is_of_ours: bool = False) -> Any:
    """Return the module of a configuration and of arrays.

    Args:
        is_of_ours: whether it is a model of this package, which has been registered.
    """
    import torch
    from transformers import AutoConfig, AutoModel

    from pqpp_backbones.encoder.pretrained import new_encoder

    fields = dict(config)
    own = AutoConfig.for_model(fields.pop("model_type"), **fields)
    made = AutoModel.from_config if is_of_ours else new_encoder
    module = made(own)
    module.load_state_dict({key: torch.from_numpy(array) for key, array in arrays.items()})
    return module.eval()
