"""Metrics in training loops: states that batches are added to.

`MetricState` needs nothing but the package, `TorchMetric` is one as torchmetrics wants it, and
`compute_metrics` is what `transformers.Trainer` wants.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pqpp_metrics.states.state import MetricState
    from pqpp_metrics.states.torch_metric import TorchMetric
    from pqpp_metrics.states.trainer import TrainerMetrics, compute_metrics

_FILES = {
    "MetricState": "state",
    "TorchMetric": "torch_metric",
    "TrainerMetrics": "trainer",
    "compute_metrics": "trainer",
}
__all__ = ["MetricState", "TorchMetric", "TrainerMetrics", "compute_metrics"]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pqpp_files.extras import needing

    with needing(name, "torchmetrics"):
        return getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
