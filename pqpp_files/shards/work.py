"""A job of shards and the place of its outputs: what any engine does for one shard."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqpp_files.errors import FileError, in_a_line
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.shards.cells import all_utf_8
from pqpp_files.shards.cut import AnyShard
from pqpp_files.shards.store import ShardStore

if TYPE_CHECKING:
    import pyarrow as pa

ERROR = "error"
"""The column in which a job says why a row could not be done; null for a good row."""

MANIFEST = "_shards.json"  # readers of folders leave out what begins so
"""The file beside the outputs that says what they were made from and how."""

Job = Callable[["pa.Table"], "pa.Table"]


@dataclass
class Work:
    """A job, and where its outputs go.

    Attributes:
        job: See `run_shards`.
        store: The place.
        manifest: What `_shards.json` must say.
        is_begun: Whether it says so.
    """

    job: Job
    store: ShardStore
    manifest: str
    is_begun: bool = False

    def do(self, shard: AnyShard) -> int | None:
        """Write the output of a shard, and return how many of its rows could not be done.

        Returns:
            None where another process has meanwhile done it.
        """
        import pyarrow.parquet

        if self.store.has(shard.name):
            return None
        table = all_utf_8(self.job(shard.read()))
        self._write_manifest()  # now that the job is known not to be refused
        content = io.BytesIO()
        pyarrow.parquet.write_table(table, content)
        return _errors(table) if self.store.put_new(shard.name, content.getvalue()) else None

    def check(self) -> set[str]:
        """Refuse a folder of another job; return the names of what is there."""
        names = self.store.names()
        if MANIFEST not in names:
            if any(name.startswith("part-") for name in names):
                raise FileError(f"{self.store} holds shards but no {MANIFEST}; name a new folder")
            return names
        wanted = parse_json(self.manifest)
        try:
            there = parse_json(self.store.read(MANIFEST).decode())
            settings, shards = dict(there["settings"]), there["shards"]
        except (ValueError, KeyError, TypeError):
            raise FileError(f"{self.store}/{MANIFEST} is damaged; name a new folder") from None
        for name in sorted({*settings, *wanted["settings"]}):
            before, now = settings.get(name), wanted["settings"].get(name)
            if before != now:
                raise FileError(
                    f"{self.store} was made with {name} {before}, not {now}; name a new folder"
                )
        if shards != wanted["shards"]:
            raise FileError(f"{self.store} was made from other rows or shards; name a new folder")
        return names

    def errors_of(self, shard: AnyShard) -> int:
        """Return how many rows of an output that is there have an error."""
        import pyarrow as pa
        import pyarrow.parquet

        try:
            with (
                self.store.open(shard.name) as opened,
                pyarrow.parquet.ParquetFile(opened) as file,
            ):
                return _errors(file.read(columns=[ERROR]))  # none is no error here
        except (pa.ArrowException, OSError) as error:
            reason = in_a_line(error, named=False)
            raise FileError(
                f"{self.store}/{shard.name} is damaged ({reason}); remove it and run again"
            ) from None

    def _write_manifest(self) -> None:
        if self.is_begun:
            return
        if self.store.has(MANIFEST) or not self.store.put_new(MANIFEST, self.manifest.encode()):
            self.check()  # another process may have begun another job since
        self.is_begun = True


def _errors(table: pa.Table) -> int:
    return len(table) - table[ERROR].null_count if ERROR in table.column_names else 0
