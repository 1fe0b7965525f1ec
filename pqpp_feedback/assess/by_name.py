"""What is found by the name of its file: one class of a kind in each module of a package."""

import importlib
import pkgutil
from typing import TypeVar

from pqpp_feedback.errors import AssessError
from pqpp_files.names import did_you_mean

Kind = TypeVar("Kind")


def module_names(package: str) -> list[str]:
    """Return the names of a package's modules, none of which is imported.

    Example:
        >>> module_names("pqpp_feedback.assessors")
        ['gimbrr', 'rahf', 'vistar', 'vqa']
    """
    places = importlib.import_module(package).__path__
    return sorted(module.name for module in pkgutil.iter_modules(places))


def class_of(package: str, name: str, kind: type[Kind]) -> type[Kind]:
    """Return the subclass of a kind that the module of a name defines.

    Raises:
        AssessError: The package has no such module.

    Example:
        >>> from pqpp_feedback.assess.options import AssessorOptions
        >>> class_of("pqpp_feedback.assessors", "rahf", AssessorOptions).__name__
        'RahfOptions'
    """
    names = module_names(package)
    what = package.rpartition(".")[2].removesuffix("s")
    if name not in names:
        raise AssessError(f"{what} {name!r:.40} is unknown; {did_you_mean(name, names)}")
    module = importlib.import_module(f"{package}.{name}")
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    own = [value for value in classes if value.__module__ == module.__name__]
    return next(value for value in own if issubclass(value, kind))
