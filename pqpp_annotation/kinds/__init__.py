"""The kinds of task, one folder each: their answers, page and export."""

import importlib

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds.kind import RATED, TASK_KINDS, ShownImage, ShownItem, TaskKind, Vote
from pqpp_files.names import did_you_mean

__all__ = ["RATED", "TASK_KINDS", "ShownImage", "ShownItem", "TaskKind", "Vote", "get_task_kind"]


def get_task_kind(name: str) -> TaskKind:
    """Return a kind of task by its name.

    Raises:
        AnnotationError: The kind is unknown.

    Example:
        >>> get_task_kind("match").about_image, get_task_kind("preference").about_image
        (True, False)
    """
    if name not in TASK_KINDS:
        raise AnnotationError(f"unknown kind of task {name!r}; {did_you_mean(name, TASK_KINDS)}")
    from pqpp_annotation.kinds.labels import PRESETS

    if name in PRESETS:
        return PRESETS[name]
    return importlib.import_module(f"pqpp_annotation.kinds.{name}.kind").TASK_KIND
