"""`pqpp models`: list, describe, publish and submit predictors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from pqpp_cli.command import Command, Group
from pqpp_cli.groups import PushOptions
from pqpp_cli.output import print_notes
from pqpp_files.errors import PqppError
from pqpp_files.options.option import NEEDED, option


class Models(Group):
    """List, describe, publish and submit predictors.

    A predictor is shipped with pqpp, saved in a folder, or on the Hub.

    examples:
      pqpp models list
      pqpp models show static
      pqpp models push outputs/bert OWNER/REPOSITORY --dry-run
      pqpp models push outputs/bert OWNER/REPOSITORY --private --branch v2
      pqpp models push runs/rahf/model OWNER/REPOSITORY
      pqpp models push --space OWNER/NAME --dry-run
      pqpp models push outputs/bert OWNER/REPOSITORY --space OWNER/NAME
      pqpp models push outputs/bert OWNER/REPOSITORY --benchmark OWNER/DATASET
      pqpp models submit OWNER/REPOSITORY --benchmark OWNER/DATASET --dry-run
    """


class ModelsAutoload(Command):
    """Turn the automatic registration of pqpp on or off.

    If it is on, load_dataset("pqpp") and evaluate.load("pqpp/NAME") work without an import of pqpp.

    examples:
      pqpp models autoload status
      pqpp models autoload off
      pqpp models autoload on

    Installing pqpp again does not turn it on. To turn it off for one process, set
    PQPP_NO_AUTOLOAD=1. Without it, call `register()` of pqpp_datasets.registration,
    pqpp_metrics.registration and pqpp_models.registration.
    """

    action: str = option(NEEDED, "what to do", ("on", "off", "status"), word=True)

    def run(self) -> None:
        """Turn autoload on or off if requested, and print its status."""
        from pqpp_hub import start_up

        folder = start_up.find_site_packages()
        if self.action == "on":
            start_up.enable_autoload(folder)
        elif self.action == "off":
            start_up.disable_autoload(folder)
        print(start_up.describe_autoload(folder))


class ModelsList(Command):
    """List all predictors and what they need."""

    def run(self) -> None:
        """Print two tables: predictors known by name, and those in a folder or on the Hub."""
        from tabulate import tabulate

        from pqpp_models import registry

        header = ("predictor", "what it is", "needs besides a prompt", "size")
        rows = [(n, *registry.NOTES[n], _get_size(n)) for n in registry.list_predictors()]
        widths = [None, 46, 46, None]
        print(f"Shipped or untrained, by name; {registry.DEFAULT_PREDICTOR} is the default.\n")
        print(tabulate(rows, header, tablefmt="simple", maxcolwidths=widths))
        print("\nTrained, from a folder or a Hub repository.\n")
        saved = [(name, *registry.NOTES[name]) for name in sorted(registry.UNSHIPPED)]
        print(tabulate(saved, header[:3], tablefmt="simple", maxcolwidths=widths[:3]))


def _get_size(name: str) -> str:
    """Return the size of a predictor's shipped files in MB as text, or a hyphen if it has none."""
    from importlib.resources import files

    folder = files("pqpp_models") / "weights" / name
    size = sum(len(file.read_bytes()) for file in folder.iterdir()) if folder.is_dir() else 0
    return f"{size / 1e6:.1f} MB" if size else "-"


class ModelsPush(PushOptions, Command):
    """Publish a predictor or a RAHF model on the Hub, in one commit.

    The token is that of `hf auth login` or HF_TOKEN.

    Attributes:
        predictor: Folder or shipped predictor; with --space, also a Hub repository (default:
            static).
        space: Also publish the page of `pqpp demo --serve` as a Space.
        benchmark: Evaluate the predictor on this benchmark first, and publish the results for its
            leaderboard too.
        anyway: Push even if cross-validation found it not clearly better than chance.
    """

    predictor: str | None = option(None, path="name", word=True)
    repository: str | None = option(None, "where to publish", metavar="OWNER/REPOSITORY", word=True)
    space: str | None = option(None, metavar="OWNER/NAME")
    benchmark: str | None = option(None, metavar="OWNER/DATASET", goes_with="repository")
    anyway: bool = option(False, goes_with="repository")

    def run(self) -> None:
        """Push the predictor, its page or both, and print what was done."""
        from pqpp_backbones.checkpoint import CONFIG
        from pqpp_backbones.foreign import read_text_field
        from pqpp_files.paths import expand
        from pqpp_models import DEFAULT_PREDICTOR
        from pqpp_models.demo.page import build_predictor_space, push_space
        from pqpp_models.hub import push_to_hub

        name = self.predictor or DEFAULT_PREDICTOR
        if self.repository is None:
            if self.space is None:
                raise PqppError("no repository; write pqpp models push NAME_OR_PATH OWNER/NAME")
            return self.push(push_space, name, self.space)
        if self.space is not None:
            build_predictor_space(name)  # refused before anything is pushed
        results = self._get_results(name)
        push: Callable = partial(push_to_hub, anyway=self.anyway, extra_files=results)
        if read_text_field(expand(name) / CONFIG, "model_type") == "rahf":
            from pqpp_feedback.rahf.feedback import push_feedback_model as push
        self.push(push, name, self.repository)
        if self.space is not None:
            self.push(partial(push_space, folder=name), self.repository, self.space)

    def _get_results(self, name: str) -> dict[str, bytes]:
        """Evaluate a predictor on `benchmark`; return the results file by its path on the Hub."""
        if self.benchmark is None:
            return {}
        from pqpp_hub.eval_results import get_results_path
        from pqpp_models.bench.leaderboard import evaluate_tasks

        text, lines = evaluate_tasks(name, self.benchmark, sys.stderr.isatty())
        print_notes(*lines)
        return {get_results_path(self.benchmark): text.encode()}


class ModelsShow(Command):
    """Print the needs, targets and card of a predictor."""

    predictor: str = option(NEEDED, "name, folder or Hub repository", path="name", word=True)

    def run(self) -> None:
        """Load the predictor, and print its description."""
        from pqpp_models import Predictor

        predictor = Predictor.from_pretrained(self.predictor)
        print(f"name: {predictor.title}")
        print(f"targets: {', '.join(predictor.targets)}")
        print(f"inputs: {predictor.inputs}")
        print(f"supervised: {'yes' if predictor.supervised else 'no'}\n")
        print(predictor.render_card().strip())


class ModelsSubmit(Command):
    """Submit a predictor's results to a leaderboard.

    pqpp evaluates the predictor, which can be anyone's, on all tasks of a benchmark. It then opens
    a pull request that adds the results to the predictor's repository. Rows that the predictor was
    fitted to give no result.
    """

    predictor: str = option(NEEDED, "repository of the predictor", metavar="OWNER/NAME", word=True)
    benchmark: str = option(NEEDED, "dataset of the benchmark", metavar="OWNER/DATASET")
    dry_run: bool = option(False, "evaluate, and print the pull request without opening it")

    def run(self) -> None:
        """Evaluate, open the pull request, and print what was done."""
        from pqpp_hub.eval_results import submit_results
        from pqpp_models.bench.leaderboard import evaluate_tasks

        text, lines = evaluate_tasks(self.predictor, self.benchmark, sys.stderr.isatty())
        print_notes(*lines)
        if self.dry_run:
            print(text)
        report = submit_results(self.predictor, self.benchmark, text, self.dry_run)
        print("\n".join(report.to_lines()), flush=True)
