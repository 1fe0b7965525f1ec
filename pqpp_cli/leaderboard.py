"""`pqpp leaderboard`: show the leaderboard of a benchmark on the Hub."""

from __future__ import annotations

import sys

from pqpp_cli.command import PAGES, Command
from pqpp_cli.groups import Tables
from pqpp_cli.output import emit, note
from pqpp_files.errors import PqppError
from pqpp_files.names import is_repository_id
from pqpp_files.options.option import NEEDED, option


class Leaderboard(Tables, Command):
    """Print the leaderboard of a benchmark: results on one split, the best predictor first.

    Results are stored in each predictor's repository, by `pqpp models push --benchmark` and `pqpp
    models submit`. Published figures of PQPP are listed separately.

    examples:
      pqpp leaderboard OWNER/DATASET
      pqpp leaderboard OWNER/DATASET --split validation --verify
      pqpp leaderboard OWNER/DATASET --models a/bert,b/words --report leaderboard.html
      pqpp leaderboard OWNER/DATASET --verify --space OWNER/NAME
      pqpp leaderboard results --dataset my_benchmark --verify

    The Hub keeps leaderboards for datasets whose evaluation framework it lists; otherwise give
    --models. Without --verify, figures are as reported by the repositories; with it they are
    recomputed from new predictions, and each predictor is tested against the first.

    Attributes:
        source: A dataset on the Hub, or a folder of models' folders (clones, or written by `pqpp
            bench --eval-results`).
        benchmark: The benchmark, if the folder has results on several.
        models: Read the repositories of these models and their open pull requests (default: those
            that the Hub's leaderboard names).
        dataset: With --verify: the same rows here, a folder or a table (default: those of the Hub).
    """

    source: str = option(NEEDED, metavar="OWNER/DATASET|FOLDER", path="name", word=True)
    benchmark: str | None = option(None, metavar="OWNER/DATASET")
    subset: str | None = option(None, "its configuration (default: the first by name)")
    split: str | None = option(None, "its split (default: test, else the first by name)")
    models: tuple[str, ...] = option((), metavar="OWNER/NAME[,...]", path="name", commas=True)
    verify: bool = option(
        False, "predict again with every predictor, report differences and significance"
    )
    dataset: str | None = option(None, path="name", goes_with="verify")
    report: str | None = option(None, "also write it as a page", path="output file", endings=PAGES)
    space: str | None = option(None, "also publish the page as a Space", metavar="OWNER/NAME")
    dry_run: bool = option(
        False, "with --space: show what would change, change nothing", goes_with="space"
    )

    def __post_init__(self) -> None:
        """Refuse a Space that cannot be called so before anything is read."""
        super().__post_init__()

        if self.space is not None and not is_repository_id(self.space):
            raise PqppError(f"`space` {self.space}: write OWNER/NAME")

    def run(self) -> None:
        """Read the results, print the table, write and publish the page."""
        from pqpp_models.bench.leaderboard import read_leaderboard
        from pqpp_models.bench.tables import format_results

        source = (self.source, self.benchmark, self.dataset, self.subset, self.split)
        board = read_leaderboard(*source, self.models, self.verify, sys.stderr.isatty())
        note(*board.notes)
        text = format_results(self.style, board.run.results, board.published, with_intervals=True)
        emit(text, self.output, self.style)
        if self.report:
            emit(board.render_page(), self.report)
        if self.space:
            done = board.push_page(self.space, dry_run=self.dry_run)
            print("\n".join(done.lines()), flush=True)
