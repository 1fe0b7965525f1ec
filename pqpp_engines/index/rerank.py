"""Ranking candidates anew by a model that looks at text and image together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqpp_engines.index.encoders import ImageTextEncoder

CANDIDATES = 128
"""How many candidates of each query are ranked anew, as in ConQA's paper."""


def rerank(
    encoder: ImageTextEncoder,
    texts: Sequence[str],
    places: NDArray,
    image_at: Callable[[int], Any],
    batch_size: int = 64,
    shown: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> tuple[NDArray, NDArray]:
    """Rank each query's candidates by how surely text and image match.

    Each distinct image is seen once, with all texts that have it as a candidate.

    Args:
        encoder: A model that can match, as BLIP-2.
        texts: The queries.
        places: Candidates of each query, best first, int64 (queries, candidates).
        image_at: From a place to its image, as `open_image` takes it.
        batch_size: Texts at once, on a GPU.
        shown: What the images pass through, as a bar of progress.

    Returns:
        int64 and float32 (queries, candidates): places and log-odds of a match, best first; of
        equal ones that comes first which was before.

    Raises:
        IndexingError: The model cannot look at both together.
        PredictorError: An image cannot be read; it is named.
    """
    flat = places.ravel()
    order = np.argsort(flat, kind="stable")
    distinct, starts = np.unique(flat[order], return_index=True)
    scores = np.empty(len(flat), dtype=np.float32)
    groups = np.split(order, starts[1:])
    for place, cells in shown(list(zip(distinct.tolist(), groups, strict=True))):
        own = [texts[cell // places.shape[1]] for cell in cells.tolist()]
        scores[cells] = encoder.matches(image_at(place), own, batch_size)
    table = scores.reshape(places.shape)
    best = np.argsort(-table, axis=1, kind="stable")
    return np.take_along_axis(places, best, axis=1), np.take_along_axis(table, best, axis=1)
