"""Your own collection: captions as an encoder sees them, made once, saved, and put to use.

What is kept of a caption is the mean state of some of the encoder's layers, and hashes of its
words; never its text.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import read_config, read_tensors, write_checkpoint
from pqpp_backbones.encoder.normaliser import content
from pqpp_backbones.errors import ModelError
from pqpp_files.paths import expand
from pqpp_hub.card import render_card
from pqpp_models.errors import PredictorError
from pqpp_models.text.collection.collection import (
    Collection,
    Postings,
    word_tensors,
    words_from_tensors,
)
from pqpp_models.text.reading.words import WordTables, to_words

if TYPE_CHECKING:
    from pqpp_models.predictor import Predictor

KIND = "collection"


@dataclass(eq=False)
class EncodedCaptions:
    """Captions as mean states of an encoder's layers, and the counts of their words.

    Attributes:
        states: by layer, an array of shape ``(captions, size)``.
        tables: the counts of the captions' words.
        postings: which captions hold which words.
        encoder: the name of the encoder.
        encoder_sha256: the SHA-256 of its weights.
    """

    states: Mapping[int, NDArray[Any]]
    tables: WordTables
    postings: Postings
    encoder: str
    encoder_sha256: str

    def __post_init__(self) -> None:
        """Compute in 32 bits, whatever a file has."""
        self.states = {layer: np.asarray(rows, np.float32) for layer, rows in self.states.items()}

    def __len__(self) -> int:
        return len(next(iter(self.states.values())))

    @classmethod
    def build(
        cls,
        captions: Iterable[str],
        encoder: Any,
        tokenizer: Any,
        layers: Sequence[int],
        progress: bool = False,
    ) -> Self:
        """Encode captions by an `AutoModel`; those that say the same words count once.

        Raises:
            PredictorError: no caption is left, or the encoder has no such layer.
        """
        from pqpp_backbones.encoder.encoding import layer_means
        from pqpp_backbones.encoder.pretrained import check_layers, weights_sha256

        texts = [content(caption) for caption in distinct(captions)]
        check_layers(encoder, layers)
        states = layer_means(encoder, tokenizer, texts, layers, progress=progress)
        # As they are when they come back from a file.
        states = {layer: array.astype(np.float16) for layer, array in states.items()}
        name = Path(str(encoder.config.name_or_path)).name or encoder.config.model_type
        tables, postings = WordTables.build(texts), Postings.build(texts)
        return cls(states, tables, postings, name, weights_sha256(encoder))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> Path:
        """Write the collection to a new or empty folder, or over an older collection.

        Raises:
            ModelError: the folder holds other things.
        """
        facts = {"layers": list(self.states), "encoder": self.encoder}
        config = {
            "predictor_type": KIND,
            "captions": len(self),
            "encoder_sha256": self.encoder_sha256,
            **facts,
        }
        tensors = word_tensors(self.tables, self.postings)
        tensors |= {f"states.{k}": v.astype(np.float16) for k, v in self.states.items()}
        card = render_card("predictors/collection", size=f"{len(self):,}", **facts)
        return write_checkpoint(folder, config, tensors, card)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a collection that `save_pretrained` wrote.

        Raises:
            ModelError: the folder holds no collection, or a damaged one.
        """
        path = expand(folder)
        config = read_config(path)
        if config["predictor_type"] != KIND:
            raise ModelError(
                f"{path} is a predictor of type {config['predictor_type']!r:.60}, not a "
                "collection; make one with pqpp models collection build"
            )
        tensors = read_tensors(path, config)
        try:
            states = {layer: tensors[f"states.{layer}"] for layer in config["layers"]}
            size = config["captions"]
            tables, postings = words_from_tensors(tensors, size)
            sizes = {len(postings.keys), *map(len, states.values())}
            if not states or sizes != {size}:
                raise ValueError("the numbers of captions differ")
            encoder = config["encoder"], config["encoder_sha256"]
            return cls(states, tables, postings, *encoder)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(
                f"{path} has no usable collection ({type(error).__name__}: {error}); build it again"
            ) from None


def distinct(captions: Iterable[str], known: Iterable[str] = ()) -> list[str]:
    """Return the captions with words, once each, in order; none that says what a known text says.

    Raises:
        PredictorError: there is none.

    >>> distinct(["A cat.", "", "a cat", "Two dogs", "a bird"], known=["A bird!"])
    ['A cat.', 'Two dogs']
    """
    said = {tuple(to_words(text)) for text in known}
    kept: dict[tuple[str, ...], str] = {}
    for caption in captions:
        words = tuple(to_words(caption))
        if words and words not in said:
            kept.setdefault(words, caption)
    if not kept:
        raise PredictorError("no caption with words; give a file with one caption per line or row")
    return list(kept.values())


def with_collection(predictor: Predictor, captions: EncodedCaptions) -> Predictor:
    """Return a text ensemble whose collection is another one.

    The labelled captions, those of its training prompts, stay; the others and the counts of words
    are replaced. Densities grow with a collection, so one about as large as the old one keeps
    predictions comparable. The predictor that came stays as it is.

    Args:
        predictor: the text ensemble.
        captions: the new collection, of the same encoder.

    Raises:
        PredictorError: the predictor has no collection to replace, or the encoders differ.
    """
    encoder, layers = to_encoder(predictor)
    from pqpp_backbones.encoder.pretrained import weights_sha256

    problems = [f"lacks layer {layer}" for layer in layers if layer not in captions.states]
    if captions.encoder_sha256 != weights_sha256(encoder):
        problems.append("is of another encoder's weights")
    if problems:
        raise PredictorError(
            f"the collection ({captions.encoder}) {problems[0]}; build it with --predictor and "
            "this folder"
        )
    collection = predictor.model.collection.replaced(
        captions.states, captions.tables, captions.postings
    )
    facts = {"captions": len(captions), "encoder": captions.encoder}
    model = replace(predictor.model, collection=collection)
    made = replace(predictor, model=model, details=predictor.details | {"own_collection": facts})
    made.record = predictor.record
    return made


def to_encoder(predictor: Predictor) -> tuple[Any, list[int]]:
    """Return the encoder and the layers that a predictor's collection was made with.

    Raises:
        PredictorError: the predictor has none.

    >>> from pqpp_models import Predictor
    >>> to_encoder(Predictor.from_pretrained("static"))
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: static has no collection that can be replaced: ...
    """
    collection = getattr(getattr(predictor, "model", None), "collection", None)
    if not isinstance(collection, Collection):
        raise PredictorError(
            f"{predictor.name} has no collection to replace; use a text_ensemble (pqpp train "
            "text_ensemble)"
        )
    return predictor.encoder, list(collection.vectors)
