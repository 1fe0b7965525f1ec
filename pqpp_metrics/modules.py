"""The metrics' modules: what their classes derive from, and how one is found without evaluate."""

import sys

from pqpp_metrics.metric import Metric


def base() -> type[Metric]:
    """Return the class that a metric's module derives its class from.

    That is an `evaluate.Metric` where evaluate is imported, as it is when it reads the module, and
    `Metric` alone elsewhere: importing evaluate takes many times as long as computing.
    """
    if "evaluate" not in sys.modules:
        return Metric
    from pqpp_metrics.evaluate_module import EvaluateMetric

    return EvaluateMetric
