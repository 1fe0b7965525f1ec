"""`pqpp annotate export`: write all that a study has brought."""

from __future__ import annotations

from pqpp_cli.annotate.groups import StudyFile
from pqpp_cli.command import Command
from pqpp_files.options.option import NEEDED, option


class AnnotateExport(StudyFile, Command):
    """Write all that a study has brought."""

    EPILOG = """examples:
  pqpp annotate export study.yaml --output votes
  pqpp build votes/judgments.csv --scale pqpp --output my-benchmark
  pqpp annotate export study.yaml --output votes --format label-studio

The `pqpp build` command that fits the study is printed.
"""
    output: str = option(NEEDED, "the folder to write", metavar="DIR", path="output")
    format: str = option(
        "csv",
        "of tables, or a tool's records",
        choices=("csv", "parquet", "label-studio", "argilla"),
    )

    def run(self) -> None:
        """Write it to a folder, and say what is there."""
        from pqpp_files.visible import visible

        with self.opened() as store:
            from pqpp_annotation.export import export_study

            for line in export_study(store, self.output, self.format):
                print(visible(line))
