"""`pqpp bench vistar`: compare scores of images with people's choices, and generators by role."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_cli.groups import FigureTables
from pqpp_files.options.option import NEEDED, option


class BenchVistar(FigureTables, Command):
    """Compare scores after VISTAR with people's choices, and rank generators for each role."""

    EPILOG = """examples:
  pqpp bench vistar --verdicts verdicts.parquet --people choices.csv
"""
    verdicts: tuple[str, ...] = option(
        NEEDED,
        "scores of images: what pqpp assess wrote, or a table with image, score and, if told, "
        "routine, angle, generator and prompt_id; may be repeated",
        metavar="FILE",
        path="file",
    )
    people: str | None = option(
        None, "choices: image_a, image_b, choice (a, b, tie), angle", metavar="FILE", path="file"
    )
    roles: str | None = option(
        None,
        "how much each angle counts for a role, in YAML (default: equal weights for the three "
        "roles that the paper names)",
        metavar="FILE",
        path="file",
    )

    def run(self) -> None:
        """Print the tables."""
        from pqpp_feedback.vistar.roles.bench import bench_vistar

        tables = bench_vistar(self.verdicts, self.people, self.roles)
        self.show("VISTAR: scores, people's choices and generators", *tables)
