"""`pqpp models submit`: propose what a predictor reaches for a leaderboard."""

from __future__ import annotations

import sys

from pqpp_cli.command import Command
from pqpp_files.options.option import NEEDED, option


class ModelsSubmit(Command):
    """Measure a predictor on all tasks of a benchmark, and open a pull request to the predictor's
    repository that adds the results, from where the Hub's leaderboard takes them. It may be
    anybody's predictor. Rows that it was fitted to give no result.
    """

    predictor: str = option(NEEDED, "a repository", metavar="OWNER/NAME", word=True)
    benchmark: str = option(NEEDED, "the benchmark's dataset", metavar="OWNER/DATASET")
    dry_run: bool = option(False, "measure, and only say what would be proposed")

    def run(self) -> None:
        """Measure, propose, and print what was done."""
        from pqpp_cli.output import note
        from pqpp_hub.eval_results import submit
        from pqpp_hub.push import require_repository_id
        from pqpp_models.bench.eval_results import evaluated

        require_repository_id(self.predictor)
        text, lines = evaluated(self.predictor, self.benchmark, sys.stderr.isatty())
        note(*lines)
        if self.dry_run:
            print(text)
        done = submit(self.predictor, self.benchmark, text, self.dry_run)
        print("\n".join(done.lines()), flush=True)
