"""Distinct prompts from a large collection of captions: cluster their embeddings, keep the nearest.

Source: PQPP paper, section 3 ("Prompt selection"): sentence embeddings, k-means with k-means++
initialisation, and of each cluster the caption nearest to its centre.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.errors import FileError
from pqpp_files.extras import needing
from pqpp_files.foreign.arrays import load_array
from pqpp_hub.pull import cached_if_unreachable
from pqpp_hub.reasons import reason_behind

_ITERATIONS = 10
_MOST_DRAWN = 256
_ROWS_AT_A_TIME = 8192
_LARGEST = 1e15  # squares of larger ones, summed, leave single precision
# Of a squared distance by norms and product, in single precision, relative to the norms.
_LOST_DIGITS = 1e-4


def select_captions(embeddings: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Choose captions that cover a collection.

    The centres begin as an exact k-means++ sample and are moved by Lloyd's iterations (faiss); the
    caption nearest to a centre is looked for among those of its own cluster, so that none is chosen
    twice. The same seed on the same machine gives the same captions.

    Args:
        embeddings: Shape (captions, dimensions), finite numbers.

    Returns:
        int64 (count,), the chosen rows in rising order, all different.

    Raises:
        BenchmarkError: If the count is not from 1 to the number of distinct embeddings, or the seed
            is negative.
        BenchmarkError: If the embeddings are no table of finite numbers.

    Example:
        >>> points = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> select_captions(points, 2).tolist()
        [1, 4]
    """
    usable = (np.abs(embeddings) <= _LARGEST).all(axis=1)  # nor is NaN
    if not usable.all():
        row = int(np.argmin(usable))
        raise BenchmarkError(f"embeddings, row {row}: a value is not finite or beyond {_LARGEST:g}")
    require_selectable(len(embeddings), count, seed)
    points = np.ascontiguousarray(embeddings, dtype=np.float32)
    # Distances to far-off points lose digits in single precision; a shift changes no distance.
    points = points - points.mean(axis=0)
    centres = points[sample_centres(points, count, np.random.default_rng(seed))]
    # A dozen points a centre are what is asked for here: no sub-sampling, no warning.
    limits = {"min_points_per_centroid": 1, "max_points_per_centroid": len(points)}
    kmeans = require_faiss().Kmeans(
        points.shape[1], len(centres), niter=_ITERATIONS, seed=0, **limits
    )
    kmeans.train(points, init_centroids=centres)
    return np.sort(_nearest_of_each(points, kmeans.centroids))


def require_selectable(captions: int, count: int, seed: int = 0) -> None:
    """Refuse a choice that cannot be made, before minutes of embedding.

    Example:
        >>> require_selectable(10, 11)
        Traceback (most recent call last):
        pqpp_datasets.errors.BenchmarkError: count=11: give 1 to 10, the number of captions
    """
    if not 1 <= count <= captions:
        raise BenchmarkError(f"count={count}: give 1 to {captions}, the number of captions")
    if seed < 0:
        raise BenchmarkError(f"seed={seed}: give 0 or more")


