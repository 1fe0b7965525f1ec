"""The paper's baselines (section 4.2.1): ResNet-50 with heads, CLIP tuned, CLIP as it is.

The two that learn have the same forward arguments and output as RAHF where they fit, so that they
are trained by the same loop.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from transformers import AutoConfig, AutoImageProcessor, AutoModel, AutoProcessor

from pqpp_backbones.checkpoint import CARD, EXTRA_FILES, WEIGHTS
from pqpp_backbones.errors import CheckpointError
from pqpp_backbones.images.embedding import (
    feature_size,
    load_backbone,
    pixels_of,
    pooled,
    tokens_of,
)
from pqpp_backbones.pretrained import load_processor, loading
from pqpp_feedback.rahf.bench.evaluation import PredictedSplit
from pqpp_feedback.rahf.examples import Examples
from pqpp_feedback.rahf.modeling_rahf import RahfOutput, squared_error
from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES
from pqpp_files.foreign.arrays import load_tensors
from pqpp_files.foreign.json_values import read_json
from pqpp_files.paths import check_output_folder, expanded
from pqpp_files.write_beside import whole_folder

DESCRIPTION = "baseline.json"
BASELINE_FILES = (DESCRIPTION, WEIGHTS, CARD, *EXTRA_FILES)
BASELINES = ("resnet", "clip")


class ResnetBaseline(nn.Module):
    """ResNets with dense layers for the scores and de-convolutions for the heatmaps.

    The paper tunes two networks, one for the scores and one for the heatmaps; so does this.

    Args:
        config: A `ResNetConfig`; that of ResNet-50 is the default of transformers.
        backbones: The two networks; with first weights if left out.
        dense_sizes: Outputs of the dense layers before the last.
        deconv_sizes: Filters of the de-convolutions, each of which doubles the map.
    """

    def __init__(
        self,
        config: Any,
        backbones: Sequence[nn.Module] | None = None,
        dense_sizes: Sequence[int] = (2048, 1024),
        deconv_sizes: Sequence[int] = (768, 384, 384, 192),
    ) -> None:
        super().__init__()
        self.backbone_config = config
        self.score_backbone, self.heatmap_backbone = backbones or [
            AutoModel.from_config(config, trust_remote_code=False) for _ in range(2)
        ]
        sizes = [config.hidden_sizes[-1], *deconv_sizes]
        self.score_head = _dense_layers([sizes[0], *dense_sizes])
        blocks: list[nn.Module] = []
        for wide, narrow in itertools.pairwise(sizes):
            up = nn.ConvTranspose2d(wide, narrow, 3, 2, padding=1, output_padding=1)
            blocks += [up, nn.BatchNorm2d(narrow), nn.ReLU()]
        last = nn.Conv2d(sizes[-1], len(HEATMAPS), 3, padding=1)
        nn.init.constant_(last.bias, -3.0)  # most pixels are unmarked
        self.heatmap_head = nn.Sequential(*blocks, last)

    def forward(
        self,
        pixel_values: torch.Tensor,
        heatmap_labels: torch.Tensor,
        score_labels: torch.Tensor,
        **_: Any,
    ) -> RahfOutput:
        """Predict scores and heatmaps; the prompt, which RAHF takes too, is not looked at.

        Args:
            pixel_values: `(batch, 3, height, width)`.
            heatmap_labels: `(batch, 2, height, width)`.
            score_labels: `(batch, 4)`.
        """
        features = self.score_backbone(pixel_values).pooler_output.flatten(1)
        output = RahfOutput(scores=torch.sigmoid(self.score_head(features).float()))
        features = self.heatmap_backbone(pixel_values).last_hidden_state
        output.heatmaps = torch.sigmoid(self.heatmap_head(features).float())
        size = heatmap_labels.shape[-2:]
        scaled = functional.interpolate(output.heatmaps, size, mode="bilinear")
        output.heatmap_loss = squared_error(scaled, heatmap_labels)
        output.score_loss = squared_error(output.scores, score_labels)
        output.loss = output.heatmap_loss + output.score_loss
        return output


class ClipBaseline(nn.Module):
    """A CLIP-like model with dense layers on both features, for the four scores."""

    def __init__(self, clip: Any, dense_sizes: Sequence[int] = (512, 256)) -> None:
        super().__init__()
        self.clip, self.backbone_config = clip, clip.config
        self.score_head = _dense_layers([feature_size(clip.config), *dense_sizes])

    def forward(
        self,
        pixel_values: torch.Tensor,
        input_ids: torch.Tensor,
        score_labels: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        **_: Any,
    ) -> RahfOutput:
        """Predict scores from what the model's own processor gives; labels are `(batch, 4)`."""
        tokens = {"input_ids": input_ids, "attention_mask": attention_mask}
        features = torch.cat(_unit_features(self.clip, tokens, pixel_values), dim=-1)
        scores = torch.sigmoid(self.score_head(features).float())
        return RahfOutput(loss=squared_error(scores, score_labels), scores=scores)


