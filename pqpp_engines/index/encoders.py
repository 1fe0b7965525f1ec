"""Models that embed texts and images in one space: CLIP, SigLIP, BLIP-2 and others.

BLIP-2 (`Blip2ForImageTextRetrieval`) compares a text and an image by two methods. With ITC
(image-text contrast), a text has one vector and an image 32, and the score is the highest cosine.
With ITM (image-text matching), the Q-Former reads image and text together. Retrieval finds
candidates by ITC and reranks them by ITM. Source: Li, Li, Savarese and Hoi, "BLIP-2: Bootstrapping
Language-Image Pre-training with Frozen Image Encoders and Large Language Models", 2023.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.pretrained import check_token_ids, load_model
from pqpp_engines.errors import EngineError
from pqpp_engines.index.index import Index
from pqpp_files.errors import reraise
from pqpp_files.foreign.images import open_image
from pqpp_files.paths import expand
from pqpp_files.table_formats import cut_batches

Floats = NDArray[np.float32]
#: Short names of models on the Hub, in any capitals.
MODELS = {
    "BLIP-2": "Salesforce/blip2-itm-vit-g",
    "CLIP": "openai/clip-vit-large-patch14",
    "SigLIP": "google/siglip-so400m-patch14-384",
}


class ImageTextEncoder:
    """A model that embeds texts and images, such as CLIP, or BLIP-2 for retrieval.

    On a CPU, texts and images are embedded one at a time, so that an embedding does not depend on
    the batch. On a GPU, embeddings in batches of different sizes differ by rounding, by less than
    1e-4 of their length.

    Args:
        model: A name of `MODELS`, OWNER/REPOSITORY or a folder.
        revision: Branch, tag or commit of a repository.
        device: The device; default: a GPU if there is one.

    Attributes:
        model: The model's full name.
        revision: The model's commit, or the hash of its folder's files.
        device: The device on which the model runs.
        at_once: Texts or images per batch; None for the default.

    Raises:
        EngineError: The model has no image features.
        ModelError: The model does not exist, or is incomplete.
    """

    def __init__(self, model: str, revision: str | None = None, device: str | None = None) -> None:
        names = {short.lower(): name for short, name in MODELS.items()}
        full_name = names.get(model.lower(), model)
        loaded = load_model(
            full_name,
            lambda c: "Blip2ForImageTextRetrieval" if c.model_type == "blip-2" else "AutoModel",
            "model of texts and images",
            device,
            revision=revision,
        )
        self._network, self._processor = loaded.model, loaded.processor
        self.device, self.at_once = loaded.device, loaded.max_batch
        self.model = Path(full_name).name if expand(full_name).is_dir() else loaded.identity.name
        self.revision = loaded.identity.revision
        if not self.can_match and not hasattr(self._network, "get_image_features"):
            raise EngineError(f"{model} has no image features; choose a model such as CLIP")

    @classmethod
    def from_index(cls, index: Index, folder: str | None = None) -> Self:
        """Load the model with which an index was built.

        Args:
            folder: The model's folder, if it is not on the Hub.

        Raises:
            EngineError: The index names no model, or the folder's model has another name or has
                changed.
        """
        model, revision = index.config["model"], index.config["revision"]
        if not model:
            raise EngineError("the index has no model; search with embeddings of the queries")
        if folder is None:
            return cls(model, revision)
        if Path(folder).name != Path(model).name:
            raise EngineError(f"`model` must be {model}, as for the index; got {folder}")
        encoder = cls(folder)
        if (revision or "").startswith("sha256:") and encoder.revision != revision:
            problem = f"`model` {folder} has changed since the index was built"
            raise EngineError(f"{problem}; build the index again")
        return encoder

    @property
    def can_match(self) -> bool:
        """Whether the model can score a text and an image jointly, like BLIP-2."""
        return bool(self._network.config.model_type == "blip-2")

    def embed_texts(self, texts: Sequence[str], batch_size: int = 64) -> Floats:
        """Return an embedding for each text, float32 (texts, size), not normalised."""
        return self._embed_batches(texts, self._embed_text_batch, batch_size)

    def embed_images(self, images: Iterable[Any], batch_size: int = 64) -> Floats:
        """Return an embedding for each image: a path, a PIL image or another input of `open_image`.

        Returns:
            float32 (images, size), not normalised; for BLIP-2 (images, vectors, size).
        """
        return self._embed_batches(images, self._embed_image_batch, batch_size)

    def score_match(self, image: Any, texts: Sequence[str]) -> Floats:
        """Return the log-odds that each text matches an image, float32 (texts,).

        Raises:
            EngineError: The model has no matching head.
        """
        import torch

        if not self.can_match:
            raise EngineError(f"{self.model} has no matching head; choose a BLIP-2 model")
        with torch.inference_mode():
            states = self._network.vision_model(**self._prepare_images([image])).last_hidden_state

        def compute_log_odds(texts: list[str]) -> Any:
            model = self._network
            tokens = _tokenize(model, self._processor, texts)
            queries = model.query_tokens.expand(len(texts), -1, -1)
            ones = queries.new_ones(queries.shape[:-1]).long()
            hidden = model.qformer(
                query_embeds=model.embeddings(input_ids=tokens["input_ids"], query_embeds=queries),
                query_length=queries.shape[1],
                attention_mask=torch.cat([ones, tokens["attention_mask"]], dim=1),
                encoder_hidden_states=states.expand(len(texts), -1, -1),
            ).last_hidden_state
            logits = model.itm_head(hidden[:, : queries.shape[1], :]).mean(dim=1)
            return logits[:, 1] - logits[:, 0]

        return self._embed_batches(texts, compute_log_odds, batch_size=64)

    def _embed_text_batch(self, texts: list[str]) -> Any:
        from pqpp_backbones.images.embedding import get_tokens

        model = self._network
        if not self.can_match:
            tokens = get_tokens(model, self._processor, texts)
            return model.get_text_features(**tokens).pooler_output
        tokens = _tokenize(model, self._processor, texts)
        options = {"query_length": 0, "attention_mask": tokens["attention_mask"]}
        embedded = model.embeddings(input_ids=tokens["input_ids"])
        states = model.qformer(query_embeds=embedded, **options).last_hidden_state
        return model.text_projection(states[:, 0, :])

    def _embed_image_batch(self, images: list[Any]) -> Any:
        model, pixels = self._network, self._prepare_images(images)
        if not self.can_match:
            return model.get_image_features(**pixels).pooler_output
        states = model.vision_model(**pixels).last_hidden_state
        queries = model.query_tokens.expand(len(states), -1, -1)
        outputs = model.qformer(query_embeds=queries, encoder_hidden_states=states)
        return model.vision_projection(outputs.last_hidden_state)

    def _prepare_images(self, images: list[Any]) -> Any:
        opened = [open_image(image) for image in images]
        return self._processor.image_processor(opened, return_tensors="pt").to(self.device)

    def _embed_batches(
        self, items: Iterable[Any], embed: Callable[[list[Any]], Any], batch_size: int
    ) -> Floats:
        import torch

        problem = f"{self.model} cannot embed the input"
        with reraise(problem, "choose another model", EngineError), torch.inference_mode():
            batches = cut_batches(items, self.at_once or batch_size)
            parts = [embed(batch).float().cpu().numpy() for batch in batches]
        if not parts:
            raise EngineError("there is nothing to embed; add texts or images")
        return np.concatenate(parts)


def _tokenize(model: Any, processor: Any, texts: list[str]) -> Any:
    tokenizer = processor.tokenizer
    positions = model.config.qformer_config.max_position_embeddings
    length = min(positions, tokenizer.model_max_length)
    tokens = tokenizer(texts, padding=True, truncation=True, max_length=length, return_tensors="pt")
    check_token_ids(tokens["input_ids"], model)
    return tokens.to(model.device)
