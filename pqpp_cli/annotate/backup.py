"""`pqpp annotate backup`: copy the database while people work."""

from __future__ import annotations

from pqpp_cli.annotate.groups import StudyFile
from pqpp_cli.command import Command
from pqpp_files.options.option import NEEDED, option


class AnnotateBackup(StudyFile, Command):
    """Copy the database while people work."""

    EPILOG = """examples:
  pqpp annotate backup study.yaml --output monday.db

One SQLite file with all but the images, made while people work, from SQLite and from PostgreSQL.
To go back to it, name it as `database` in the study file.
"""
    output: str = option(
        NEEDED, "the file to write", metavar="FILE", path="output file", holds=("SQLite",)
    )

    def run(self) -> None:
        """Copy the database."""
        from pqpp_files.visible import visible

        with self.opened(self.output) as store:
            from pqpp_annotation.store.backup import backup

            place = backup(store, self.output)
        size = f"{place.stat().st_size:,} bytes"
        print(visible(f"written: {place} ({size}; the images are not in it)"))
