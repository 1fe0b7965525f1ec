"""The metrics as pure functions over arrays, one file a subject.

Every function without an underscore that a file without one defines is a name of this package, so
that a new metric is a new function and nothing else. Ranking and saliency metrics leave torch
tensors on their device and return tensors; all else becomes numpy arrays: lists, frames and series
of pandas, row by row whatever their index says, columns of Arrow and of datasets, arrays of any
library that numpy can read. What a function cannot use (other shapes, nothing at all, missing,
masked or infinite values where none are allowed, text for numbers, an unknown option) is a
`MetricInputError` of one line.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # type checkers and editors do not run what finds the files below
    from pqpp_metrics.functional.aggregation import *
    from pqpp_metrics.functional.agreement import *
    from pqpp_metrics.functional.consolidation import *
    from pqpp_metrics.functional.correlation import *
    from pqpp_metrics.functional.evaluation import *
    from pqpp_metrics.functional.keywords import *
    from pqpp_metrics.functional.match_rate import *
    from pqpp_metrics.functional.prediction_powered import *
    from pqpp_metrics.functional.qpp_report import *
    from pqpp_metrics.functional.ranking import *
    from pqpp_metrics.functional.ranking_graded import *
    from pqpp_metrics.functional.resampling import *
    from pqpp_metrics.functional.routing import *
    from pqpp_metrics.functional.saliency import *
    from pqpp_metrics.functional.seeds import *
    from pqpp_metrics.functional.significance import *
    from pqpp_metrics.functional.vistar import *


def _public_functions() -> dict[str, Callable[..., Any]]:
    """Name to function, over the files of this package."""
    functions: dict[str, Callable[..., Any]] = {}
    for file in pkgutil.iter_modules(__path__):  # noqa: F405
        if not file.name.startswith("_"):
            module = importlib.import_module(f"{__name__}.{file.name}")
            for name, function in inspect.getmembers(module, inspect.isfunction):
                if function.__module__ == module.__name__ and not name.startswith("_"):
                    functions[name] = function
    return functions


# After all imports: a function may be called as its file is.
_FUNCTIONS = _public_functions()
globals().update(_FUNCTIONS)
__all__ = sorted(_FUNCTIONS)
