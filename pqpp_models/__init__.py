"""Predictors of how well a prompt will do in image generation and in image retrieval.

Names are imported at first use, so that importing the package is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pqpp_models.errors import ModelError as ModelError
    from pqpp_models.errors import PredictorError as PredictorError
    from pqpp_models.predictor import Predictor as Predictor
    from pqpp_models.registry import DEFAULT_PREDICTOR as DEFAULT_PREDICTOR
    from pqpp_models.registry import expand_group_names as expand_group_names
    from pqpp_models.registry import list_predictors as list_predictors
    from pqpp_models.registry import register_predictor as register_predictor
    from pqpp_models.targets import TARGETS as TARGETS
    from pqpp_models.targets import resolve_targets as resolve_targets

_HOMES = {
    "errors": ("ModelError", "PredictorError"),
    "predictor": ("Predictor",),
    "registry": (
        *("DEFAULT_PREDICTOR", "expand_group_names", "list_predictors", "register_predictor"),
    ),
    "targets": ("TARGETS", "resolve_targets"),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
