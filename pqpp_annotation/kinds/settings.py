"""The settings of a kind of task, the part `task` of a study file."""

from collections.abc import Mapping
from typing import Any

from pqpp_annotation.errors import StudyError
from pqpp_files.names import did_you_mean


def with_defaults(
    kind: str, given: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return settings with the defaults filled in.

    Args:
        kind: Its name, for errors.
        given: What the study file says.
        defaults: All settings that there are; each value is of the type that is allowed.

    Raises:
        StudyError: A setting is unknown, or of another type.

    Example:
        >>> with_defaults("rating", {"high": 7}, {"low": 1, "high": 5})
        {'low': 1, 'high': 7}
    """
    for name, value in given.items():
        if name not in defaults:
            raise StudyError(
                f"task: {kind} has no setting {name!r:.60}; {did_you_mean(str(name), defaults)}"
            )
        wanted = type(defaults[name])
        if type(value) is not wanted or value == "":
            words = {str: "a text", int: "a whole number", bool: "true or false", dict: "a map"}
            raise StudyError(f"task: {name} is {value!r:.60}; {words[wanted]} is allowed")
    return {**defaults, **given}
