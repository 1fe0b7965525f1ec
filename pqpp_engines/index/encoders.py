"""Models that put texts and images into one space: CLIP, SigLIP, BLIP-2 and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pqpp_engines.errors import IndexingError
from pqpp_models.images.pairs import open_image
from pqpp_models.pretrained import check_ids, load_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqpp_engines.index.index import Index

    Floats = NDArray[np.float32]

MODELS = {
    "BLIP-2": "Salesforce/blip2-itm-vit-g",
    "CLIP": "openai/clip-vit-large-patch14",
    "SigLIP": "google/siglip-so400m-patch14-384",
}
"""Short names of models on the Hub, in any capitals."""


class ImageTextEncoder:
    """A model with `get_text_features` and `get_image_features`, or a BLIP-2 for retrieval.

    Texts and images go through one at a time on a CPU, so that an embedding does not depend on the
    batch; on a GPU, batches of other sizes differ by what other shapes round differently, below
    1e-4 of their length.

    Args:
        model: A name of `MODELS`, OWNER/REPOSITORY or a folder.
        revision: Branch, tag or commit of a repository.
        device: Where it runs; a GPU if there is one.

    Attributes:
        model: Its full name.
        revision: The commit that it came from, or the hash of a folder's files.
        device: Where it runs.
        at_once: How many texts or images go through together; None for what is asked for.

    Raises:
        IndexingError: It has no such features.
        CheckpointError: There is no such model, or it is not whole.
    """

    def __init__(self, model: str, revision: str | None = None, device: str | None = None) -> None:
        full = {name.lower(): one for name, one in MODELS.items()}.get(model.lower(), model)
        what = "model of texts and images"
        loaded = load_model(full, _class_of, what, device, revision=revision)
        self._network, self._processor = loaded.model, loaded.processor
        self.device, self.at_once = loaded.device, loaded.at_once
        is_folder = Path(full).expanduser().is_dir()
        self.model = Path(full).name if is_folder else loaded.told.name
        self.revision = loaded.told.revision
        if not self.can_match and not hasattr(self._network, "get_image_features"):
            raise IndexingError(
                f"{model} is a {type(self._network).__name__} without image features; name a "
                "folder or OWNER/REPOSITORY of CLIP, SigLIP, BLIP-2 or the like"
            )

    @classmethod
    def of(cls, index: Index, folder: str | None = None) -> Self:
        """Return the model of an index.

        Args:
            index: The index.
            folder: Where the model lies, if it is not on the Hub.

        Raises:
            IndexingError: The index tells no model, or the folder's is called otherwise or was
                changed since.
        """
        told, revision = index.config["model"], index.config["revision"]
        if not told:
            raise IndexingError("the index tells no model; give embeddings")
        if folder is None:
            return cls(told, revision)
        if Path(folder).name != Path(told).name:
            raise IndexingError(f"--model {folder}: the index was made by {told}; give that one")
        found = cls(folder)
        if (revision or "").startswith("sha256:") and found.revision != revision:
            raise IndexingError(
                f"--model {folder}: its files are not those that the index was made by; give them, "
                "or build the index again"
            )
        return found

    @property
    def can_match(self) -> bool:
        """Whether it can look at a text and an image together, as BLIP-2 does."""
        return _is_blip2(self._network.config)

    def texts(self, texts: Sequence[str], batch_size: int = 64) -> Floats:
        """Return an embedding for each text, float32 (texts, size), not normalised."""
        if self.can_match:
            from pqpp_engines.index import blip2

            def embed(some: list[str]) -> Any:
                return blip2.text_features(self._network, self._tokens(some))
        else:
            from pqpp_models.images.backbone import embed_tokens

            def embed(some: list[str]) -> Any:
                return embed_tokens(self._network, **self._tokens(some))

        return self._embedded(texts, embed, batch_size)

    def images(self, images: Iterable[Any], batch_size: int = 64) -> Floats:
        """Return an embedding for each image: paths, PIL images or what else `open_image` takes.

        Returns:
            float32 (images, size), not normalised; of BLIP-2 (images, vectors of each, size).
        """
        if self.can_match:
            from pqpp_engines.index import blip2

            def embed(some: list[Any]) -> Any:
                states = blip2.image_states(self._network, self._pixels(some)["pixel_values"])
                return blip2.image_features(self._network, states)
        else:
            from pqpp_models.images.backbone import pooled

            def embed(some: list[Any]) -> Any:
                return pooled(self._network.get_image_features(**self._pixels(some)))

        return self._embedded(images, embed, batch_size)

    def matches(self, image: Any, texts: Sequence[str], batch_size: int = 64) -> Floats:
        """Return the log-odds that each text matches an image, float32 (texts,).

        Raises:
            IndexingError: The model cannot look at both together.
        """
        import torch

        from pqpp_engines.index import blip2

        if not self.can_match:
            raise IndexingError(f"{self.model} cannot look at a text and an image together")
        with torch.inference_mode():
            states = blip2.image_states(self._network, self._pixels([image])["pixel_values"])
        return self._embedded(
            texts,
            lambda some: blip2.match_odds(self._network, states, self._tokens(some)),
            batch_size,
        )

    def _tokens(self, texts: list[str]) -> dict[str, Any]:
        if self.can_match:
            from pqpp_engines.index import blip2

            return blip2.text_tokens(self._network, self._processor, texts)
        from pqpp_models.images.embedding import tokens_of

        found = tokens_of(self._processor, texts, self._network.config)
        check_ids(found["input_ids"], getattr(self._network, "text_model", self._network))
        return {name: tensor.to(self.device) for name, tensor in found.items()}

    def _pixels(self, images: list[Any]) -> Any:
        opened = [open_image(one) for one in images]
        return self._processor.image_processor(opened, return_tensors="pt").to(self.device)

    def _embedded(
        self, items: Iterable[Any], embed: Callable[[list[Any]], Any], batch_size: int
    ) -> Floats:
        import torch

        found: list[Floats] = []
        with torch.inference_mode():
            for some in _batches(items, self.at_once or batch_size):
                found.append(embed(some).float().cpu().numpy())
        if not found:
            raise IndexingError("nothing came to be embedded; give texts or images")
        return np.concatenate(found)


def _is_blip2(config: Any) -> bool:
    return config.model_type == "blip-2"


def _class_of(config: Any) -> str:
    from pqpp_engines.index.blip2 import CLASS

    return CLASS if _is_blip2(config) else "AutoModel"


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    items = iter(items)
    while some := list(islice(items, size)):
        yield some
