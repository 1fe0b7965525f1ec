"""The ids of a collection: in Arrow, memory-mapped, so that a hundred million take no memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_engines.errors import IndexingError

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 100_000
_BREAKS, _BLANKS = r"^$|[\r\n]", r"\s"


class ItemIds(Sequence[str]):
    """Texts of one line, each once, in the order of the items.

    Attributes:
        column: Of Arrow.

    Example:
        >>> ids = ItemIds.of(["a", "b"], 2)
        >>> ids[1], len(ids), ids == ["a", "b"]
        ('b', 2, True)
    """

    def __init__(self, column: pa.ChunkedArray) -> None:
        self.column = column

    @classmethod
    def of(cls, ids: Sequence[str], items: int) -> ItemIds:
        """Return ids, checked.

        Raises:
            IndexingError: There are not as many as items, one is empty or has a line break, or one
                stands twice.
        """
        import pyarrow as pa

        if len(ids) != items:
            raise IndexingError(f"{len(ids)} ids for {items} vectors; give one each")
        if isinstance(ids, ItemIds):
            return ids
        starts = range(0, items, _AT_ONCE)
        parts = (map(str, ids[start : start + _AT_ONCE]) for start in starts)
        chunks = [pa.array(part, pa.large_string()) for part in parts]
        return cls(pa.chunked_array(chunks, pa.large_string())).checked()

    @classmethod
    def read(cls, path: Path) -> ItemIds:
        """Return the ids of a file, which stay in it.

        Raises:
            ValueError: It is damaged, or no such file.
        """
        import pyarrow as pa

        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        if table.schema != _schema():
            raise ValueError(f"{path.name} has no column of ids")
        table.validate(full=True)
        return cls(table["id"])

    def write(self, path: Path) -> None:
        """Write them as a file of Arrow."""
        import pyarrow as pa

        table = pa.Table.from_arrays([self.column], schema=_schema())
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=_AT_ONCE)

    def and_(self, others: ItemIds) -> ItemIds:
        """Return these and others, of which none may stand twice."""
        import pyarrow as pa

        return ItemIds(pa.chunked_array([*self.column.chunks, *others.column.chunks])).checked()

    def checked(self) -> ItemIds:
        """Return them, if each is one line and stands once."""
        import pyarrow.compute as pc

        if (wrong := self._first(_BREAKS)) is not None:
            raise IndexingError(f"id {wrong!r:.80}: give ids of one line that are not empty")
        if pc.count_distinct(self.column).as_py() != len(self):
            counts = pc.value_counts(self.column)
            twice = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py()
            raise IndexingError(f"id {twice!r:.80} stands twice; keep one of them")
        return self

    def with_a_blank(self) -> str | None:
        """Return the first that has a blank, which TREC's format cannot hold."""
        return self._first(_BLANKS)

    def _first(self, pattern: str) -> str | None:
        import pyarrow.compute as pc

        place = pc.index(pc.match_substring_regex(self.column, pattern), True).as_py()
        return None if place < 0 else self[place]

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Iterator[str]:
        for chunk in self.column.chunks:
            yield from chunk.to_pylist()

    def __getitem__(self, place: Any) -> Any:
        """Return the id of an item, or those of some."""
        if isinstance(place, slice):
            return ItemIds(self.column[place])
        return self.column[int(place)].as_py()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([("id", pa.large_string())])
