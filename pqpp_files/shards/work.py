"""A job of shards and the place of its outputs: what any engine does for one shard."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

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
_OF_A_COMMIT = 25  # shards


class Done(NamedTuple):
    """What came of a shard.

    Attributes:
        errors: How many of its rows could not be done; None where another process has done it.
        content: Its output, where that is put with others.
    """

    errors: int | None
    content: bytes | None = None


@dataclass
class Work:
    """A job, and where its outputs go.

    Attributes:
        job: See `run_shards`.
        store: The place.
        manifest: What `_shards.json` must say.
        is_begun: Whether it says so.
        folder: From which relative paths are meant, where a worker may have been begun elsewhere.
    """

    job: Job
    store: ShardStore
    manifest: str
    is_begun: bool = False
    folder: str | None = None

    def do(self, shard: AnyShard) -> Done:
        """Write the output of a shard, or return it where the store gathers outputs."""
        import pyarrow.parquet

        if self.folder is not None:
            with contextlib.suppress(OSError):  # a node may have no such folder, and need none
                os.chdir(self.folder)
        if self.store.has(shard.name):
            return Done(None)
        table = all_utf_8(self.job(shard.read()))
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(table, buffer)
        if self.store.gathers:
            return Done(_errors(table), buffer.getvalue())
        self._write_manifest()  # now that the job is known not to be refused
        is_new = self.store.put_new(shard.name, buffer.getvalue())
        return Done(_errors(table) if is_new else None)

    def committed(
        self, done: Iterator[tuple[AnyShard, Done]]
    ) -> Iterator[tuple[AnyShard, int | None]]:
        """Pass on what is done, and put what is gathered, many outputs at a time."""
        gathered: dict[str, bytes] = {}
        try:
            for shard, (errors, content) in done:
                if content is not None:
                    gathered[shard.name] = content
                if len(gathered) >= _OF_A_COMMIT:
                    self._commit(gathered)
                yield shard, errors
        except BaseException as first:  # what is done stays, and why the job ends is told
            try:
                self._commit(gathered)
            except FileError as second:
                raise first from second
            raise
        self._commit(gathered)

    def _commit(self, gathered: dict[str, bytes]) -> None:
        there = self.check() if gathered else set()  # another run may have put some meanwhile
        new = {name: content for name, content in gathered.items() if name not in there}
        if new:
            begun = MANIFEST in there
            self.store.commit(new | ({} if begun else {MANIFEST: self.manifest.encode()}))
        gathered.clear()

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
            with self.store.open(shard.name) as opened, pyarrow.parquet.ParquetFile(opened) as file:
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
