"""Metrics and their cards by name, without evaluate."""

import importlib

from pqpp_metrics.modules import Metric
from pqpp_metrics.registration import metric_path


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
    classes = (var for var in vars(module).values() if isinstance(var, type))
    return next(class_ for class_ in classes if issubclass(class_, Metric))


def metric_card(name: str) -> list[str]:
    """Return the front matter and the body of a metric's card.

    Raises:
        UnknownMetricError: there is no such metric.

    Example:
        >>> metric_card("ndcg")[1].strip().splitlines()[0]
        '# nDCG'
    """
    card = metric_path(name.removeprefix("pqpp/")).with_name("README.md")
    return card.read_text("utf-8").split("---\n", 2)[1:]
