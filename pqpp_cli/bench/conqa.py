"""`pqpp bench conqa`: compare runs on conceptual and descriptive queries."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_cli.groups import DataDir, FigureTables
from pqpp_files.options.option import NEEDED, option


class BenchConqa(DataDir, FigureTables, Command):
    """Score runs on ConQA's queries, beside the published figures."""

    EPILOG = """examples:
  pqpp bench conqa --runs CLIP=clip.trec mine.trec --report conqa.html
"""
    runs: dict[str, str] = option(
        NEEDED, "runs of TREC, as of pqpp search", metavar="[NAME=]FILE", path="file", several=True
    )

    def run(self) -> None:
        """Print the tables."""
        from pqpp_cli.output import note
        from pqpp_models.bench.conqa import bench_conqa

        tables, (about, *notes) = bench_conqa(self.runs, self.data_dir)
        note(*notes)
        self.show("ConQA: conceptual and descriptive queries", tables, [about, *notes])
