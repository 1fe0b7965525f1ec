"""The learned baselines with what they need around them: inputs, predictions, saving, loading."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch.nn import functional
from transformers import AutoConfig, AutoImageProcessor, AutoModel, AutoProcessor

from pqpp_feedback.rahf.bench.baseline_networks import ClipBaseline, ResnetBaseline
from pqpp_feedback.rahf.bench.evaluation import Predictions
from pqpp_feedback.rahf.examples import Examples
from pqpp_feedback.rahf.outputs import HEATMAPS
from pqpp_files.check_output import check_output_folder
from pqpp_files.write_beside import whole_folder
from pqpp_models.checkpoint import EXTRA_FILES, WEIGHTS
from pqpp_models.errors import CheckpointError
from pqpp_models.images.embedding import pixels_of, tokens_of
from pqpp_models.pretrained import loading

DESCRIPTION = "baseline.json"
FILES = (DESCRIPTION, WEIGHTS, *EXTRA_FILES)
BASELINES = ("resnet", "clip")


class BaselineInputs:
    """Stands where `Examples` wants a processor: prepares what a baseline takes.

    Args:
        processor: That of the backbone.
        config: The CLIP-like backbone's configuration; None for a network that reads no prompt.
    """

    variant = "multi_head"

    def __init__(self, processor: Any, config: Any = None) -> None:
        self.processor, self.config = processor, config

    def __call__(
        self, images: Sequence[Any], text: Sequence[str], tasks: Any = None
    ) -> dict[str, torch.Tensor]:
        """Return a batch's tensors."""
        if self.config is None:
            return dict(self.processor(images, return_tensors="pt"))
        tokens = tokens_of(self.processor, text, self.config)
        return {**tokens, "pixel_values": pixels_of(self.processor, images)}

    def labels(self, prompts: Sequence[str], labels: Any) -> torch.Tensor:
        """Return no keywords: baselines do not predict them."""
        return torch.empty(len(prompts), 0)


