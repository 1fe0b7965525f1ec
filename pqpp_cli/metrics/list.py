"""`pqpp metrics list`: name every metric and what it is."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_files.foreign.yaml_values import parse_yaml


class MetricsList(Command):
    """Name every metric and what it is."""

    def run(self) -> None:
        """Print them as a table."""
        from tabulate import tabulate

        from pqpp_metrics.load import load_metric, metric_card
        from pqpp_metrics.registration import list_metrics

        rows = [
            (
                name,
                ", ".join(load_metric(name).input_names()),
                parse_yaml(metric_card(name)[0], name)["description"],
            )
            for name in list_metrics()
        ]
        print(tabulate(rows, ("metric", "needs", "what it is"), maxcolwidths=[None, 34, 60]))
        print("\npqpp metrics show NAME tells what each input, option and result is")
