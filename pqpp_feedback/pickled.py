"""Load weights that are published as pickles, if the user has confirmed their SHA-256.

HPSv2 is a CLIP model with OpenCLIP's tensor names. LAION's aesthetic score is a head on CLIP's
image features, and ImageReward is a head on a BLIP model, with its authors' tensor names.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from huggingface_hub import constants
from torch import nn

from pqpp_backbones.errors import ModelError
from pqpp_backbones.images.embedding import load_backbone
from pqpp_backbones.pretrained import TEXTS, WHOLE, load_processor, load_tokenizer, safe_load
from pqpp_files.errors import reraise
from pqpp_files.foreign.json_values import read_json
from pqpp_hub.pull import pull_files

#: The record of confirmed hashes, in the folder of the Hub's client.
CONFIRMED = "pqpp_confirmed_weights.txt"
_SOURCES = read_json(Path(__file__).with_name("pickled.json"))
#: The scores whose weights are pickles.
PICKLED = tuple(_SOURCES)


def read_pickle(path: Path, confirmed: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """Return the tensors of a pickle that the user has confirmed, and its SHA-256.

    Only tensors and containers are unpickled, with torch's `weights_only`.

    Args:
        confirmed: SHA-256 values that the user confirms now; they are recorded for later calls.

    Raises:
        ModelError: The pickle is not confirmed, or contains other objects.
    """
    record = Path(constants.HF_HOME) / CONFIRMED
    recorded = record.read_text("ascii").split() if record.is_file() else []
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest not in recorded:
            if digest not in confirmed:
                problem = f"{path} is a pickle, which can contain code; check that its source has"
                raise ModelError(f"{problem} the same SHA-256, then set `confirm` {digest}")
            record.parent.mkdir(parents=True, exist_ok=True)
            with record.open("a", encoding="ascii") as log:
                log.write(f"{digest}\n")
        file.seek(0)
        with reraise(f"{path} has no usable weights", "download the file again", ModelError):
            checkpoint = torch.load(file, map_location="cpu", weights_only=True)
            return dict(checkpoint.get("state_dict", checkpoint)), digest


def find_pickle(name: str, path_or_name: str | None) -> tuple[Path, str]:
    """Return the pickle of a score, and the location of its configuration and processor.

    Args:
        path_or_name: The pickle, or a folder with the pickle, its configuration and its processor;
            None for the authors' file on the Hub.

    Raises:
        ModelError: There is no pickle.
    """
    location = Path(path_or_name or "")
    files = [location] if location.is_file() else [*location.glob("*.pt"), *location.glob("*.pth")]
    if path_or_name and len(files) == 1:
        return files[0], str(location) if location.is_dir() else _SOURCES[name]["model"]
    source, file = _SOURCES[name]["source"], _SOURCES[name].get("file")
    if path_or_name or not file:
        raise ModelError(f"`weights` of {name} must be one .pt or .pth file; see {source}")
    return pull_files(source, [file], error=ModelError) / file, _SOURCES[name]["model"]


def load_weights(path: Path, base: str, name: str, tensors: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return a score's model with the weights of a pickle, and its processor.

    Raises:
        ModelError: A weight is missing or has another shape.
    """
    from transformers import AutoConfig, CLIPImageProcessor, CLIPModel
    from transformers.models.blip import modeling_blip, modeling_blip_text

    files = WHOLE if name == "aesthetic" else TEXTS
    with safe_load(f"{path} has no weights of {name}", "choose another file", base, files=files):
        if name == "hps_v2":
            clip = CLIPModel(AutoConfig.from_pretrained(base, trust_remote_code=False))
            transposed = {name: tensors[name].T for name in ("visual.proj", "text_projection")}
            renamed = rename_tensors(name, {**tensors, **transposed})
            for key in [key for key in renamed if "in_proj_" in key]:
                for letter, chunk in zip("qkv", renamed.pop(key).chunk(3), strict=True):
                    renamed[key.replace("in_proj_", f"{letter}_proj.")] = chunk.contiguous()
            return _load_complete(clip, renamed), load_processor(base)
        if name == "aesthetic":
            parts = {"clip": load_backbone(base), "head": _build_head(tensors)}
            return nn.ModuleDict(parts), load_processor(base)
        config_path = Path(base) / "config.json"
        settings = read_json(config_path) if config_path.is_file() else _SOURCES[name]["config"]
        config = modeling_blip.BlipConfig(**settings)
        text_encoder = modeling_blip_text.BlipTextModel(config.text_config, add_pooling_layer=False)
        vision_model = modeling_blip.BlipVisionModel(config.vision_config)
        modules = nn.ModuleDict({"vision_model": vision_model, "text_encoder": text_encoder})
        _load_complete(modules, rename_tensors(name, tensors))
        side = config.vision_config.image_size
        size = {"size": {"shortest_edge": side}, "crop_size": {"height": side, "width": side}}
        image_processor = CLIPImageProcessor(**size)
        processor = SimpleNamespace(tokenizer=load_tokenizer(base), image_processor=image_processor)
        head = {key[4:]: tensor for key, tensor in tensors.items() if key.startswith("mlp.")}
        modules["head"] = _build_head(head)
        return modules, processor


def rename_tensors(name: str, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the tensors of a scoring model's pickle to the names in transformers."""
    renamed = {}
    for key, tensor in tensors.items():
        for pattern, replacement in _SOURCES[name]["renamed"].items():
            key = re.sub(pattern, replacement, key)
        renamed[key] = tensor
    return renamed


def _build_head(tensors: Mapping[str, Any]) -> nn.Sequential:
    """Return a head's linear layers, without the dropout, which only matters in training."""
    layers = []
    for number in sorted(int(key.split(".")[1]) for key in tensors if key.endswith(".weight")):
        parameters = {part: tensors[f"layers.{number}.{part}"] for part in ("weight", "bias")}
        layers.append(nn.Linear(*reversed(parameters["weight"].shape)))
        layers[-1].load_state_dict(parameters)
    return nn.Sequential(*layers)


def _load_complete(model: Any, tensors: Mapping[str, Any]) -> Any:
    if missing := model.load_state_dict(tensors, strict=False).missing_keys:
        raise ValueError(f"{missing[0]} is missing")
    return model
