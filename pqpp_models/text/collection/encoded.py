"""Your own collection: the captions that a text ensemble measures prompts against, replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_backbones.encoder.normaliser import content
from pqpp_models.errors import PredictorError
from pqpp_models.text.collection.collection import Collection, Postings
from pqpp_models.text.reading.words import WordTables, to_words

if TYPE_CHECKING:
    from pqpp_models.predictor import Predictor


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


def with_collection(
    predictor: Predictor, captions: Iterable[str], progress: bool = False
) -> Predictor:
    """Return a text ensemble whose collection is another one.

    The labelled captions, those of its training prompts, stay; the others and the counts of words
    are replaced. Densities grow with a collection, so one about as large as the old one keeps
    predictions comparable. The predictor that came stays as it is.

    Args:
        predictor: The text ensemble.
        captions: The new collection; those that say the same words count once. Their text is not
            kept, only mean states of the encoder's layers and hashes of words.
        progress: Whether a bar is shown.

    Raises:
        PredictorError: The predictor has no collection to replace, or no caption has a word.
    """
    encoder, layers = to_encoder(predictor)
    from pqpp_backbones.encoder.encoding import layer_means

    texts = [content(caption) for caption in distinct(captions)]
    states = layer_means(encoder, predictor.tokenizer, texts, layers, progress=progress)
    # As they are when they come back from a file.
    states = {k: array.astype(np.float16).astype(np.float32) for k, array in states.items()}
    own = (states, WordTables.build(texts), Postings.build(texts))
    name = Path(str(encoder.config.name_or_path)).name or encoder.config.model_type
    details = {"own_collection": {"captions": len(texts), "encoder": name}}
    model = replace(predictor.model, collection=predictor.model.collection.replaced(*own))
    made = replace(predictor, model=model, details=predictor.details | details)
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
