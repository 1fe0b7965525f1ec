"""Models that put texts and images into one space: CLIP, SigLIP and others of transformers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pqpp_engines.errors import IndexingError
from pqpp_models.images.pairs import open_image
from pqpp_models.pretrained import load_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqpp_engines.index.index import Index

    Floats = NDArray[np.float32]

MODELS = {
    "CLIP": "openai/clip-vit-large-patch14",
    "SigLIP": "google/siglip-so400m-patch14-384",
}
"""Short names of models on the Hub."""
_WHAT = "model of texts and images"


class ImageTextEncoder:
    """A model with `get_text_features` and `get_image_features`.

    Texts are padded to the model's own length and go through one at a time on a CPU, images too, so
    that an embedding does not depend on the batch; on a GPU, batches of other sizes differ by what
    other shapes round differently, below 1e-4.

    Args:
        model: A name of `MODELS`, OWNER/REPOSITORY or a folder.
        revision: Branch, tag or commit of a repository.
        device: Where it runs; a GPU if there is one.

    Attributes:
        model: Its full name.
        revision: The commit that it came from; None for a folder.

    Raises:
        IndexingError: It has no such features.
        CheckpointError: There is no such model, or it is not whole.
    """

    def __init__(self, model: str, revision: str | None = None, device: str | None = None) -> None:
        full = MODELS.get(model, model)
        loaded = load_model(full, "AutoModel", _WHAT, device, revision=revision)
        self._network, self._processor = loaded.model, loaded.processor
        self.device, self._at_once = loaded.device, loaded.at_once
        self.model, self.revision = Path(loaded.told.name).name, None
        if not Path(full).expanduser().is_dir():
            self.model, self.revision = loaded.told.name, loaded.told.revision
        if not hasattr(self._network, "get_image_features"):
            raise IndexingError(
                f"{model} is a {type(self._network).__name__} without image features; name a "
                "folder or OWNER/REPOSITORY of CLIP, SigLIP or the like"
            )

    @classmethod
    def of(cls, index: Index, folder: str | None = None) -> Self:
        """Return the model of an index.

        Args:
            index: The index.
            folder: Where the model lies, if it is not on the Hub.

        Raises:
            IndexingError: The index tells no model, or the folder's is called otherwise.
        """
        told = index.config["model"]
        if not told:
            raise IndexingError("the index tells no model; give embeddings")
        if folder is None:
            return cls(told, index.config["revision"])
        if Path(folder).name != Path(told).name:
            raise IndexingError(f"--model {folder}: the index was made by {told}; give that one")
        return cls(folder)

    def texts(self, texts: Sequence[str], batch_size: int = 64) -> Floats:
        """Return an embedding for each text, float32 (texts, size), not normalised."""
        return self._embedded(
            texts,
            lambda some: self._processor(
                text=some, padding="max_length", truncation=True, return_tensors="pt"
            ),
            "get_text_features",
            batch_size,
        )

    def images(self, images: Iterable[Any], batch_size: int = 64) -> Floats:
        """Return an embedding for each image: paths, PIL images or what else `open_image` takes."""
        return self._embedded(
            images,
            lambda some: self._processor(
                images=[open_image(one) for one in some], return_tensors="pt"
            ),
            "get_image_features",
            batch_size,
        )

    def _embedded(self, items: Iterable[Any], prepare: Any, name: str, batch_size: int) -> Floats:
        import torch

        found: list[Floats] = []
        with torch.inference_mode():
            for some in _batches(items, self._at_once or batch_size):
                inputs = prepare(some).to(self.device)
                features = getattr(self._network, name)(**inputs)
                features = getattr(features, "pooler_output", features)
                found.append(features.float().cpu().numpy())
        if not found:
            raise IndexingError("nothing came to be embedded; give texts or images")
        return np.concatenate(found)


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    items = iter(items)
    while some := list(islice(items, size)):
        yield some
