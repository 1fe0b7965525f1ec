"""Files of votes as other people's tools write them: a module a format, found by its name."""

import importlib
import pkgutil
from typing import Any


def format_names() -> list[str]:
    """Return the formats as a user writes them.

    Example:
        >>> format_names()
        ['argilla', 'hpd', 'imagereward', 'label-studio', 'mturk', 'pickapic']
    """
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def converter(name: str) -> tuple[Any, tuple[str, ...] | None]:
    """Return the function of a format, called like its module, and the columns that it reads.

    Example:
        >>> converter("pickapic")[1][0], converter("label-studio")[1]
        ('caption', None)
    """
    called = name.replace("-", "_")
    module = importlib.import_module(f"{__name__}.{called}")
    return getattr(module, called), getattr(module, "READ_ALONE", None)