def sample_centres(points: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Draw the initial centres of k-means++ (Arthur and Vassilvitskii 2007), exactly.

    k-means++ draws one point at a time with a chance in proportion to its squared distance to the
    nearest centre so far, a pass over the points for each. Here many are drawn at once by the
    distances at hand, and each is taken with the chance (its distance by now / its distance when it
    was drawn): rejection sampling of the very same distribution, in a fraction of the passes.

    Args:
        points: float32 (points, dimensions).

    Returns:
        int64 (count,), the rows drawn, all different.

    Raises:
        BenchmarkError: If there are fewer distinct points.
    """
    norms = np.einsum("ij,ij->i", points, points)
    chosen = [int(generator.integers(len(points)))]
    distance = _squared(points, norms, chosen)
    while len(chosen) < count:
        cumulative = np.cumsum(distance, dtype=np.float64)
        if cumulative[-1] <= 0:
            raise BenchmarkError(f"count={count}: only {len(chosen)} embeddings are distinct")
        # While there are few centres each new one changes the distances a lot.
        size = min(_MOST_DRAWN, 1 + len(chosen) // 4)
        drawn = np.searchsorted(cumulative, generator.random(size) * cumulative[-1], side="right")
        drawn = np.minimum(drawn, len(points) - 1)
        near, now, chances = points[drawn], distance[drawn], generator.random(len(drawn))
        new: list[int] = []
        for position, row in enumerate(drawn):
            if chances[position] * distance[row] < now[position]:
                new.append(int(row))
                np.minimum(now, _exactly(near, near[position]), out=now)
        new = new[: count - len(chosen)]
        chosen += new
        np.minimum(distance, _squared(points, norms, new), out=distance)
        distance[new] = 0
    return np.array(chosen, dtype=np.int64)


def _squared(points, norms, rows) -> np.ndarray:
    """Squared distance of each point to the nearest of some rows of the same table."""
    nearest = np.empty(len(points), np.float32)
    targets, target_norms = points[rows], norms[rows]
    for start in range(0, len(points), _ROWS_AT_A_TIME):
        part = slice(start, start + _ROWS_AT_A_TIME)
        squared = norms[part, None] - 2 * points[part] @ targets.T + target_norms
        which = squared.argmin(axis=1)
        chosen = np.take_along_axis(squared, which[:, None], axis=1)[:, 0]
        # The quick formula has lost its digits here, and a double must be at a distance of 0.
        close = np.flatnonzero(chosen <= _LOST_DIGITS * (norms[part] + target_norms[which]))
        chosen[close] = _exactly(points[part][close], targets[which[close]])
        nearest[part] = chosen
    return nearest


def _exactly(points, others) -> np.ndarray:
    difference = points - others
    return np.einsum("ij,ij->i", difference, difference)


def _nearest_of_each(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the row nearest to each centre, of its own cluster, and as many rows as centres."""
    faiss = require_faiss()
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(centres)
    distance, cluster = (columns[:, 0] for columns in index.search(points, 1))
    order = np.lexsort((np.arange(len(points)), distance, cluster))
    _, first = np.unique(cluster[order], return_index=True)
    chosen = order[first]
    if len(chosen) == len(centres):
        return chosen
    # Duplicate captions can empty a cluster: the points farthest from their centres fill up.
    free = np.setdiff1d(np.arange(len(points)), chosen)
    farthest = free[np.argsort(-distance[free], kind="stable")]
    return np.r_[chosen, farthest[: len(centres) - len(chosen)]]


def require_faiss() -> ModuleType:
    """Return the module faiss, or say which extra brings it."""
    with needing("selecting", "select"):
        import faiss
    return faiss


def read_embeddings(path: str | Path, captions: int) -> np.ndarray:
    """Read embeddings, one row per caption, from a `.npy` file without objects."""
    path = Path(path)
    if not path.is_file():
        raise BenchmarkError(f"{path}: there is no such file; name the .npy of the embeddings")
    try:
        points = load_array(path)
    except FileError as error:
        raise BenchmarkError(str(error)) from None
    if points.ndim != 2 or len(points) != captions or points.dtype.kind not in "fiu":
        came = f"{points.dtype} of shape {points.shape} came"
        raise BenchmarkError(f"{path}: {came}, numbers of ({captions}, dimensions) are needed")
    return points


def embed_captions(
    captions: Sequence[str], encoder: str, batch_size: int = 256, progress: bool = False
) -> np.ndarray:
    """Return sentence embeddings: the mean of an encoder's last states, of unit length.

    Args:
        captions: Texts.
        encoder: Name or folder of a model for `transformers.AutoModel`, such as
            `sentence-transformers/all-MiniLM-L6-v2`.
        batch_size: How many at a time.
        progress: Whether to show a bar.

    Returns:
        float32 (captions, dimensions).
    """
    with needing("embedding", "models"):
        import torch
        from tqdm import tqdm
        from transformers import AutoModel, AutoTokenizer

    def means_of(texts: list[str]) -> np.ndarray:
        batch = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            states = model(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None].to(states.dtype)
        means = (states * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(means).float().numpy()

    try:
        with cached_if_unreachable(encoder):
            tokenizer = AutoTokenizer.from_pretrained(encoder, trust_remote_code=False)
            model = AutoModel.from_pretrained(
                encoder, use_safetensors=True, trust_remote_code=False
            ).eval()
        means_of(["a", "a cat"])  # what is wrong with a damaged folder may show here only
    except Exception as error:  # transformers may stumble over anything in a damaged folder
        # The first line says what is wrong; the texts of the Hub's client may hold a token.
        first = textwrap.shorten(str(error).strip().split("\n")[0], 300, placeholder=" ...")
        reason = f"it {refused}" if (refused := reason_behind(error)) else first
        raise BenchmarkError(f"encoder {encoder!r}: cannot be loaded ({reason})") from None
    # Texts of like length together leave little padding to compute.
    order = np.argsort([len(text) for text in captions], kind="stable")
    rows = np.empty((len(captions), model.config.hidden_size), np.float32)
    steps = range(0, len(captions), batch_size)
    for start in tqdm(steps, desc="embedding", disable=not progress):
        part = order[start : start + batch_size]
        rows[part] = means_of([captions[n] for n in part])
    return rows