def _dense_layers(sizes: Sequence[int]) -> nn.Sequential:
    hidden = [(nn.Linear(*pair), nn.ReLU()) for pair in itertools.pairwise(sizes)]
    return nn.Sequential(*itertools.chain(*hidden), nn.Linear(sizes[-1], len(SCORES)))


def _unit_features(clip: Any, tokens: Mapping[str, Any], pixels: torch.Tensor) -> list:
    """Return the text and the image features, each of length 1."""
    both = clip.get_text_features(**tokens), clip.get_image_features(pixel_values=pixels)
    return [functional.normalize(pooled(features), dim=-1) for features in both]


@torch.inference_mode()
def clip_similarity(
    clip: Any, processor: Any, images: Sequence[Any], prompts: Sequence[str]
) -> NDArray[np.float64]:
    """Return the cosine similarity of each image and its prompt: the alignment of an untuned CLIP.

    The images are judged at once, by a CLIP-like model and its processor.
    """
    return _similarity(clip, processor, images, prompts)[0].double().cpu().numpy()


def clip_gradient_heatmaps(
    clip: Any, processor: Any, images: Sequence[Any], prompts: Sequence[str], size: int
) -> NDArray[np.float32]:
    """Return where the similarity of image and prompt depends on the pixels.

    The size of the gradient of the similarity at each pixel, summed over the channels, averaged to
    the wanted size and scaled to a maximum of 1: the paper's baseline for misalignment.

    Returns:
        `(images, size, size)` in 0 .. 1.
    """
    similarity, pixels = _similarity(clip, processor, images, prompts, needs_gradient=True)
    (gradient,) = torch.autograd.grad(similarity.sum(), pixels)
    sizes = gradient.abs().sum(dim=1, keepdim=True)
    maps = functional.interpolate(sizes, (size, size), mode="area")[:, 0]
    highest = maps.amax(dim=(1, 2), keepdim=True).clamp(min=1e-12)
    return (maps / highest).float().cpu().numpy()


