"""Predictors of how well a prompt will do in image generation and in image retrieval.

Names are looked up at first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pqpp_models.errors import (
        CheckpointError,
        HubError,
        MissingResourceError,
        PredictorError,
        UnknownPredictorError,
        UnknownTargetError,
    )
    from pqpp_models.explain.explanation import Explanation
    from pqpp_models.predictor import Predictor, Uncertain
    from pqpp_models.registry import (
        DEFAULT_PREDICTOR,
        expand_predictors,
        list_predictors,
        register_predictor,
    )
    from pqpp_models.targets import TARGETS, resolve_targets, target_range

__all__ = [
    "DEFAULT_PREDICTOR",
    "TARGETS",
    "CheckpointError",
    "Explanation",
    "HubError",
    "MissingResourceError",
    "Predictor",
    "PredictorError",
    "Uncertain",
    "UnknownPredictorError",
    "UnknownTargetError",
    "expand_predictors",
    "list_predictors",
    "register_predictor",
    "resolve_targets",
    "target_range",
]

_HOMES = {
    "Predictor": "predictor",
    "Uncertain": "predictor",
    "Explanation": "explain.explanation",
    "TARGETS": "targets",
    "resolve_targets": "targets",
    "target_range": "targets",
    "DEFAULT_PREDICTOR": "registry",
    "expand_predictors": "registry",
    "list_predictors": "registry",
    "register_predictor": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
