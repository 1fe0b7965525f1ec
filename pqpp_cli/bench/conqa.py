"""`pqpp bench conqa`: compare runs on conceptual and descriptive queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqpp_cli.command import Command
from pqpp_cli.groups import DataDir, FigureTables
from pqpp_files.options.option import NEEDED, option

if TYPE_CHECKING:
    from pqpp_files.figures import Figures
    from pqpp_models.bench.conqa import Gap, KindOfQuery


class BenchConqa(DataDir, FigureTables, Command):
    """Score runs on ConQA's queries, beside the published figures."""

    EPILOG = """examples:
  pqpp bench conqa --runs CLIP=clip.trec mine.trec --report conqa.html
"""
    runs: dict[str, str] = option(
        NEEDED,
        "runs of TREC, as pqpp search retrieve writes them",
        metavar="[NAME=]FILE",
        path="file",
        several=True,
    )

    def run(self) -> None:
        """Print the tables."""
        from pqpp_cli.output import note
        from pqpp_models.bench.conqa import bench_conqa

        rows, gaps, notes = bench_conqa(self.runs, self.data_dir)
        note(*notes)
        about = "Recall@k is ConQA's: whether any of the first k images is relevant."
        self.show("ConQA: conceptual and descriptive queries", _tables(rows, gaps), [about, *notes])


def _tables(rows: list[KindOfQuery], gaps: list[Gap]) -> list[Figures]:
    from pqpp_files.figures import Figures
    from pqpp_models.bench.conqa import KINDS, MEASURES, PUBLISHED

    names = list(MEASURES.values())
    ours: list[dict[str, Any]] = [
        {"run": row.run, "queries": f"{row.kind}, {row.n}"}
        | {MEASURES[measure]: value for measure, value in row.means.items()}
        for row in rows
    ]
    theirs: list[dict[str, Any]] = [
        {"run": f"{name} (published)", "queries": kind}
        | dict(zip(names, values[kind], strict=False))
        for name, values in PUBLISHED.items()
        for kind in KINDS
    ]
    tests = [
        {
            "run": gap.run,
            "measure": MEASURES[gap.measure],
            "p": gap.p_value,
            "descriptive over conceptual": gap.relative_improvement,
        }
        for gap in gaps
    ]
    return [
        Figures("conqa", "ConQA, means with 95 % intervals", ["run", "queries", *names], ours),
        Figures("published", "ConQA paper, Table 5", ["run", "queries", *names[:5]], theirs),
        Figures(
            "gap",
            "Do conceptual queries do worse? (one-sided Mann-Whitney test)",
            ["run", "measure", "p", "descriptive over conceptual"],
            tests,
        ),
    ]
