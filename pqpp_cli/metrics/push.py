"""`pqpp metrics push`: publish metrics on the Hub."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_cli.groups import Push
from pqpp_cli.metrics.show import _metrics
from pqpp_files.options.option import NEEDED, option

_ALL = "all"


class MetricsPush(Push, Command):
    """Publish metrics as a Space each on the Hub, in one commit: whole or not at all. The token is
    the one of `hf auth login` or HF_TOKEN.
    """

    metrics: tuple[str, ...] = option(
        NEEDED,
        f"metrics, as in `list`, or `{_ALL}`",
        metavar="NAME",
        word=True,
        known=_metrics,
    )
    repository: str = option(
        NEEDED, "owner of the Spaces, named after metrics", metavar="OWNER[/NAME]", word=True
    )

    def run(self) -> None:
        """Push each, and print what was done."""
        from pqpp_metrics.hub import push_metric
        from pqpp_metrics.load import metric_card
        from pqpp_metrics.registration import list_metrics

        names = list_metrics() if self.metrics == (_ALL,) else list(self.metrics)
        for name in names:
            metric_card(name)  # refused before anything is pushed
        owner, slash, _ = self.repository.partition("/")
        if slash and len(names) > 1:
            raise CommandError(
                f"{self.repository}: {len(names)} metrics cannot go into one Space; write {owner}"
            )
        for name in names:
            plain = name.removeprefix("pqpp/")
            self.push(push_metric, plain, self.repository if slash else f"{owner}/{plain}")
