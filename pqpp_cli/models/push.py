"""`pqpp models push`: publish a predictor or a RAHF model on the Hub."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_cli.groups import Push
from pqpp_files.options.option import option


class ModelsPush(Push, Command):
    """Publish a predictor or a RAHF model as a model on the Hub, in one commit: whole or not at
    all. The token is the one of `hf auth login` or HF_TOKEN.
    """

    predictor: str | None = option(
        None,
        "a folder, or a shipped name (with --space also a Hub repository; default: static)",
        metavar="NAME_OR_PATH",
        path="name",
        word=True,
    )
    repository: str | None = option(None, "where to publish", metavar="OWNER/REPOSITORY", word=True)
    space: str | None = option(
        None,
        "publish the page of `pqpp demo --serve` too: alone for a predictor that the Hub or the "
        "package has, else beside OWNER/REPOSITORY, from where it loads the predictor",
        metavar="OWNER/NAME",
    )
    benchmark: str | None = option(
        None,
        "measure it on the tasks of this benchmark first, and publish the results for its "
        "leaderboard beside it",
        metavar="OWNER/DATASET",
    )
    anyway: bool = option(
        False, "push a predictor that was no better than chance on prompts left out of its fit, too"
    )

    def run(self) -> None:
        """Push what was named, and print what was done."""
        from pqpp_models import DEFAULT_PREDICTOR
        from pqpp_models.demo.space import push_space, shown_predictor

        name = self.predictor or DEFAULT_PREDICTOR
        if self.repository is None:
            if self.space is None:
                raise CommandError(
                    "say what and where: pqpp models push NAME_OR_PATH OWNER/REPOSITORY"
                )
            return self.push(push_space, name, self.space)
        if self.space is not None:
            shown_predictor(name)  # refused before anything is pushed
        with tempfile.TemporaryDirectory() as beside:
            push = self._push_of(name, self._results(name, Path(beside)))
            self.push(push, name, self.repository)
        if self.space is not None:
            self.push(partial(push_space, folder=name), self.repository, self.space)

    def _results(self, name: str, folder: Path) -> dict[str, Path]:
        """Measure a predictor on the benchmark, and return the file of its results."""
        if self.benchmark is None:
            return {}
        from pqpp_cli.output import note
        from pqpp_hub.eval_results import results_file
        from pqpp_models.bench.eval_results import evaluated

        text, lines = evaluated(name, self.benchmark, sys.stderr.isatty())
        note(*lines)
        (folder / "results").write_text(text, "utf-8")
        return {results_file(self.benchmark): folder / "results"}

    def _push_of(self, name: str, beside: dict[str, Path]) -> Callable:
        """Return what publishes a model of the kind that a folder holds."""
        from pqpp_backbones.hub import model_type_of

        if model_type_of(name) == "rahf":
            from pqpp_feedback.rahf.feedback import push_feedback_model

            return push_feedback_model
        from pqpp_models.hub import push_to_hub

        return partial(push_to_hub, anyway=self.anyway, beside=beside)
