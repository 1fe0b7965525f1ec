"""The metrics as pure functions over arrays, one file a subject.

Every function without an underscore that a file without one defines is a name of this package, so
that a new metric is a new function and nothing else. Ranking and saliency metrics leave torch
tensors on their device and return tensors; all else becomes numpy arrays: lists, frames and series
of pandas, row by row whatever their index says, columns of Arrow and of datasets, arrays of any
library that numpy can read. What a function cannot use (other shapes, nothing at all, missing,
masked or infinite values where none are allowed, text for numbers, an unknown option) is a
`MetricInputError` of one line.
"""

import importlib
import inspect
import pkgutil


def _public_functions():
    """Name to function, over the files of this package."""
    found = {}
    for file in pkgutil.iter_modules(__path__):
        if not file.name.startswith("_"):
            module = importlib.import_module(f"{__name__}.{file.name}")
            for name, function in vars(module).items():
                own = inspect.isfunction(function) and function.__module__ == module.__name__
                if own and not name.startswith("_"):
                    found[name] = function
    return found


# After all imports: a function may be called as its file is.
globals().update(_public_functions())
__all__ = sorted(
    name for name, one in globals().items() if inspect.isfunction(one) and name[0] != "_"
)
