"""`pqpp datasets push`: publish an exported folder on the Hub."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_cli.groups import Push
from pqpp_files.options.option import NEEDED, option


class DatasetsPush(Push, Command):
    """Publish an exported folder as a dataset on the Hub, in one commit: whole or not at all. The
    token is the one of `hf auth login` or HF_TOKEN.
    """

    folder: str = option(
        NEEDED, "as written by export or `pqpp build`", metavar="DIR", path="folder", word=True
    )
    repository: str = option(NEEDED, "where to publish", metavar="OWNER/REPOSITORY", word=True)

    def run(self) -> None:
        """Push, and print what was done."""
        from pqpp_datasets.export.parquet_folder import push_folder

        self.push(push_folder, self.folder, self.repository)
