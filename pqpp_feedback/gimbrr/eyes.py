"""The model that looks for names: a CLIP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.gimbrr.asked import VOCABULARY
from pqpp_feedback.gimbrr.seen import TEMPLATES
from pqpp_models.images.backbone import embed_pixels, embed_tokens
from pqpp_models.images.embedding import pixels_of, tokens_of
from pqpp_models.pretrained import load_model

_TEXTS_AT_ONCE = 64


class ClipEye:
    """Similarities of an image to the names of `VOCABULARY` and of its prompt.

    Args:
        name: A CLIP-like model, as for `pqpp_models.pretrained.fetch`.
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

    @torch.inference_mode()
    def look(self, images: Sequence[Any], names: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Return the similarities of each image, for each way of `TEMPLATES`."""
        model = self._loaded.model
        scale = getattr(model, "logit_scale", None)
        scale = math.exp(scale.item()) if scale is not None else 100.0
        found = []
        for some in chunks(images, self._loaded.at_once):
            pixels = pixels_of(self._loaded.processor, some).to(model.device, model.dtype)
            features = embed_pixels(model, pixels)
            found += list(_normed(features.double().cpu().numpy()))
        seen = []
        for image, own in zip(found, names, strict=True):
            texts = {way: self._embedded([*VOCABULARY, *own], way) @ image for way in TEMPLATES}
            rest = {way: values[len(VOCABULARY) :] for way, values in texts.items()}
            seen.append(
                {
                    **{way: values[: len(VOCABULARY)] for way, values in texts.items()},
                    "own": {
                        name: {way: rest[way][number] for way in TEMPLATES}
                        for number, name in enumerate(own)
                    },
                    "scale": scale,
                }
            )
        return seen

    def _embedded(self, names: Sequence[str], way: str) -> NDArray[np.float64]:
        """Return the features of names, each the mean over its templates, kept once made."""
        model, processor = self._loaded.model, self._loaded.processor
        for some in chunks([n for n in names if (way, n) not in self._texts], _TEXTS_AT_ONCE):
            for name in some:  # one name at a time: what it is must not depend on the others
                texts = [template.format(name) for template in TEMPLATES[way]]
                tokens = tokens_of(processor, texts, model.config)
                moved = {key: value.to(model.device) for key, value in tokens.items()}
                features = _normed(embed_tokens(model, **moved).double().cpu().numpy())
                self._texts[way, name] = _normed(features.mean(axis=0))
        return np.stack([self._texts[way, name] for name in names])


def _normed(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def chunks(items: Sequence[Any], size: int | None) -> list[Sequence[Any]]:
    """Return parts of a sequence.

    Args:
        items: The sequence.
        size: How many in a part; None for one part of all.

    Example:
        >>> chunks([1, 2, 3], 2), chunks([], 2)
        ([[1, 2], [3]], [])
    """
    size = size or max(1, len(items))
    return [items[start : start + size] for start in range(0, len(items), size)]
