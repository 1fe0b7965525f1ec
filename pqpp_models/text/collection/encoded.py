"""Your own collection: captions as an encoder sees them, made once, saved, and put to use.

What is kept of a caption is the mean state of some of the encoder's layers, and hashes of its
words; never its text.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pqpp_hub.card import render_card
from pqpp_models.checkpoint import Tensors, read_config, read_tensors, write_checkpoint
from pqpp_models.encoder.normaliser import KEY, NORMALISERS, read_normaliser
from pqpp_models.errors import CheckpointError, PredictorError
from pqpp_models.text.collection.collection import Collection, word_tensors, words_from_tensors
from pqpp_models.text.collection.neighbours import Floats
from pqpp_models.text.collection.postings import Postings
from pqpp_models.text.words import WordTables, words_of

if TYPE_CHECKING:
    from pqpp_models.predictor import Predictor

KIND = "collection"


class EncodedCaptions:
    """Captions as mean states of an encoder's layers, and the counts of their words.

    Args:
        states: by layer, an array of shape ``(captions, size)``.
        tables: the counts of the captions' words.
        postings: which captions hold which words.
        encoder: the name of the encoder.
        encoder_sha256: the SHA-256 of its weights.
        normaliser: the name of the one that they went through.
    """

    def __init__(
        self,
        states: Mapping[int, Floats],
        tables: WordTables,
        postings: Postings,
        encoder: str,
        encoder_sha256: str,
        normaliser: str = "as_typed",
    ) -> None:
        self.states = {layer: np.asarray(array, np.float32) for layer, array in states.items()}
        self.tables, self.postings = tables, postings
        self.encoder, self.encoder_sha256 = encoder, encoder_sha256
        self.normaliser = normaliser

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
        normaliser: str = "as_typed",
    ) -> Self:
        """Encode captions by an `AutoModel`; those that say the same words count once.

        Raises:
            PredictorError: no caption is left, or the encoder has no such layer.
        """
        from pqpp_models.encoder.encoding import layer_means
        from pqpp_models.encoder.pretrained import check_layers, weights_sha256

        texts = [NORMALISERS[normaliser](caption) for caption in distinct(captions)]
        check_layers(encoder, layers)
        states = layer_means(encoder, tokenizer, texts, layers, progress=progress)
        # As they are when they come back from a file.
        states = {layer: array.astype(np.float16) for layer, array in states.items()}
        name = Path(str(encoder.config.name_or_path)).name or encoder.config.model_type
        tables, postings = WordTables.build(texts), Postings.build(texts)
        return cls(states, tables, postings, name, weights_sha256(encoder), normaliser)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> Path:
        """Write the collection to a new or empty folder, or over an older collection.

        Raises:
            CheckpointError: the folder holds other things.
        """
        layers = list(self.states)
        config = {
            "predictor_type": KIND,
            "captions": len(self),
            "layers": layers,
            "encoder": self.encoder,
            "encoder_sha256": self.encoder_sha256,
            KEY: self.normaliser,
        }
        tensors: Tensors = word_tensors(self.tables, self.postings)
        tensors |= {f"states.{k}": v.astype(np.float16) for k, v in self.states.items()}
        card = render_card(
            "predictors/collection",
            size=f"{len(self):,}",
            layers=layers,
            encoder=self.encoder,
            normaliser=self.normaliser,
        )
        return write_checkpoint(folder, config, tensors, card)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a collection that `save_pretrained` wrote.

        Raises:
            CheckpointError: the folder holds no collection, or a damaged one.
        """
        place = Path(folder).expanduser()
        config = read_config(place)
        if config["predictor_type"] != KIND:
            raise CheckpointError(
                f"{place} holds a predictor of type {config['predictor_type']!r:.60}, not a "
                "collection; make one by pqpp collection build"
            )
        normaliser = read_normaliser(place, config)
        tensors = read_tensors(place, config)
        try:
            states = {layer: tensors[f"states.{layer}"] for layer in config["layers"]}
            size = config["captions"]
            if not states or any(array.shape[:1] != (size,) for array in states.values()):
                raise ValueError("the numbers of captions differ")
            if not all(np.isfinite(array).all() for array in states.values()):
                raise ValueError("some states are not finite")
            tables, postings = words_from_tensors(tensors, size)
            if postings is None or len(postings.keys) != size:
                raise ValueError("the words' captions are missing")
            encoder = config["encoder"], config["encoder_sha256"]
            return cls(states, tables, postings, *encoder, normaliser)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{place} holds no usable collection ({type(error).__name__}: {error}); build it "
                "again"
            ) from None


def distinct(captions: Iterable[str], known: Iterable[str] = ()) -> list[str]:
    """Return the captions with words, once each, in order; none that says what a known text says.

    Raises:
        PredictorError: there is none.

    >>> distinct(["A cat.", "", "a cat", "Two dogs", "a bird"], known=["A bird!"])
    ['A cat.', 'Two dogs']
    """
    said = {tuple(words_of(text)) for text in known}
    kept: dict[tuple[str, ...], str] = {}
    for caption in captions:
        words = tuple(words_of(caption))
        if words and words not in said:
            kept.setdefault(words, caption)
    if not kept:
        raise PredictorError(
            "no caption with words came; give a file with one caption on each line or in each row"
        )
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
        PredictorError: the predictor has no collection to replace, or the encoders or normalisers
            differ.
    """
    encoder, layers = encoder_of(predictor)
    from pqpp_models.encoder.pretrained import weights_sha256

    lacking = [f"layer {layer}" for layer in layers if layer not in captions.states]
    of_another = {
        "normaliser": captions.normaliser != predictor.normaliser,
        "encoder's weights": captions.encoder_sha256 != weights_sha256(encoder),
    }
    others = [name for name, differs in of_another.items() if differs]
    if lacking or others:
        what = f"lacks {lacking[0]}" if lacking else f"is of another {others[0]}"
        raise PredictorError(
            f"the collection ({captions.encoder}) {what}; build it with --predictor and this folder"
        )
    collection = predictor.model.collection.replaced(
        captions.states, captions.tables, captions.postings
    )
    own = {"captions": len(captions), "encoder": captions.encoder}
    return predictor.with_collection(collection, own)


def encoder_of(predictor: Predictor) -> tuple[Any, list[int]]:
    """Return the encoder and the layers that a predictor's collection was made with.

    Raises:
        PredictorError: the predictor has none.

    >>> from pqpp_models import Predictor
    >>> encoder_of(Predictor.from_pretrained("static"))
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: static has no collection that can be replaced: ...
    """
    collection = getattr(getattr(predictor, "model", None), "collection", None)
    if not isinstance(collection, Collection):
        raise PredictorError(
            f"{predictor.name} has no collection that can be replaced: what it knows of one is "
            "part of its weights; use a text_ensemble (training/train_text_ensemble.py)"
        )
    return predictor.encoder, list(collection.vectors)
