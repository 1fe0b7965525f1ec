"""Files of votes as other people's tools write them: a module a format, found by its name."""

import importlib
import pkgutil
from typing import Any

from pqpp_datasets.errors import OptionError
from pqpp_files.names import did_you_mean


def format_names() -> list[str]:
    """Return the formats as a user writes them.

    Example:
        >>> format_names()
        ['argilla', 'hpd', 'imagereward', 'label-studio', 'mturk', 'pickapic']
    """
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def converter(name: str) -> tuple[Any, tuple[str, ...] | None]:
    """Return the function of a format, called like its module, and the columns that it reads.

    Raises:
        OptionError: There is no such format.

    Example:
        >>> converter("pickapic")[1][0], converter("label-studio")[1]
        ('caption', None)
    """
    if name not in format_names():
        raise OptionError(f"`name` is {name!r:.60}; {did_you_mean(name, format_names())}")
    called = name.replace("-", "_")
    module = importlib.import_module(f"{__name__}.{called}")
    return getattr(module, called), getattr(module, "READ_ALONE", None)
