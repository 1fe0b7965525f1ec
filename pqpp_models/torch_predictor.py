"""The base class of predictors with a transformers model.

The folder of such a predictor is also a checkpoint of transformers: `AutoModel.from_pretrained` can
read it, and `TorchPredictor` can read what that model's `save_pretrained` writes.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pqpp_backbones.checkpoint import EXTRA_FILES, Tensors
from pqpp_backbones.pretrained import move_model
from pqpp_files.extras import require_extra
from pqpp_files.foreign.json_values import parse_json
from pqpp_hub.card import render_card
from pqpp_hub.pull import work_offline
from pqpp_models import registration
from pqpp_models.predictor import Predictor
from pqpp_models.targets import get_limits, resolve_targets

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


class TorchPredictor(Predictor):
    """A predictor with a transformers model.

    Args:
        model: the model; its configuration names the targets.
        processor: the tokenizer or processor, if the model needs one.
        details: further entries of the configuration.
        device: the device; default: a GPU if available.
        batch_size: rows per forward pass.
    """

    supervised = True
    model_type: ClassVar[str]
    """The `model_type` of the model's configuration in transformers."""
    processor_class: ClassVar[str] = ""
    """The class of transformers that loads the tokenizer or processor, empty if it needs none."""

    def __init__(
        self,
        model: PreTrainedModel,
        processor: Any = None,
        details: Mapping[str, Any] | None = None,
        device: str | torch.device | None = None,
        batch_size: int = 64,
    ) -> None:
        import torch

        self.model, self.processor = model.eval(), processor
        self.targets = resolve_targets(model.config.targets)
        self.limits = getattr(model.config, "limits", None)
        self.details = dict(details or {})
        self.batch_size = batch_size
        self.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def to(self, device: str | torch.device) -> Self:
        """Move the model to a device and return the predictor."""
        move_model(self.model, device)
        return self

    @property
    def size(self) -> str:
        """A description of the number of parameters."""
        count = sum(weight.numel() for weight in self.model.parameters())
        return f"{count / 1e6:.1f} million parameters"

    @classmethod
    def get_model_class(cls) -> type[PreTrainedModel]:
        """Return the class of the model."""
        module, _, name = registration.MODELS[cls.model_type][1].partition(":")
        return getattr(importlib.import_module(module), name)

    @classmethod
    def load_processor(cls, folder: Path) -> Any:
        """Load the tokenizer or processor in a folder, if the model needs one."""
        if not cls.processor_class:
            return None
        import transformers

        registration.register()  # the processor's loader reads the model's configuration
        loader = getattr(transformers, cls.processor_class)
        with work_offline():
            return loader.from_pretrained(str(folder), trust_remote_code=False)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Load the predictor in a folder with transformers.

        Raises:
            ModelError: the weights and the configuration do not match.
            MissingExtraError: torch or transformers is not installed.
        """
        with require_extra(f"the predictor {cls.name!r}", "models"):
            import torch

            model_class = cls.get_model_class()
        options: dict[str, Any] = {"local_files_only": True, "dtype": torch.float32}
        model = model_class.from_pretrained(
            folder, use_safetensors=True, trust_remote_code=False, **options
        )
        for weight in model.parameters():  # aligned, since unaligned tensors change the last digits
            weight.data = weight.data.clone()
        return cls(model, cls.load_processor(folder), config.get("training"))

    def _get_state(self) -> tuple[dict[str, Any], Tensors]:
        config = parse_json(self.model.config.to_json_string())
        config["architectures"] = [type(self.model).__name__]
        if self.details:
            config["training"] = self.details
        weights = self.model.state_dict()
        return config, {k: v.detach().float().cpu().numpy() for k, v in weights.items()}

    def _get_extra_files(self) -> dict[str, bytes]:
        return {} if self.processor is None else read_processor_files(self.processor)

    def _render_card(self) -> str:
        """Render the card from `details`."""
        details = self.details
        recipe, scores, data = (details.get(k, {}) for k in ("recipe", "validation", "data"))
        subset, version = recipe.get("subset"), data.get("version", "0.0.0")
        # No figures on rows that it was trained on.
        is_held_out = data.get("validation_fitted", 0) < data.get("validation_rows", 1)
        ranges = get_limits(self.targets, self.limits)
        return render_card(
            f"predictors/{self.name}",
            title=f"pqpp-{self.name}",
            base_model=recipe.get("model") if "/" in str(recipe.get("model")) else None,
            repository=details.get("repository") or "OWNER/REPOSITORY",
            ranges=dict(zip(self.targets, zip(*ranges, strict=True), strict=True)),
            training=details,
            recipe=recipe,
            subset=subset,
            data_name=" ".join(filter(None, [subset, version if version != "0.0.0" else ""])),
            scores={
                name: {kind: scores[f"{name}_{kind}"] for kind in ("pearson", "kendall")}
                for name in self.targets
                if is_held_out and f"{name}_kendall" in scores
            },
        )


def read_processor_files(processor: Any) -> dict[str, bytes]:
    """Return the files of a tokenizer or processor by name."""
    with tempfile.TemporaryDirectory() as folder:
        processor.save_pretrained(folder)
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    return {name: content for name, content in files.items() if name in EXTRA_FILES}
