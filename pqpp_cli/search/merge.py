"""`pqpp search merge`: make one index of two of the same model."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_cli.search.groups import Indexed, print_index
from pqpp_files.options.option import NEEDED, option


class SearchMerge(Indexed, Command):
    """Make one index of two."""

    other: str = option(NEEDED, "another index", metavar="OTHER", path="folder", word=True)
    output: str = option(NEEDED, "the folder to write", metavar="DIR", path="output")

    def run(self) -> None:
        """Merge, and say what it holds."""
        from pqpp_engines.index import Index

        print_index(Index(self.index).merge(Index(self.other), self.output))
