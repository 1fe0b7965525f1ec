"""The stored form of a lexical predictor: its linear weights, and its arrays in a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.checkpoint import CONFIG, WEIGHTS, Tensors, check_tensors
from pqpp_models.errors import CheckpointError
from pqpp_models.text.lexical.features import DENSE
from pqpp_models.text.lexical.index import NgramIndex
from pqpp_models.text.lexical.ngrams import KINDS

_REMEDY = "save or download the predictor again"


@dataclass(frozen=True)
class LinearWeights:
    """The linear map from features to targets, as it is stored.

    Attributes:
        intercept: float32 ``(targets,)``, what a prompt without words gets.
        ngrams: by kind, int8 ``(weighted n-grams, targets)``.
        scales: by kind, float32 ``(targets,)``; a weight is the scale times the whole number.
        mean: float32 ``(dense features,)``, subtracted from the dense features.
        deviation: float32 ``(dense features,)``, positive; they are then divided by it.
        dense: float32 ``(dense features, targets)``.
    """

    intercept: NDArray[np.float32]
    ngrams: dict[str, NDArray[np.int8]]
    scales: dict[str, NDArray[np.float32]]
    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]
    dense: NDArray[np.float32]


def pack(index: NgramIndex, weights: LinearWeights) -> tuple[dict[str, Any], Tensors]:
    """Turn a predictor's parts into arrays to save.

    Args:
        index: the known n-grams.
        weights: the linear map.

    Returns:
        The sizes, for the configuration, and the arrays by name.
    """
    sizes = {
        "n_prompts": index.n_prompts,
        "n_known": {kind: index.n_known(kind) for kind in KINDS},
        "n_weighted": {kind: index.n_weighted(kind) for kind in KINDS},
        "dense_features": list(DENSE),
    }
    tensors: Tensors = {
        "word.text": _text_to_bytes(index.words),
        "chars.text": _text_to_bytes(index.chars),
        "intercept": weights.intercept,
        "dense.mean": weights.mean,
        "dense.deviation": weights.deviation,
        "dense.weights": weights.dense,
    }
    for kind in KINDS:
        tensors[f"{kind}.frequency"] = index.frequencies[kind].astype(np.uint16)
        tensors[f"{kind}.weights"] = weights.ngrams[kind]
        tensors[f"{kind}.scale"] = weights.scales[kind]
    for kind, keys in index.keys.items():
        tensors[f"{kind}.keys"] = keys.astype(_key_type(len(index.words)))
    return sizes, tensors


def unpack(
    folder: Path, sizes: Mapping[str, Any], tensors: Tensors, n_targets: int
) -> tuple[NgramIndex, LinearWeights]:
    """Turn saved arrays into a predictor's parts, and check that they fit.

    Args:
        folder: where they came from, for messages.
        sizes: the configuration's ``index``, as ``pack`` returned it.
        tensors: the arrays by name.
        n_targets: how many targets the predictor has.

    Raises:
        CheckpointError: sizes are not as expected, or arrays do not fit them.
    """
    n_prompts, known, weighted = _read_sizes(folder, sizes)
    check_tensors(folder, tensors, _expected(known, weighted, n_targets, tensors))
    _check_values(folder, tensors, n_prompts, known["word"])
    index = NgramIndex(
        n_prompts,
        _bytes_to_text(folder, tensors, "word", known),
        _bytes_to_text(folder, tensors, "chars", known),
        {kind: tensors[f"{kind}.keys"].astype(np.int64) for kind in ("bigram", "pair")},
        {kind: tensors[f"{kind}.frequency"].astype(np.int64) for kind in KINDS},
    )
    weights = LinearWeights(
        tensors["intercept"],
        {kind: tensors[f"{kind}.weights"] for kind in KINDS},
        {kind: tensors[f"{kind}.scale"] for kind in KINDS},
        tensors["dense.mean"],
        tensors["dense.deviation"],
        tensors["dense.weights"],
    )
    return index, weights


def _read_sizes(
    folder: Path, sizes: Mapping[str, Any]
) -> tuple[int, dict[str, int], dict[str, int]]:
    try:
        n_prompts = sizes["n_prompts"]
        known = {kind: sizes["n_known"][kind] for kind in KINDS}
        weighted = {kind: sizes["n_weighted"][kind] for kind in KINDS}
        dense = list(sizes["dense_features"])
    except (KeyError, TypeError):
        raise CheckpointError(f"{folder / CONFIG} lacks sizes under 'index'; {_REMEDY}") from None
    numbers = [n_prompts, *known.values(), *weighted.values()]
    whole = all(type(number) is int and number >= 0 for number in numbers)
    if not whole or any(weighted[kind] > known[kind] for kind in KINDS):
        raise CheckpointError(f"{folder / CONFIG} has impossible sizes under 'index'; {_REMEDY}")
    if dense != list(DENSE):
        raise CheckpointError(
            f"{folder / CONFIG} names other dense features than this version of pqpp computes; "
            "train the predictor again, or install the version that it was made with"
        )
    return n_prompts, known, weighted


def _expected(
    known: Mapping[str, int], weighted: Mapping[str, int], n_targets: int, tensors: Tensors
) -> dict[str, tuple[str, tuple[int, ...]]]:
    n_dense = len(DENSE)
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "intercept": ("float32", (n_targets,)),
        "dense.mean": ("float32", (n_dense,)),
        "dense.deviation": ("float32", (n_dense,)),
        "dense.weights": ("float32", (n_dense, n_targets)),
    }
    for kind in KINDS:
        expected[f"{kind}.frequency"] = ("uint16", (weighted[kind],))
        expected[f"{kind}.weights"] = ("int8", (weighted[kind], n_targets))
        expected[f"{kind}.scale"] = ("float32", (n_targets,))
    for kind in ("bigram", "pair"):
        expected[f"{kind}.keys"] = (_key_type(known["word"]), (known[kind],))
    for kind in ("word", "chars"):
        name = f"{kind}.text"
        # A text may have any length; its number of lines is checked when it is read.
        expected[name] = ("uint8", (tensors[name].size,) if name in tensors else ())
    return expected


def _check_values(folder: Path, tensors: Tensors, n_prompts: int, n_words: int) -> None:
    frequencies = np.concatenate([tensors[f"{kind}.frequency"] for kind in KINDS])
    keys = np.concatenate([tensors[f"{kind}.keys"] for kind in ("bigram", "pair")])
    if (
        (frequencies > n_prompts).any()
        or (keys.astype(np.int64) >= n_words**2).any()
        or (tensors["dense.deviation"] <= 0).any()
    ):
        raise CheckpointError(f"{folder / WEIGHTS} holds impossible values; {_REMEDY}")


def _key_type(n_words: int) -> str:
    return "uint32" if n_words <= 1 << 16 else "uint64"


# No n-gram holds a line break. Lone surrogates, which Python strings may hold, are kept.
def _text_to_bytes(entries: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(entries).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _bytes_to_text(
    folder: Path, tensors: Tensors, kind: str, known: Mapping[str, int]
) -> list[str]:
    try:
        text = tensors[f"{kind}.text"].tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise CheckpointError(f"{folder / WEIGHTS}: {kind!r} is no text; {_REMEDY}") from None
    entries = text.split("\n") if text else []
    if len(set(entries)) != known[kind]:
        raise CheckpointError(
            f"{folder / WEIGHTS} holds {len(set(entries))} {kind} n-grams, but {CONFIG} asks for "
            f"{known[kind]}; {_REMEDY}"
        )
    return entries
