"""A predictor's space in two dimensions: t-SNE as in the PQPP paper (Figure 8), or UMAP."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_files.extras import needing
from pqpp_models.errors import PredictorError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {"tsne": "t-SNE", "umap": "UMAP"}
METHODS = tuple(TITLES)
_MODULES = {"tsne": "sklearn.manifold", "umap": "umap"}
SEED = 0
_PERPLEXITY = _NEIGHBOURS = 30


class Projection(NamedTuple):
    """A space in two dimensions.

    Attributes:
        points: shape ``(rows, 2)``; axes and distances between far points mean nothing.
        method: a key of `TITLES`.
    """

    points: NDArray[np.float64]
    method: str


def project(points: ArrayLike, method: str | None = None, seed: int = SEED) -> Projection:
    """Return points in two dimensions such that neighbours stay neighbours.

    Args:
        points: shape ``(rows, size)``.
        method: ``tsne`` or ``umap``; t-SNE if left out.
        seed: of what is random; the same seed gives the same picture.

    Returns:
        The points, and which method was used.

    Raises:
        PredictorError: the method is unknown, or there are fewer than five rows.
        MissingExtraError: scikit-learn, or umap-learn, is not installed.

    >>> project(np.eye(6)).points.shape
    (6, 2)
    """
    array = np.asarray(points, dtype=np.float32)
    method = method or METHODS[0]
    if method not in METHODS:
        raise PredictorError(f"projection {method!r} is unknown; use {' or '.join(METHODS)}")
    if array.ndim != 2 or len(array) < 5:
        raise PredictorError(f"points have shape {array.shape}; five rows are the least")
    require_method(method)
    found = _tsne(array, seed) if method == "tsne" else _umap(array, seed)
    return Projection(found.astype(np.float64), method)


def require_method(method: str) -> None:
    """Say at once where the package of a method is missing.

    Raises:
        MissingExtraError: scikit-learn, or umap-learn, is not installed.
    """
    with needing(f"{TITLES[method]} (see --projection)", "plots"):
        importlib.import_module(_MODULES[method])


def _tsne(points: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    from sklearn.manifold import TSNE

    perplexity = min(_PERPLEXITY, (len(points) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(points)


def _umap(points: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    from umap import UMAP

    neighbours = min(_NEIGHBOURS, len(points) - 1)
    start = "spectral" if len(points) > 12 else "random"
    with warnings.catch_warnings():  # a fixed seed means one thread, which UMAP warns of
        warnings.simplefilter("ignore")
        model = UMAP(n_neighbors=neighbours, init=start, random_state=seed, n_jobs=1)
        return model.fit_transform(points)


def space_figure(
    name: str,
    space: Projection,
    colours: Mapping[str, Sequence[tuple[str, Sequence[float | None]]]],
) -> Figure:
    """Return a matplotlib figure: the space once a column, coloured by performance.

    Args:
        name: The predictor's name.
        space: What `project` returned.
        colours: Target to pairs of a word and one value a point, None where there is none; each
            pair is a panel, and the panels of a target share their scale of colours.
    """
    from matplotlib.figure import Figure

    columns, lines = len(colours), max(len(pairs) for pairs in colours.values())
    figure = Figure(figsize=(3.6 * columns, 2.9 * lines), layout="constrained", dpi=110)
    panels = figure.subplots(lines, columns, squeeze=False)
    for column, (target, pairs) in enumerate(colours.items()):
        values = [np.array([np.nan if v is None else v for v in some], float) for _, some in pairs]
        # The outermost hundredths take the ends of the scale, so that a few don't use it all up.
        low, high = np.nanquantile(np.concatenate(values), [0.01, 0.99])
        for panel, (word, _), one in zip(panels[:, column], pairs, values, strict=True):
            known = ~np.isnan(one)
            x, y = space.points[known].T
            drawn = panel.scatter(
                x, y, c=one[known], s=5, linewidths=0, cmap="viridis", vmin=low, vmax=high
            )
            panel.set_title(f"{target}, {word}", fontsize=9)
            panel.set_xticks([])
            panel.set_yticks([])
            figure.colorbar(drawn, ax=panel, shrink=0.8).ax.tick_params(labelsize=7)
    figure.suptitle(f"{name}, by {TITLES[space.method]}")
    return figure
