"""`pqpp search show`: say what an index holds."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_cli.search.groups import Indexed, print_index


class SearchShow(Indexed, Command):
    """Say what an index holds."""

    def run(self) -> None:
        """Print its configuration."""
        from pqpp_engines.index import Index

        print_index(Index(self.index))
