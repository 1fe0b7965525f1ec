"""A user's own collection: captions as an encoder sees them, made once, saved, and put to use.

What is kept of a caption is the mean state of some of the encoder's layers, and hashes of its
words; never its text.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pqpp_models.checkpoint import Tensors, read_config, read_tensors, write_checkpoint
from pqpp_models.errors import CheckpointError, PredictorError
from pqpp_models.text.collection import SAME, Collection, Floats
from pqpp_models.text.collection_scope import Postings
from pqpp_models.text.collection_state import pack_postings, unpack_postings
from pqpp_models.text.words import WordTables, words_of

if TYPE_CHECKING:
    from pqpp_models.predictor import Predictor
    from pqpp_models.text.text_ensemble.predictor import TextEnsemblePredictor

KIND = "collection"
_CHUNK = 512
_CARD = """\
---
license: other
library_name: pqpp
tags:
- prompt-performance-prediction
---
# A collection of {size:,} captions

For each caption the mean token states of layers {layers} of the text encoder `{encoder}`, as
sixteen-bit numbers, and hashes of its words. It holds no caption's text. The captions' own licence
applies.

```
pqpp collection attach THIS_FOLDER --predictor TEXT_ENSEMBLE --output NEW_PREDICTOR
```
"""


class EncodedCaptions:
    """Captions as mean states of an encoder's layers, and the counts of their words.

    Args:
        states: by layer, an array of shape ``(captions, size)``.
        tables: the counts of the captions' words.
        postings: which captions hold which words.
        encoder: the name of the encoder.
        fingerprint: the SHA-256 of its weights.
    """

    def __init__(
        self,
        states: Mapping[int, Floats],
        tables: WordTables,
        postings: Postings,
        encoder: str,
        fingerprint: str,
    ) -> None:
        self.states = {layer: np.asarray(array, np.float32) for layer, array in states.items()}
        self.tables, self.postings = tables, postings
        self.encoder, self.fingerprint = encoder, fingerprint

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
        """Encode captions; those that say the same words count once.

        Args:
            captions: the texts.
            encoder: an encoder of `AutoModel`, in evaluation mode.
            tokenizer: its tokenizer.
            layers: numbers of its layers; 0 is what the first one gets.
            progress: show a progress bar.

        Raises:
            PredictorError: no caption is left, or the encoder has no such layer.
        """
        from pqpp_models.text.encoder.encoding import layer_means
        from pqpp_models.text.encoder.pretrained import check_layers, weights_sha256

        texts = distinct(captions)
        check_layers(encoder, layers)
        states = layer_means(encoder, tokenizer, texts, layers, progress=progress)
        # As they are when they come back from a file.
        states = {layer: array.astype(np.float16) for layer, array in states.items()}
        name = Path(str(encoder.config.name_or_path)).name or encoder.config.model_type
        tables, postings = WordTables.build(texts), Postings.build(texts)
        return cls(states, tables, postings, name, weights_sha256(encoder))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> Path:
        """Write the collection to a folder, whole or not at all.

        Args:
            folder: a new folder, an empty one, or one with an older collection.

        Returns:
            The folder.

        Raises:
            CheckpointError: the folder holds other things.
        """
        layers = list(self.states)
        config = {
            "predictor_type": KIND,
            "captions": len(self),
            "layers": layers,
            "encoder": self.encoder,
            "encoder_sha256": self.fingerprint,
        }
        tensors: Tensors = {"words.counts": self.tables.counts, "words.pairs": self.tables.pairs}
        tensors |= {f"states.{k}": v.astype(np.float16) for k, v in self.states.items()}
        tensors |= pack_postings(self.postings)
        card = _CARD.format(
            size=len(self), layers=", ".join(map(str, layers)), encoder=self.encoder
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
                f"{place} holds a predictor of type {config['predictor_type']!r}, not a "
                "collection; make one by pqpp collection build"
            )
        tensors = read_tensors(place, config)
        try:
            states = {layer: tensors[f"states.{layer}"] for layer in config["layers"]}
            size = config["captions"]
            if not states or any(array.shape[:1] != (size,) for array in states.values()):
                raise ValueError("the numbers of captions differ")
            if not all(np.isfinite(array).all() for array in states.values()):
                raise ValueError("some states are not finite")
            tables = WordTables(tensors["words.counts"], tensors["words.pairs"], size)
            postings = unpack_postings(tensors)
            if postings is None or len(postings.keys) != size:
                raise ValueError("the words' captions are missing")
            return cls(states, tables, postings, config["encoder"], config["encoder_sha256"])
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{place} holds no usable collection ({type(error).__name__}: {error}); build it "
                "again"
            ) from None


def distinct(captions: Iterable[str]) -> list[str]:
    """Return the captions with words, once each, in order.

    Raises:
        PredictorError: there is none.

    >>> distinct(["A cat.", "", "a cat", "Two dogs"])
    ['A cat.', 'Two dogs']
    """
    kept: dict[tuple[str, ...], str] = {}
    for caption in captions:
        if words := tuple(words_of(caption)):
            kept.setdefault(words, caption)
    if not kept:
        raise PredictorError("no caption with words came; give a file with one a line or a row")
    return list(kept.values())


def with_collection(predictor: Predictor, captions: EncodedCaptions) -> TextEnsemblePredictor:
    """Return a text ensemble whose collection is another one.

    The labelled captions, those of its training prompts, stay; the others and the counts of words
    are replaced. Densities grow with a collection, so one about as large as the old one keeps
    predictions comparable.

    Args:
        predictor: the text ensemble, which stays as it is.
        captions: the new collection, of the same encoder.

    Raises:
        PredictorError: the predictor has no collection to replace, or the encoders differ.
    """
    encoder, layers = encoder_of(predictor)
    from pqpp_models.text.encoder.pretrained import weights_sha256

    lacking = [layer for layer in layers if layer not in captions.states]
    if lacking or captions.fingerprint != weights_sha256(encoder):
        what = f"lacks layer {lacking[0]}" if lacking else "is of another encoder's weights"
        raise PredictorError(
            f"the collection ({captions.encoder}) {what}; build it with --predictor and this folder"
        )
    from pqpp_models.text.text_ensemble.model import CollectionModel
    from pqpp_models.text.text_ensemble.predictor import TextEnsemblePredictor

    old = predictor.model
    collection = _beside_labelled(old.collection, captions.states)
    postings = None
    if old.postings is not None:
        postings = _postings_beside_labelled(old.postings, captions.postings, collection.labelled)
    model = CollectionModel(
        collection,
        captions.tables,
        old.labels,
        old.features,
        old.inputs,
        old.ridge,
        old.networks,
        postings,
    )
    own = {"captions": len(captions), "encoder": captions.encoder}
    return TextEnsemblePredictor(
        predictor.tokenizer,
        predictor.encoder,
        predictor.tuned,
        model,
        predictor.calibration,
        predictor.targets,
        {**predictor.details, "own_collection": own},
        predictor.outside,
    )


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
    model = getattr(predictor, "model", None)
    collection = getattr(model, "collection", None)
    if not isinstance(collection, Collection):
        raise PredictorError(
            f"{predictor.name} has no collection that can be replaced: what it knows of one is "
            "part of its weights; use a text_ensemble (training/train_text_ensemble.py)"
        )
    return predictor.encoder, list(collection.vectors)


def _beside_labelled(old: Collection, states: Mapping[int, Floats]) -> Collection:
    """Put captions behind the labelled ones, without those that are a labelled one again."""
    count = old.labelled
    labelled = {layer: array[:count] for layer, array in old.vectors.items()}
    added = old.project({layer: states[layer] for layer in labelled})
    last = max(labelled)
    known, rows = labelled[last], added[last]
    starts = range(0, len(rows), _CHUNK)
    new = [(rows[i : i + _CHUNK] @ known.T).max(axis=1, initial=-1) < SAME for i in starts]
    kept = np.concatenate(new)
    vectors = {k: np.concatenate([labelled[k], added[k][kept]]) for k in labelled}
    return Collection(vectors, old.means, count, old.search)


def _postings_beside_labelled(old: Postings, new: Postings, count: int) -> Postings:
    """Put the words of captions behind those of the labelled ones."""
    words = [np.repeat(one.words, np.diff(one.starts)) for one in (old, new)]
    kept = old.captions < count
    pairs = np.concatenate(
        [
            np.column_stack([words[0][kept], old.captions[kept]]),
            np.column_stack([words[1], new.captions + np.uint32(count)]),
        ]
    )
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    distinct_words, sizes = np.unique(pairs[:, 0], return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    keys = np.concatenate([old.keys[:count], new.keys])
    return Postings(distinct_words, starts, pairs[:, 1].copy(), keys)
