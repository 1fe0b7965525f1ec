"""The stored form of a `CollectionModel`: named arrays in a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.errors import CheckpointError
from pqpp_models.text.collection import Collection
from pqpp_models.text.collection_scope import Postings
from pqpp_models.text.text_ensemble.model import CollectionModel, KernelRidge, Scaling
from pqpp_models.text.words import WordTables

Arrays = dict[str, NDArray[Any]]
_POSTINGS = ("words", "starts", "captions", "keys")


def pack_model(model: CollectionModel) -> tuple[dict[str, Any], Arrays]:
    """Return a model as a small description and named arrays.

    The vectors of the collection are rounded to sixteen bits. The kernel's points are not stored
    where they are vectors of the collection anyway.
    """
    arrays: Arrays = {
        "words.counts": model.tables.counts,
        "words.pairs": model.tables.pairs,
        "labels": model.labels,
        "features.mean": model.features.mean,
        "features.deviation": model.features.deviation,
        "ridge.points": model.ridge.points["features"].astype(np.float16),
        "ridge.coefficients": model.ridge.coefficients,
        "ridge.offset": model.ridge.offset,
    }
    for layer, vectors in model.collection.vectors.items():
        arrays[f"collection.{layer}"] = vectors.astype(np.float16)
        arrays[f"collection.{layer}.mean"] = model.collection.means[layer]
    for layer, scaling in model.inputs.items():
        arrays[f"inputs.{layer}.mean"] = scaling.mean
        arrays[f"inputs.{layer}.deviation"] = scaling.deviation
    if model.postings is not None:
        arrays |= pack_postings(model.postings)
    for number, layers in enumerate(model.networks):
        for depth, (weight, bias) in enumerate(layers):
            arrays[f"networks.{number}.{depth}.weight"] = weight
            arrays[f"networks.{number}.{depth}.bias"] = bias
    description = {
        "captions": model.tables.size,
        "labelled": model.collection.labelled,
        "layers": list(model.collection.vectors),
        "input_layers": list(model.inputs),
        "networks": len(model.networks),
        "depth": len(model.networks[0]),
        "kernel_weights": dict(model.ridge.weights),
        "kernel_widths": dict(model.ridge.widths),
    }
    return description, arrays


def unpack_model(where: str, description: Mapping[str, Any], arrays: Arrays) -> CollectionModel:
    """Return the model that `pack_model` packed.

    Args:
        where: the folder, for the message.
        description: the first of what was packed.
        arrays: the second.

    Raises:
        CheckpointError: something is missing or does not fit.
    """
    try:
        model = _unpack(description, arrays)
        width = model.ridge.points["features"].shape[1]
        fits = len(model.features.mean) == width and len(model.labels) == model.collection.labelled
        finite = all(np.isfinite(one).all() for one in arrays.values() if one.dtype.kind == "f")
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(
            f"{where} holds no usable collection model ({type(error).__name__}: {error}); save or "
            "download the predictor again"
        ) from None
    if not fits or not finite:
        raise CheckpointError(
            f"{where} holds arrays that do not fit each other or are not finite; save or download "
            "the predictor again"
        )
    return model


def _unpack(description: Mapping[str, Any], arrays: Arrays) -> CollectionModel:
    layers, labelled = description["layers"], description["labelled"]
    collection = Collection(
        {layer: arrays[f"collection.{layer}"] for layer in layers},
        {layer: arrays[f"collection.{layer}.mean"] for layer in layers},
        labelled,
    )
    points = {
        str(layer): collection.vectors[layer][:labelled] for layer in description["input_layers"]
    }
    points["features"] = arrays["ridge.points"].astype(np.float32)
    ridge = KernelRidge(
        description["kernel_weights"],
        description["kernel_widths"],
        points,
        arrays["ridge.coefficients"],
        arrays["ridge.offset"],
    )
    inputs = {
        layer: Scaling(arrays[f"inputs.{layer}.mean"], arrays[f"inputs.{layer}.deviation"])
        for layer in description["input_layers"]
    }
    networks = [
        [
            (arrays[f"networks.{number}.{depth}.weight"], arrays[f"networks.{number}.{depth}.bias"])
            for depth in range(description["depth"])
        ]
        for number in range(description["networks"])
    ]
    return CollectionModel(
        collection,
        WordTables(arrays["words.counts"], arrays["words.pairs"], description["captions"]),
        arrays["labels"],
        Scaling(arrays["features.mean"], arrays["features.deviation"]),
        inputs,
        ridge,
        networks,
        unpack_postings(arrays),
    )


def pack_postings(postings: Postings) -> Arrays:
    """Return postings as named arrays."""
    return {f"postings.{name}": getattr(postings, name) for name in _POSTINGS}


def unpack_postings(arrays: Mapping[str, NDArray[Any]]) -> Postings | None:
    """Return the postings among named arrays, if they are there.

    Raises:
        KeyError, ValueError: some are missing, or they do not fit each other.
    """
    if f"postings.{_POSTINGS[0]}" not in arrays:
        return None
    return Postings(*(arrays[f"postings.{name}"] for name in _POSTINGS))
