"""`pqpp metrics show`: print the card of a metric."""

from __future__ import annotations

from collections.abc import Sequence

from pqpp_cli.command import Command, Group
from pqpp_files.options.option import NEEDED, option


def _metrics() -> Sequence[str]:
    from pqpp_metrics.registration import list_metrics

    return list_metrics()


class OneMetric(Group):
    """A metric."""

    metric: str = option(
        NEEDED, "the metric, as in `list`", metavar="NAME", word=True, known=_metrics
    )


class MetricsShow(OneMetric, Command):
    """Print the card of a metric."""

    def run(self) -> None:
        """Print it, without its front matter."""
        from pqpp_metrics.load import metric_card

        print(metric_card(self.metric)[1].strip())
