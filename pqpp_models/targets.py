"""Targets of predictors: names, ranges and scaling.

A target's name is the same in the datasets, the predictors, the command line and the tables:
`<model>_<measure>`, or `mean_<measure>` over the models; `alignment` alone has no model.
`pqpp_datasets.target_columns` describes the measures. In any benchmark:

============= ======== ===============================================================
name ending   range    what it is
============= ======== ===============================================================
``alignment`` 0 .. 1   share of people who would say that an image matches the prompt
``hbpp``      -1 .. 2  human-based prompt performance: how well annotators judged the
                       images generated for a prompt (PQPP, section 3.1)
``p<k>``      0 .. 1   precision among the first k images retrieved for a query
``rr``        0 .. 1   reciprocal of the rank of the first relevant image
``rate``      0 .. 1   share of votes that say yes, or of comparisons won
``rating``    its own  mean rating, in the range that the dataset gives
``score``     its own  mean score, on a scale of its own
============= ======== ===============================================================
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_datasets.target_columns import (
    ALIGNMENT,
    MEASURES,
    PQPP_TARGETS,
    get_measure,
    is_image_score,
    is_mean,
    is_target,
)
from pqpp_files.names import did_you_mean, split_names
from pqpp_models.errors import PredictorError

TARGETS: tuple[str, ...] = PQPP_TARGETS
Limits = Mapping[str, Sequence[float]]
"""Lowest and highest value by target."""
LowsAndHighs = tuple[NDArray[np.float64], NDArray[np.float64]]
Z90 = 1.6449
"""The number of standard deviations around a prediction that contain nine in ten true values."""


def get_target_range(target: str) -> tuple[float, float]:
    """Return the lowest and highest value of a target.

    Args:
        target: `<model>_<measure>`, `mean_<measure>` or `alignment`.

    Returns:
        The range in the target's own units; infinite for ratings and scores, whose range depends on
        the dataset.

    Raises:
        PredictorError: the name is not a target.

    >>> get_target_range("sdxl_hbpp"), get_target_range("flux_rating")
    ((-1.0, 2.0), (-inf, inf))
    """
    (name,) = resolve_targets([target])
    return find_range(name) or (-np.inf, np.inf)


def find_range(target: str) -> tuple[float, float] | None:
    """Return the range of a target from the end of its name; None if it is unknown.

    >>> find_range("flux_hbpp"), find_range("match_rate"), find_range("mean_rating")
    ((-1.0, 2.0), (0.0, 1.0), None)
    """
    measure = get_measure(target)
    return measure.limits if measure else None


def get_limits(targets: Sequence[str], limits: Limits | None = None) -> LowsAndHighs:
    """Return the lowest and highest values of targets as two arrays.

    Args:
        limits: the limits of some targets; default: those of their measures.

    >>> low, high = get_limits(["mean_hbpp", "mean_rating"], {"mean_rating": (1, 5)})
    >>> low.tolist(), high.tolist()
    ([-1.0, 1.0], [2.0, 5.0])
    """
    known = limits or {}
    ranges = np.array([known.get(name) or get_target_range(name) for name in targets], float)
    low, high = ranges.reshape(len(targets), 2).T
    return low, high


def check_limits(targets: Sequence[str], limits: Limits | None) -> None:
    """Check the limits in a configuration.

    Raises:
        PredictorError: the limits are invalid, or a rating or score has no limits.

    >>> check_limits(["flux_rating"], {"flux_rating": [5, 1]})
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: `limits` of 'flux_rating' must be ...
    """
    for name, pair in (limits or {}).items():
        try:
            low, high = (float(limit) for limit in pair)
        except (OverflowError, TypeError, ValueError):
            low = high = np.nan
        if not low < high or not np.isfinite(high - low):
            raise PredictorError(
                f"`limits` of {name!r:.60} must be two numbers, the lower first; got {pair!r:.60}"
            )
    _get_finite_limits(targets, limits)


def find_stand_in(target: str, available: Sequence[str]) -> str | None:
    """Return the available target that best replaces a target; None if there is none.

    This is the target itself, else the mean of its measure, else the first target of its measure,
    else `alignment` for a target that rates generated images.

    >>> find_stand_in("flux_hbpp", ["sdxl_hbpp", "mean_hbpp"])
    'mean_hbpp'
    >>> find_stand_in("flux_rating", ["alignment", "hbpp"]), find_stand_in("flux_rr", ["alignment"])
    ('alignment', None)
    """
    measure = get_measure(target)
    same_measure = [other for other in available if measure and get_measure(other) == measure]
    fallback = [ALIGNMENT] if is_image_score(target) else []
    candidates = (target, *filter(is_mean, same_measure), *same_measure, *fallback)
    return next((other for other in candidates if other in available), None)


def scale_targets(
    values: ArrayLike, targets: Sequence[str] = TARGETS, limits: Limits | None = None
) -> NDArray[np.float64]:
    """Scale values from the targets' own units to 0 .. 1.

    HBPP becomes ``(s + 1) / 3``; P@10 and RR are unchanged.

    Args:
        values: shape ``(..., targets)``; NaN stays NaN.
        limits: as for `get_limits`; needed for ratings and scores.

    Returns:
        An array of the same shape.

    Raises:
        PredictorError: a rating or score has no limits.

    >>> scale_targets([[2.0, 0.5]], ["mean_hbpp", "mean_rr"]).tolist()
    [[1.0, 0.5]]
    """
    low, high = _get_finite_limits(targets, limits)
    return (np.asarray(values, np.float64) - low) / (high - low)


def unscale_targets(
    values: ArrayLike, targets: Sequence[str] = TARGETS, limits: Limits | None = None
) -> NDArray[np.float64]:
    """Scale values from 0 .. 1 to the targets' own units, the inverse of ``scale_targets``.

    >>> unscale_targets([[1.0, 0.5]], ["mean_hbpp", "mean_rr"]).tolist()
    [[2.0, 0.5]]
    """
    low, high = _get_finite_limits(targets, limits)
    return np.asarray(values, np.float64) * (high - low) + low


def _get_finite_limits(targets: Sequence[str], limits: Limits | None) -> LowsAndHighs:
    low, high = get_limits(targets, limits)
    for name, is_finite in zip(targets, np.isfinite(high - low), strict=True):
        if not is_finite:
            raise PredictorError(
                f"target {name!r} has no known range; set its lowest and highest value in `limits`"
            )
    return low, high


def resolve_targets(
    names: str | Iterable[str] | None, available: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Check names of targets, and return them as a tuple.

    Args:
        names: names, or one string with names separated by commas; None for all available ones, or
            else for PQPP's nine.
        available: the allowed names; default: all names of targets.

    Raises:
        PredictorError: a name is not available or is a duplicate, or there are none.

    >>> resolve_targets("mini-dalle_hbpp, mean_p10, alignment")
    ('mini-dalle_hbpp', 'mean_p10', 'alignment')
    >>> resolve_targets(None, ("mean_rr",))
    ('mean_rr',)
    >>> resolve_targets("mean_hbp")
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: unknown target 'mean_hbp'; did you mean ...
    """
    known = TARGETS if available is None else available
    if names is None:
        return tuple(known)
    parts = split_names(names) if isinstance(names, str) else list(names)
    chosen = []
    for part in parts:
        text = part.strip() if isinstance(part, str) else repr(part)
        if not (text in available if available is not None else is_target(text)):
            text = f"{text[:60]} ..." if len(text) > 60 else text
            hint = f"write <model>_<measure> with one of the measures {', '.join(MEASURES)}"
            if available is not None:
                hint = f"choose from {', '.join(available)}"
                if is_target(text):
                    raise PredictorError(f"target {text!r} is not available; {hint}")
            raise PredictorError(f"unknown target {text!r}; {did_you_mean(text, known, hint)}")
        chosen.append(text)
    if not chosen:
        raise PredictorError(f"no target is given; choose from {', '.join(known)}")
    duplicates = sorted(name for name, count in Counter(chosen).items() if count > 1)
    if duplicates:
        raise PredictorError(f"duplicate targets: {', '.join(duplicates)}; list each target once")
    return tuple(chosen)
