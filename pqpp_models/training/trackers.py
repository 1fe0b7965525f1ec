"""The trackers that a recipe reports to: known and installed, or an error before the training."""

from __future__ import annotations

from collections.abc import Sequence

from pqpp_files.extras import install_command
from pqpp_models.errors import MissingResourceError
from pqpp_models.training.options import RecipeError

_ALL = "all"  # whatever is installed


def check_trackers(names: Sequence[str]) -> None:
    """Check that Accelerate will take every tracker; it leaves out silently what it cannot import.

    Raises:
        RecipeError: Accelerate knows no such tracker.
        MissingResourceError: A tracker's package is not installed.

    Example:
        >>> check_trackers(["all"])
        >>> check_trackers(["paper"])
        Traceback (most recent call last):
            ...
        pqpp_models.training.options.RecipeError: `report_to` names 'paper'; choose among all, ...
    """
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

    installed = {str(one) for one in get_available_trackers()}
    for name in names:
        if name == _ALL or name in installed:
            continue
        if name not in LOGGER_TYPE_TO_CLASS:
            known = ", ".join([_ALL, *sorted(LOGGER_TYPE_TO_CLASS)])
            raise RecipeError(f"`report_to` names {name!r}; choose among {known}")
        is_ours = name == "tensorboard"
        remedy = install_command("trackers") if is_ours else f"install the package of {name}"
        raise MissingResourceError(
            f"`report_to` names {name!r}, which is not installed; {remedy}, or leave it out"
        )
