"""The metrics' modules: what their classes derive from, and how one is found without evaluate."""

from __future__ import annotations

import importlib
import sys

from pqpp_metrics.metric import Metric
from pqpp_metrics.registration import metric_path


def base() -> type[Metric]:
    """Return the class that a metric's module derives its class from.

    That is an `evaluate.Metric` where evaluate is imported, as it is when it reads the module, and
    `Metric` alone elsewhere: importing evaluate takes many times as long as computing.
    """
    if "evaluate" not in sys.modules:
        return Metric
    from pqpp_metrics.evaluate_module import EvaluateMetric

    return EvaluateMetric


def load_metric(name: str) -> type[Metric]:
    """Return the class of a metric, by which it is computed without evaluate.

    Args:
        name: As in `list_metrics`.

    Raises:
        UnknownMetricError: there is no such metric.

    Example:
        >>> kendall = load_metric("kendall_qpp")
        >>> kendall.score({"predictions": [1, 2, 3], "references": [1, 3, 2]})["n"]
        3
    """
    metric_path(name)
    module = importlib.import_module(f"pqpp_metrics.{name}.{name}")
    classes = (one for one in vars(module).values() if isinstance(one, type))
    return next(one for one in classes if issubclass(one, Metric))
