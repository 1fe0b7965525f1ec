"""The nine performance values that predictors predict, with their ranges.

A target's name is the same in the datasets, the predictors, the command line and the tables.

=========== ======== =================================================================
name ending range    what it is
=========== ======== =================================================================
``hbpp``    -1 .. 2  human-based prompt performance: how well annotators judged the
                     images generated for a prompt (PQPP, section 3.1)
``p10``     0 .. 1   precision among the ten images retrieved first for a query
``rr``      0 .. 1   reciprocal of the rank of the first relevant image
=========== ======== =================================================================

The beginning of a name is the generation or retrieval model, or ``mean`` for the average of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_files.names import comma_separated, did_you_mean
from pqpp_models.errors import UnknownTargetError

TARGETS: tuple[str, ...] = (
    "glide_hbpp",
    "sdxl_hbpp",
    "mean_hbpp",
    "clip_p10",
    "blip2_p10",
    "mean_p10",
    "clip_rr",
    "blip2_rr",
    "mean_rr",
)

_RANGES = {"hbpp": (-1.0, 2.0), "p10": (0.0, 1.0), "rr": (0.0, 1.0), "rate": (0.0, 1.0)}


def target_range(target: str) -> tuple[float, float]:
    """Return the lowest and the highest value that a target can take.

    Args:
        target: one of ``TARGETS``.

    Returns:
        The closed range, in the target's own units.

    Raises:
        UnknownTargetError: the name is not one of ``TARGETS``.

    >>> target_range("sdxl_hbpp")
    (-1.0, 2.0)
    """
    (name,) = resolve_targets([target])
    return _RANGES[name.rsplit("_", 1)[1]]


def known_range(target: str) -> tuple[float, float] | None:
    """Return the range of a target of any benchmark by what its name ends in, None if unknown.

    >>> known_range("flux_hbpp"), known_range("match_rate"), known_range("mean_rating")
    ((-1.0, 2.0), (0.0, 1.0), None)
    """
    return _RANGES.get(target.rsplit("_", 1)[-1])


def target_limits(targets: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and the upper limits of several targets, as two arrays to clip with.

    >>> low, high = target_limits(["mean_hbpp", "mean_rr"])
    >>> low.tolist(), high.tolist()
    ([-1.0, 0.0], [2.0, 1.0])
    """
    ranges = np.array([target_range(target) for target in targets], dtype=np.float64)
    ranges = ranges.reshape(len(targets), 2)
    return ranges[:, 0].copy(), ranges[:, 1].copy()


def scale_targets(values: ArrayLike, targets: Sequence[str] = TARGETS) -> NDArray[np.float64]:
    """Map values from the targets' own units to 0 .. 1, as the paper does before training.

    HBPP becomes ``(s + 1) / 3``; P@10 and RR stay as they are.

    Args:
        values: shape ``(..., len(targets))``; NaN (no value) stays NaN.
        targets: the targets of the last axis.

    Returns:
        An array of the same shape.

    Raises:
        ValueError: the last axis does not have one value a target.

    >>> scale_targets([[2.0, 0.5]], ["mean_hbpp", "mean_rr"]).tolist()
    [[1.0, 0.5]]
    """
    array = _one_value_a_target(values, targets)
    low, high = target_limits(targets)
    return (array - low) / (high - low)


def unscale_targets(values: ArrayLike, targets: Sequence[str] = TARGETS) -> NDArray[np.float64]:
    """Map values from 0 .. 1 back to the targets' own units: the inverse of ``scale_targets``.

    >>> unscale_targets([[1.0, 0.5]], ["mean_hbpp", "mean_rr"]).tolist()
    [[2.0, 0.5]]
    """
    array = _one_value_a_target(values, targets)
    low, high = target_limits(targets)
    return array * (high - low) + low


def resolve_targets(
    names: str | Iterable[str] | None, available: Sequence[str] = TARGETS
) -> tuple[str, ...]:
    """Check names of targets and return them as a tuple, in the order given.

    Args:
        names: names, or one string with names separated by commas, or ``None`` for all.
        available: the names that are allowed.

    Returns:
        The names, without blanks around them.

    Raises:
        UnknownTargetError: a name is not available, is given twice, or none is given, or
            something else came than names.

    >>> resolve_targets("mean_hbpp, mean_p10")
    ('mean_hbpp', 'mean_p10')
    >>> resolve_targets(None, ("mean_rr",))
    ('mean_rr',)
    >>> resolve_targets("mean_hbp")
    Traceback (most recent call last):
        ...
    pqpp_models.errors.UnknownTargetError: no target is called 'mean_hbp'; did you mean ...
    """
    if names is None:
        return tuple(available)
    if not isinstance(names, Iterable):
        raise UnknownTargetError(
            f"`targets` is {names!r} ({type(names).__name__}); give names, like "
            f"{available[0]!r}, or leave it out for all"
        )
    parts = comma_separated(names) if isinstance(names, str) else list(names)
    chosen = [_known_target(part, available) for part in parts]
    if not chosen:
        raise UnknownTargetError(
            f"no target was named; choose among {', '.join(available)}, or leave targets out"
        )
    repeated = sorted(name for name, times in Counter(chosen).items() if times > 1)
    if repeated:
        raise UnknownTargetError(f"named twice: {', '.join(repeated)}; name each target once")
    return tuple(chosen)


def _known_target(name: object, available: Sequence[str]) -> str:
    text = name.strip() if isinstance(name, str) else repr(name)
    text = f"{text[:60]} ..." if len(text) > 60 else text
    if text in available:
        return text
    if text in TARGETS:
        raise UnknownTargetError(
            f"target {text!r} is not predicted here; available: {', '.join(available)}"
        )
    hint = did_you_mean(text, available, f"available: {', '.join(available)}")
    raise UnknownTargetError(f"no target is called {text!r}; {hint}")


def _one_value_a_target(values: ArrayLike, targets: Sequence[str]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != len(targets):
        raise ValueError(
            f"`values` has shape {array.shape}; its last axis must have one value for each of "
            f"the {len(targets)} targets"
        )
    return array
