"""Means that are those of their parts: ``mean_hbpp`` of ``glide_hbpp`` and ``sdxl_hbpp``.

A mean that is predicted by itself contradicts the predictions that it stands for.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

_PREFIX = "mean_"
_TOLERANCE = 0.01
"""Scores that were rounded to two digits don't fit exactly: a hundredth of the mean's range."""


def parts_of_mean(mean: str, targets: Sequence[str]) -> tuple[str, ...]:
    """Return the targets whose mean another one is; none if it is no mean of two or more.

    >>> parts_of_mean("mean_hbpp", ["glide_hbpp", "sdxl_hbpp", "mean_hbpp", "clip_rr"])
    ('glide_hbpp', 'sdxl_hbpp')
    >>> parts_of_mean("mean_rr", ["clip_rr", "mean_rr"])
    ()
    """
    if not mean.startswith(_PREFIX):
        return ()
    ending = mean.removeprefix(_PREFIX[:-1])
    parts = tuple(target for target in targets if target.endswith(ending) and target != mean)
    return parts if len(parts) > 1 else ()


def means_in(targets: Sequence[str], values: ArrayLike) -> tuple[str, ...]:
    """Return the targets that are the mean of their parts in every row that has all of them.

    A mean that somebody weighted otherwise is a target of its own. So is one that no row shows.

    Args:
        targets: the names of the columns.
        values: true values, shape ``(rows, targets)``, NaN where there is none.

    >>> means_in(["a_rr", "b_rr", "mean_rr"], [[0.2, 0.4, 0.3], [1.0, 0.5, 0.75]])
    ('mean_rr',)
    >>> means_in(["a_rr", "b_rr", "mean_rr"], [[0.2, 0.4, 0.3], [1.0, 0.5, 0.9]])
    ()
    """
    array = np.asarray(values, dtype=np.float64).reshape(-1, len(targets))
    means = []
    for column, target in enumerate(targets):
        parts = [targets.index(part) for part in parts_of_mean(target, targets)]
        known = ~np.isnan(array[:, [column, *parts]]).any(axis=1)
        if not parts or not known.any():
            continue
        mean = array[known, column]
        apart = np.abs(mean - array[np.ix_(known, np.array(parts))].mean(axis=1))
        if apart.max() <= _TOLERANCE * max(np.ptp(mean), np.finfo(float).eps):
            means.append(target)
    return tuple(means)


def from_parts(
    values: NDArray[np.float64], targets: Sequence[str], means: Sequence[str]
) -> NDArray[np.float64]:
    """Return predictions in which some means are those of their parts.

    Args:
        values: shape ``(rows, targets)``.
        targets: the names of the columns.
        means: of these what is computed; those whose parts are no columns stay.

    >>> from_parts(np.array([[0.2, 0.4, 0.9]]), ["a_rr", "b_rr", "mean_rr"], ["mean_rr"]).round(9)
    array([[0.2, 0.4, 0.3]])
    """
    made = values.copy()
    for column, target in enumerate(targets):
        parts = [targets.index(part) for part in parts_of_mean(target, targets)]
        if target in means and parts:
            made[:, column] = values[:, parts].mean(axis=1)
    return made
