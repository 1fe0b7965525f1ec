"""`pqpp search embed`: embed texts or images from shard to shard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_cli.groups import ColumnOptions, Shards
from pqpp_cli.search.groups import EncoderOptions
from pqpp_files.options.option import NEEDED, option

if TYPE_CHECKING:
    from pqpp_engines.index.embed import EmbedShard


class SearchEmbed(EncoderOptions, ColumnOptions, Shards, Command):
    """Embed a column of texts, or the images that a column names, from Parquet or CSV into a folder
    of shards, which pqpp search build takes, and for texts pqpp search retrieve.
    """

    SHARD_SIZE = 10_000
    model: str = option(NEEDED, "as of pqpp search build")
    file: str = option(NEEDED, "texts or images' paths", metavar="FILE", path="file")
    column: str = option("prompt", "its column of them")
    image_dir: str | None = option(
        None,
        "the folder of the images; texts are embedded without",
        metavar="DIR",
        path="images",
    )
    batch_size: int = option(64, "texts at once, on a GPU", metavar="N")
    output: str = option(NEEDED, "the folder to write", metavar="DIR", path="output")
    shard_size: int | None = option(None, "rows of a shard (default: 10000)")

    def run(self) -> None:
        """Embed from shard to shard."""
        if self.image_dir and not Path(self.image_dir).is_dir():
            raise CommandError(f"`image_dir` {self.image_dir}: there is no such folder")
        self.work_on_shards(self.file, self.output, self._job)

    def _job(self) -> tuple[EmbedShard, dict, str]:
        from pqpp_engines.index.embed import EmbedShard

        job = EmbedShard(self.model, self.column, self.image_dir, self.revision, self.batch_size)
        settings = job.settings
        if self.has_many_workers:
            del job.encoder  # each worker has its own
        return job, settings, self.output
