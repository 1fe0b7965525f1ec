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
    "DEFAULT_PREDICTOR": "registry",
    "ModelError": "errors",
    "Predictor": "predictor",
    "PredictorError": "errors",
    "TARGETS": "targets",
    "expand_group_names": "registry",
    "list_predictors": "registry",
    "register_predictor": "registry",
    "resolve_targets": "targets",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
