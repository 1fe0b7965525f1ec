"""The captions nearest to a prompt: how dense and how coherent they are, and their labels.

All vectors have length one. Coherence is how alike the captions nearest to a query are to each
other (He et al., 2008).
"""

import importlib.util

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.arrays import Singles, chunks
from pqpp_models.text.calibration import SAME

NEIGHBOURS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)
THRESHOLDS = (0.3, 0.36, 0.42, 0.48, 0.54, 0.6, 0.66, 0.72, 0.78)
WIDTHS = (0.03, 0.06, 0.12)
COHERENCE_NEIGHBOURS = (5, 10, 20, 50, 100)
LABEL_NEIGHBOURS = (3, 10, 30)
LABEL_WIDTH = 0.08
COUNTED = 1000
"""How many of the nearest captions enter a density."""
LARGE = 40_000
"""From so many captions on, faiss finds the nearest ones faster than numpy, in less memory."""

_CENTRE_NEIGHBOURS = 20
_SPARE = 24


def similarities(rows: Singles, known: Singles) -> Singles:
    """Return cosines of unit vectors; -1 where a known vector is the row itself."""
    similarity = rows @ known.T
    similarity[similarity >= SAME] = -1
    return similarity


def uses_faiss(size: int) -> bool:
    """Tell whether the nearest of so many captions are looked up by faiss, which must be there.

    >>> uses_faiss(100)
    False
    """
    return size >= LARGE and importlib.util.find_spec("faiss") is not None


def nearest_by_faiss(rows: Singles, known: Singles, most: int) -> Singles:
    """Return the similarities of at most so many nearest captions, the largest first.

    A caption that is the prompt itself counts as -1 and comes last, as in `similarities`.
    """
    import faiss

    size, most = len(known), min(most, len(known))
    if not len(rows):
        return np.empty((0, most), np.float32)
    wanted = min(size, most + _SPARE)
    while True:
        near, _ = faiss.knn(
            np.ascontiguousarray(rows), known, wanted, metric=faiss.METRIC_INNER_PRODUCT
        )
        same = near >= SAME
        # Where more captions say just the same, those behind them have to be seen too.
        if wanted == size or (same.sum(axis=1) <= wanted - most).all():
            break
        wanted = min(size, 2 * wanted)
    near[same] = -1
    return -np.sort(-near, axis=1)[:, :most]


def density_features(rows: Singles, known: Singles, labelled: int) -> Singles:
    """Return `density` of the labelled captions, which come first, and of all, side by side."""
    large, blocks = uses_faiss(len(known)), []
    for part in chunks(rows):
        similarity = similarities(part, known[:labelled] if large else known)
        of_all = summarise(nearest_by_faiss(part, known, COUNTED)) if large else density(similarity)
        groups = [density(similarity[:, :labelled]), of_all] if labelled else [of_all]
        blocks.append(np.concatenate(groups, axis=1))
    return np.concatenate(blocks)


def density(similarity: Singles) -> Singles:
    """Summarise similarities, one row a prompt, by those of the nearest captions.

    >>> density(np.array([[1.0, 0.5, -1.0]], np.float32))[0, :3].tolist()
    [1.0, 0.75, 0.5]
    """
    most = min(COUNTED, similarity.shape[1])
    return summarise(-np.partition(-similarity, most - 1, axis=1)[:, :most])


def summarise(near: Singles) -> Singles:
    """Summarise the similarities of the nearest captions, one row a prompt, in any order.

    The mean similarity of the `NEIGHBOURS` nearest, log counts above `THRESHOLDS`, and logs of
    sums of a growing function of the similarity, for `WIDTHS`.
    """
    nearest = -np.sort(-near, axis=1)[:, : max(NEIGHBOURS)]
    # In a small collection, what was left out as the prompt itself comes last and counts as 0.
    sums = np.cumsum(np.maximum(nearest, 0), axis=1)
    ranks = [min(k, nearest.shape[1]) for k in NEIGHBOURS]
    columns = [sums[:, k - 1] / k for k in ranks]
    columns += [np.log1p((near > threshold).sum(axis=1)) for threshold in THRESHOLDS]
    columns += [np.log(np.exp((near - 0.5) / width).sum(axis=1) + 1e-6) for width in WIDTHS]
    return np.stack(columns, axis=1).astype(np.float32)


def neighbour_labels(rows: Singles, known: Singles, labels: Singles) -> Singles:
    """Return the labels, of shape ``(captions, targets)``, of the nearest captions, averaged."""
    blocks = []
    for part in chunks(rows):
        index, values = _nearest(part, known, max(LABEL_NEIGHBOURS))
        means = []
        for k in LABEL_NEIGHBOURS:
            weights = np.exp((values[:, :k] - values[:, :1]) / LABEL_WIDTH)
            weights /= weights.sum(axis=1, keepdims=True)
            means.append(np.einsum("nk,nkt->nt", weights, labels[index[:, :k]]))
        blocks.append(np.concatenate(means, axis=1))
    return np.concatenate(blocks).astype(np.float32)


def coherence_features(rows: Singles, known: Singles) -> Singles:
    """Return how alike the captions nearest to some prompts are to each other.

    For each of `COHERENCE_NEIGHBOURS`, the mean cosine between two of them and the deviation of
    their cosines to the prompt; last, how far their mean is from the origin. Captions that are the
    prompt itself are left out.

    >>> known = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    >>> features = coherence_features(np.array([[0.6, 0.8, 0.0]], np.float32), known)
    >>> round(3 * float(features[0, 0]), 4)
    1.0
    """
    blocks = []
    for part in chunks(rows, 256):
        index, values = _nearest(part, known, max(COHERENCE_NEIGHBOURS))
        # What was left out as the prompt itself has the least value, so it comes last.
        present = np.maximum((values > -1).sum(axis=1), 1)
        # The sum over all pairs is the squared length of the sum of the vectors.
        sums, each = np.cumsum(known[index], axis=1), np.arange(len(values))
        columns = []
        for k in COHERENCE_NEIGHBOURS:
            count = np.minimum(k, present)
            total = sums[each, count - 1]
            pairs = np.einsum("nd,nd->n", total, total) - count
            counted = np.arange(values.shape[1]) < count[:, None]
            deviation = values.std(axis=1, where=counted)
            columns += [pairs / np.maximum(count * (count - 1), 1), deviation]
        centre = np.minimum(_CENTRE_NEIGHBOURS, present)
        columns.append(np.linalg.norm(sums[each, centre - 1] / centre[:, None], axis=1))
        blocks.append(np.stack(columns, axis=1))
    return np.concatenate(blocks).astype(np.float32)


def _nearest(rows: Singles, known: Singles, most: int) -> tuple[NDArray[np.int64], Singles]:
    """Return numbers and similarities of the nearest captions, the most similar first."""
    similarity = similarities(rows, known)
    most = min(most, len(known))
    index = np.argpartition(-similarity, most - 1, axis=1)[:, :most]
    values = np.take_along_axis(similarity, index, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(values, order, axis=1)
