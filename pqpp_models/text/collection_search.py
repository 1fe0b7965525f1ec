"""The nearest captions of a large collection, by faiss: the same as numpy finds, but sooner."""

from __future__ import annotations

import importlib.util

import numpy as np

from pqpp_models.errors import MissingResourceError
from pqpp_models.text.collection import LARGE, SAME, Floats

_SPARE = 24


def uses_faiss(search: str, size: int) -> bool:
    """Tell whether the nearest captions are looked up by faiss.

    Args:
        search: one of `SEARCHES`.
        size: the number of captions.

    Raises:
        MissingResourceError: faiss was asked for and is not installed.

    >>> uses_faiss("numpy", 1_000_000), uses_faiss("auto", 100)
    (False, False)
    """
    if search == "numpy" or (search == "auto" and size < LARGE):
        return False
    if importlib.util.find_spec("faiss") is not None:
        return True
    if search == "auto":
        return False
    raise MissingResourceError(
        "the search 'faiss' needs faiss; install pqpp[collection], or search by 'numpy'"
    )


def nearest(rows: Floats, known: Floats, most: int) -> Floats:
    """Return the similarities of the captions nearest to some prompts, the largest first.

    Args:
        rows: unit vectors of the prompts.
        known: unit vectors of the captions.
        most: how many captions a prompt; all if there are fewer.

    Returns:
        An array of shape ``(rows, at most most)``; a caption that is the prompt itself counts as
        -1 and comes last, as in `pqpp_models.text.collection.similarities`.
    """
    import faiss

    size, most = len(known), min(most, len(known))
    if not len(rows):
        return np.empty((0, most), np.float32)
    wanted = min(size, most + _SPARE)
    while True:
        found, _ = faiss.knn(
            np.ascontiguousarray(rows), known, wanted, metric=faiss.METRIC_INNER_PRODUCT
        )
        same = found >= SAME
        # Where more captions say just the same, those behind them have to be seen too.
        if wanted == size or (same.sum(axis=1) <= wanted - most).all():
            break
        wanted = min(size, 2 * wanted)
    found[same] = -1
    return -np.sort(-found, axis=1)[:, :most]
