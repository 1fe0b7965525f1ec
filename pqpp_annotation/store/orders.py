"""The people's random orders, computed once and kept."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from threading import Lock

from sqlalchemy import Connection, func, select

from pqpp_annotation.protocol.order import shuffled
from pqpp_annotation.store.tables import Item

_KEPT = 500
_FIRST_LOOK, _MOST_AT_ONCE = 32, 2048


class Orders:
    """The people's random orders, kept until items are added."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = 0
        self._items: Mapping[str, array] = {}
        self._kept: OrderedDict[tuple[int, str], array] = OrderedDict()
        self._places: dict[int, int] = {}

    def of(self, db: Connection, seed: int, person_id: int, purpose: str) -> array:
        """Return the ids of the items of a purpose in a person's order."""
        last = db.scalar(select(func.max(Item.id))) or 0
        key = (person_id, purpose)
        with self._lock:
            if last != self._last:
                found: dict[str, array] = {}
                for item, its in db.execute(select(Item.id, Item.purpose).order_by(Item.id)):
                    found.setdefault(its, array("q")).append(item)
                self._items, self._last = found, last
                self._kept.clear()
                self._places.clear()
            if key not in self._kept:
                ids = self._items.get(purpose, ())
                self._kept[key] = array("q", shuffled(ids, seed, purpose, person_id))
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]

    def parts(self, person_id: int, order: array) -> Iterator[tuple[list[int], int]]:
        """Give an order in growing parts with their places, first from where the last item was.

        What is before was full or the person's own then, but others may have given a place back.
        """
        begin = min(self._places.get(person_id, 0), len(order))
        for start, end in ((begin, len(order)), (0, begin)):
            size = _FIRST_LOOK
            while start < end:
                part = order[start : min(start + size, end)].tolist()
                yield part, start
                start, size = start + len(part), min(size * 4, _MOST_AT_ONCE)

    def reached(self, person_id: int, place: int) -> None:
        """Keep the place at which an item was found."""
        self._places[person_id] = place
