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


def converter(name: str) -> Any:
    """Return the module of a format: its `convert`, and the `COLUMNS` that it reads, if not all."""
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