def _similarity(
    clip: Any, processor: Any, images: Any, prompts: Any, needs_gradient: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = tokens_of(processor, prompts, clip.config)
    tokens = {name: value.to(clip.device) for name, value in tokens.items()}
    pixels = pixels_of(processor, images).to(clip.device).requires_grad_(needs_gradient)
    text, image = _unit_features(clip, tokens, pixels)
    return (text * image).sum(dim=-1), pixels


class TrainedBaseline:
    """A baseline that judges the rows of a split; for `Examples` it is the processor, too.

    Args:
        kind: `resnet` or `clip`.
        model: A `ResnetBaseline` or a `ClipBaseline`.
        processor: That of the backbone.
        heatmap_size: Pixels along a side of its heatmaps as they are compared.
    """

    variant = "multi_head"

    def __init__(self, kind: str, model: Any, processor: Any, heatmap_size: int = 224) -> None:
        self.kind, self.model, self.processor = kind, model, processor
        self.heatmap_size = heatmap_size

    @classmethod
    def from_backbone(cls, kind: str, name_or_path: str, heatmap_size: int = 224) -> Self:
        """Put new heads on a pretrained backbone, a name or folder that transformers loads.

        Raises:
            CheckpointError: There is no such backbone.
        """
        if kind == "clip":
            clip = ClipBaseline(load_backbone(name_or_path))
            return cls(kind, clip, load_processor(name_or_path), heatmap_size)
        what, remedy = f"{name_or_path} holds no usable backbone", f"name one for `{kind}`"
        with loading(what, remedy, name_or_path):
            # The paper tunes two ResNets, so each has weights of its own.
            backbones = [
                AutoModel.from_pretrained(
                    name_or_path, use_safetensors=True, trust_remote_code=False
                )
                for _ in range(2)
            ]
            processor = _processor_of(kind, name_or_path)
            config = backbones[0].config
            if not hasattr(config, "hidden_sizes"):
                kind = type(backbones[0]).__name__
                raise CheckpointError(f"{kind} is no network of stages like ResNet")
        return cls(kind, ResnetBaseline(config, backbones), processor, heatmap_size)

    @staticmethod
    def is_saved_in(folder: str | Path) -> bool:
        """Tell whether a folder holds a saved baseline."""
        return (Path(folder) / DESCRIPTION).is_file()

    def save_pretrained(self, folder: str | Path, card: str | None = None) -> Path:
        """Write weights, configuration, processor and card to a folder, whole or not at all.

        Raises:
            FileError: The folder holds other things than an older baseline.
        """
        from safetensors.torch import save_file

        folder = expanded(folder)
        self.refuse_other_folder(folder)
        weights = self.model.state_dict()
        tensors = {k: v.detach().cpu().clone().contiguous() for k, v in weights.items()}
        backbone = _described(self.model.backbone_config)
        described = {"kind": self.kind, "heatmap_size": self.heatmap_size, "backbone": backbone}
        with whole_folder(folder, BASELINE_FILES) as beside:
            save_file(tensors, beside / WEIGHTS)
            self.processor.save_pretrained(beside)
            text = json.dumps(described, indent=1) + "\n"
            (beside / DESCRIPTION).write_text(text, encoding="utf-8")
            if card is not None:
                (beside / CARD).write_text(card, encoding="utf-8")
        return folder

    @classmethod
    def refuse_other_folder(cls, folder: str | Path) -> None:
        """Refuse a folder in which something else than a baseline is saved."""
        check_output_folder(folder, BASELINE_FILES if cls.is_saved_in(folder) else ())

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """Load what `save_pretrained` wrote.

        Raises:
            CheckpointError: The folder holds no whole baseline.
        """
        folder = Path(folder)
        remedy = "give a folder written by training/train_rahf_baselines.py"
        with loading(f"{folder} holds no usable baseline", remedy, str(folder)):
            described = read_json(folder / DESCRIPTION)
            kind, fields = described["kind"], dict(described["backbone"])
            config = AutoConfig.for_model(fields.pop("model_type"), **fields)
            if kind == "clip":
                model = ClipBaseline(AutoModel.from_config(config, trust_remote_code=False))
            else:
                model = ResnetBaseline(config)
            model.load_state_dict(load_tensors(folder / WEIGHTS, framework="torch"))
            size = int(described["heatmap_size"])
            return cls(kind, model.eval(), _processor_of(kind, folder), size)

    def examples(self, table: Any, **options: Any) -> Examples:
        """Return the rows of a split as this baseline takes them; options as of `Examples`."""
        return Examples(table, self, self.heatmap_size, **options)

    def __call__(
        self, images: Sequence[Any], text: Sequence[str], tasks: Any = None
    ) -> dict[str, torch.Tensor]:
        """Return a batch's tensors."""
        if self.kind == "resnet":
            return dict(self.processor(images, return_tensors="pt"))
        tokens = tokens_of(self.processor, text, self.model.backbone_config)
        return {**tokens, "pixel_values": pixels_of(self.processor, images)}

    def labels(self, prompts: Sequence[str], labels: Any) -> torch.Tensor:
        """Return no keywords: baselines do not predict them."""
        return torch.empty(len(prompts), 0)

    @torch.inference_mode()
    def predict(self, examples: Examples, batch_size: int) -> PredictedSplit:
        """Return what the baseline says about a split, whatever mode its model is in."""
        was_training, device = self.model.training, next(self.model.parameters()).device
        scores, maps = [], []
        self.model.eval()
        try:
            for start in range(0, len(examples), batch_size):
                rows = range(start, min(start + batch_size, len(examples)))
                batch = examples.collate([examples[row] for row in rows])
                output = self.model(**{name: value.to(device) for name, value in batch.items()})
                scores.append(output.scores.double().cpu().numpy())
                if output.heatmaps is not None:
                    size = (self.heatmap_size,) * 2
                    scaled = functional.interpolate(output.heatmaps, size, mode="bilinear")
                    maps.append(scaled.float().cpu().numpy())
        finally:
            self.model.train(was_training)
        named = zip(HEATMAPS, np.concatenate(maps).swapaxes(0, 1) if maps else (), strict=False)
        return PredictedSplit(scores=np.concatenate(scores), **dict(named))


def _processor_of(kind: str, name_or_path: str | Path) -> Any:
    reader = AutoProcessor if kind == "clip" else AutoImageProcessor
    return reader.from_pretrained(name_or_path, trust_remote_code=False)


def _described(config: Any) -> dict[str, Any]:
    described = config.to_dict()
    for part in (described, *described.values()):
        if isinstance(part, dict):
            part.pop("_name_or_path", None)  # what is published tells no local path
    return described