class TrainedBaseline:
    """A baseline that judges the rows of a split.

    Args:
        kind: `resnet` or `clip`.
        model: A `ResnetBaseline` or a `ClipBaseline`.
        inputs: Prepares what it takes.
        heatmap_size: Pixels along a side of its heatmaps as they are compared.
    """

    def __init__(
        self, kind: str, model: Any, inputs: BaselineInputs, heatmap_size: int = 224
    ) -> None:
        self.kind, self.model, self.inputs = kind, model, inputs
        self.heatmap_size = heatmap_size

    @classmethod
    def from_backbone(cls, kind: str, name_or_path: str, heatmap_size: int = 224) -> Self:
        """Put new heads on a pretrained backbone.

        Args:
            kind: `resnet` or `clip`.
            name_or_path: What `AutoModel.from_pretrained` takes.
            heatmap_size: Pixels along a side of the heatmaps.

        Raises:
            CheckpointError: There is no such backbone.
        """
        reader = AutoProcessor if kind == "clip" else AutoImageProcessor
        what, remedy = f"{name_or_path} holds no usable backbone", f"name one for `{kind}`"
        with loading(what, remedy, name_or_path):
            backbone = AutoModel.from_pretrained(name_or_path, use_safetensors=True)
            processor = reader.from_pretrained(name_or_path)
            _check_backbone(kind, backbone)
            if kind == "clip":
                inputs = BaselineInputs(processor, backbone.config)
                return cls(kind, ClipBaseline(backbone), inputs, heatmap_size)
            # The paper tunes two networks, so each has weights of its own.
            pair = [backbone, AutoModel.from_pretrained(name_or_path, use_safetensors=True)]
        model = ResnetBaseline(backbone.config, pair)
        return cls(kind, model, BaselineInputs(processor), heatmap_size)

    @staticmethod
    def is_saved_in(folder: str | Path) -> bool:
        """Tell whether a folder holds a saved baseline."""
        return (Path(folder) / DESCRIPTION).is_file()

    def save_pretrained(self, folder: str | Path) -> Path:
        """Write weights, configuration and processor beside and rename the folder.

        Args:
            folder: Where to; an older baseline there is replaced.

        Raises:
            CheckpointError: The folder holds other things.
        """
        from safetensors.torch import save_file

        folder = Path(folder).expanduser()
        self.refuse_other_folder(folder)
        weights = self.model.state_dict()
        own = {k: v.detach().cpu().clone().contiguous() for k, v in weights.items()}
        described = {
            "kind": self.kind,
            "heatmap_size": self.heatmap_size,
            "backbone": _described(self.model.backbone_config),
        }
        text = json.dumps(described, indent=1) + "\n"
        with whole_folder(folder, FILES) as beside:
            save_file(own, beside / WEIGHTS)
            self.inputs.processor.save_pretrained(beside)
            (beside / DESCRIPTION).write_text(text, encoding="utf-8")
        return folder

    @classmethod
    def refuse_other_folder(cls, folder: str | Path) -> None:
        """Refuse a folder in which something else than a baseline is saved.

        Raises:
            CheckpointError: It holds other things.
        """
        check_output_folder(folder, FILES if cls.is_saved_in(folder) else ())

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """Load what `save_pretrained` wrote.

        Raises:
            CheckpointError: The folder holds no whole baseline.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        folder = Path(folder)
        try:
            described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
            config = _configured(described["backbone"])
            is_clip = described["kind"] == "clip"
            reader = AutoProcessor if is_clip else AutoImageProcessor
            inputs = BaselineInputs(reader.from_pretrained(folder), config if is_clip else None)
            model = ClipBaseline(AutoModel.from_config(config)) if is_clip else None
            model = model or ResnetBaseline(config)
            model.load_state_dict(load_file(folder / WEIGHTS))
            size = int(described["heatmap_size"])
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split())[:200]
            raise CheckpointError(
                f"{folder} holds no usable baseline ({reason}); give a folder written by "
                "training/train_rahf_baselines.py"
            ) from None
        return cls(described["kind"], model.eval(), inputs, size)

    def examples(self, table: Any, **options: Any) -> Examples:
        """Return the rows of a split as this baseline takes them; options as of `Examples`."""
        return Examples(table, self.inputs, self.heatmap_size, **options)

    @torch.inference_mode()
    def predict(self, examples: Examples, batch_size: int) -> Predictions:
        """Return what the baseline says about a split, whatever mode its model is in.

        Args:
            examples: From `examples`, without augmentation.
            batch_size: Images at once.
        """
        was_training = self.model.training
        self.model.eval()
        try:
            found = [self._predict_batch(*some) for some in _batches(examples, batch_size)]
        finally:
            self.model.train(was_training)
        maps = [one for _, one in found if one is not None]
        named = (
            dict(zip(HEATMAPS, np.concatenate(maps).swapaxes(0, 1), strict=True)) if maps else {}
        )
        return Predictions(scores=np.concatenate([scores for scores, _ in found]), **named)

    def _predict_batch(self, examples: Examples, rows: range) -> tuple[Any, Any]:
        device = next(self.model.parameters()).device
        batch = examples.collate([examples[row] for row in rows])
        found = self.model(**{name: value.to(device) for name, value in batch.items()})
        scores = found.scores.double().cpu().numpy()
        if found.heatmaps is None:
            return scores, None
        size = (self.heatmap_size,) * 2
        scaled = functional.interpolate(found.heatmaps, size, mode="bilinear")
        return scores, scaled.float().cpu().numpy()


def _check_backbone(kind: str, backbone: Any) -> None:
    fits = hasattr(backbone, "get_image_features") and hasattr(backbone, "get_text_features")
    wanted = "model like CLIP"
    if kind == "resnet":
        fits, wanted = hasattr(backbone.config, "hidden_sizes"), "network of stages like ResNet"
    if not fits:
        raise CheckpointError(f"{type(backbone).__name__} is no {wanted}")


def _batches(examples: Examples, batch_size: int) -> list[tuple[Examples, range]]:
    n = len(examples)
    return [(examples, range(at, min(at + batch_size, n))) for at in range(0, n, batch_size)]


def _described(config: Any) -> dict[str, Any]:
    found = config.to_dict()
    for one in (found, *(value for value in found.values() if isinstance(value, Mapping))):
        one.pop("_name_or_path", None)  # what is published tells no local path
    return found


def _configured(described: Mapping[str, Any]) -> Any:
    fields = dict(described)
    return AutoConfig.for_model(fields.pop("model_type"), **fields)
