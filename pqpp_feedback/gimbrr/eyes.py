"""The model that looks for names: a CLIP."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.images.embedding import embed_images, embed_prompts
from pqpp_backbones.pretrained import load_model
from pqpp_feedback.assess.vectors import unit_rows
from pqpp_feedback.errors import AssessError
from pqpp_feedback.gimbrr.seen import TEMPLATES, VOCABULARY


class ClipEye:
    """Similarities of an image to the names of `VOCABULARY` and of its prompt.

    Args:
        name: A CLIP-like model, as for `pqpp_backbones.pretrained.fetch`.
        device: Where it shall run; the usual one if None.
        dtype: Of its numbers.
    """

    def __init__(self, name: str, device: str | None = None, dtype: str = "float32") -> None:
        self._loaded = load_model(name, "AutoModel", "CLIP", device, dtype)
        if not hasattr(self._loaded.model, "get_image_features"):
            kind = type(self._loaded.model).__name__
            raise AssessError(f"{name} is a {kind}; name a CLIP-like model")
        self.told = self._loaded.told
        self.settings = {"dtype": dtype, "templates": {k: list(v) for k, v in TEMPLATES.items()}}
        self._texts: dict[tuple[str, str], NDArray[np.float64]] = {}

    def look(self, images: Sequence[Any], names: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Return the similarities of each image, for each way of `TEMPLATES`."""
        model, processor = self._loaded.model, self._loaded.processor
        scale = getattr(model, "logit_scale", None)
        scale = math.exp(scale.item()) if scale is not None else 100.0
        features = embed_images(model, processor, images, self._loaded.at_once or len(images))
        seen, known = [], len(VOCABULARY)
        for image, asked in zip(unit_rows(features), names, strict=True):
            similar = {way: self._embedded([*VOCABULARY, *asked], way) @ image for way in TEMPLATES}
            prompted = {
                name: {way: values[known + number] for way, values in similar.items()}
                for number, name in enumerate(asked)
            }
            similar = {way: values[:known] for way, values in similar.items()}
            seen.append({**similar, "own": prompted, "scale": scale})
        return seen

    def _embedded(self, names: Sequence[str], way: str) -> NDArray[np.float64]:
        """Return the features of names, each the mean over its templates, kept once made."""
        model, processor = self._loaded.model, self._loaded.processor
        for name in names:  # one at a time: what it is must not depend on the others
            if (way, name) not in self._texts:
                texts = [template.format(name) for template in TEMPLATES[way]]
                features = unit_rows(embed_prompts(model, processor, texts, len(texts)))
                self._texts[way, name] = unit_rows(features.mean(axis=0))
        return np.stack([self._texts[way, name] for name in names])
