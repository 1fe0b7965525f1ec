"""`pqpp leaderboard`: show the leaderboard of a benchmark on the Hub."""

from __future__ import annotations

import sys

from pqpp_cli.command import PAGES, Command
from pqpp_cli.groups import Tables
from pqpp_cli.output import emit, print_notes
from pqpp_files.options.option import NEEDED, option


class Leaderboard(Tables, Command):
    """Print the leaderboard of a benchmark.

    Results on one split are read from the predictors' repositories, where `pqpp models push
    --benchmark` and `pqpp models submit` store them. PQPP's published results are listed
    separately.

    examples:
      pqpp leaderboard OWNER/DATASET
      pqpp leaderboard OWNER/DATASET --split validation --verify
      pqpp leaderboard OWNER/DATASET --models a/bert,b/words --report leaderboard.html
      pqpp leaderboard OWNER/DATASET --verify --space OWNER/NAME
      pqpp leaderboard results --dataset my_benchmark --verify

    The Hub has leaderboards only for the evaluation frameworks on its list; for others, use
    --models. Without --verify, results are as reported in the repositories. With it, they are
    recomputed from new predictions, and each predictor is tested against the first.

    Attributes:
        source: Dataset on the Hub, or a folder with one folder per model (clones, or the output of
            `pqpp bench --eval-results`).
        benchmark: Benchmark to show, if the folder has results on several.
        models: Read these models' repositories and open pull requests (default: the models on the
            Hub's leaderboard).
        dataset: With --verify: local copy of the rows, a folder or a table (default: from the Hub).
    """

    source: str = option(NEEDED, metavar="OWNER/DATASET|FOLDER", path="name", word=True)
    benchmark: str | None = option(None, metavar="OWNER/DATASET")
    subset: str | None = option(None, "configuration (default: the first by name)")
    split: str | None = option(None, "split (default: test, else the first by name)")
    models: tuple[str, ...] = option((), metavar="OWNER/NAME[,...]", path="name", commas=True)
    verify: bool = option(False, "rerun every predictor, and print differences and significance")
    dataset: str | None = option(None, path="name", goes_with="verify")
    report: str | None = option(None, "also write an HTML page", path="output file", endings=PAGES)
    space: str | None = option(None, "also publish the page as a Space", metavar="OWNER/NAME")
    dry_run: bool = option(
        False, "with --space: print what would change, without changing it", goes_with="space"
    )

    def run(self) -> None:
        """Read the results, print the table, write and publish the page."""
        from pqpp_models.bench.leaderboard import read_leaderboard
        from pqpp_models.bench.tables import format_results

        source = (self.source, self.benchmark, self.dataset, self.subset, self.split)
        board = read_leaderboard(*source, self.models, self.verify, sys.stderr.isatty())
        print_notes(*board.notes)
        text = format_results(self.style, board.results, board.published, with_intervals=True)
        emit(text, self.output, self.style)
        if self.report:
            emit(board.render_page(), self.report)
        if self.space:
            report = board.push_page(self.space, dry_run=self.dry_run)
            print(*report.to_lines(), sep="\n", flush=True)
