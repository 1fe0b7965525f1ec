"""A benchmark of one's own from raw judgments, in the columns of PQPP.

Names are looked up at first use: of what annotation needs, nothing reads tables by pandas.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pqpp_datasets.own_benchmark.build import Outcome as Outcome
    from pqpp_datasets.own_benchmark.build import build_benchmark as build_benchmark
    from pqpp_datasets.own_benchmark.options import BuildOptions as BuildOptions
    from pqpp_datasets.own_benchmark.write import write_benchmark as write_benchmark

_HOMES = {"BuildOptions": "options", "Outcome": "build", "build_benchmark": "build"}
_HOMES |= {"write_benchmark": "write"}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
