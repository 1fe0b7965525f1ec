"""The model that looks for names: a CLIP."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.images.embedding import embed_images, embed_prompts
from pqpp_backbones.pretrained import load_model
from pqpp_feedback.assess.values import unit_rows
from pqpp_feedback.errors import AssessError
from pqpp_feedback.gimbrr.published import VOCABULARY, WAY


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
        self.settings = {"dtype": dtype}
        self._texts: dict[str, NDArray[np.float64]] = {}

    def look(self, images: Sequence[Any], names: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Return the similarities of each image."""
        model, processor = self._loaded.model, self._loaded.processor
        scale = getattr(model, "logit_scale", None)
        scale = math.exp(scale.item()) if scale is not None else 100.0
        features = embed_images(model, processor, images, self._loaded.at_once or len(images))
        seen = []
        for image, asked in zip(unit_rows(features), names, strict=True):
            known, own = (self._embedded(some) @ image for some in (VOCABULARY, asked))
            own = {name: {WAY: value} for name, value in zip(asked, own, strict=True)}
            seen.append({WAY: known, "own": own, "scale": scale})
        return seen

    def _embedded(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the features of names, kept once made."""
        for name in names:  # one at a time: what it is must not depend on the others
            if name not in self._texts:
                features = embed_prompts(self._loaded.model, self._loaded.processor, [name], 1)
                self._texts[name] = unit_rows(features[0])
        return np.stack([self._texts[name] for name in names])
