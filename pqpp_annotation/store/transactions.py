"""The transactions on a study's database, and the functions of the store that run in one.

Each of these functions accepts a `Transaction`, of which it becomes a part; with a
`Store` it runs in a transaction of its own, from any thread.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import CursorResult, Engine, Executable, bindparam, func, orm, select, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.protocol.order import shuffle
from pqpp_annotation.store.tables import Item
from pqpp_annotation.study.study import Study
from pqpp_files.atomic_write import explain_full_disk
from pqpp_files.errors import to_line

BUSY_SECONDS = 10
_KEPT = 500  # orders of people
_FIRST_LOOK, _MOST_AT_ONCE = 32, 2048
_LOCK = 0x70717070  # of PostgreSQL, for what only one may do at a time
_LAST_ITEM = select(func.max(Item.id))
_ITEMS = select(Item.id).where(Item.purpose == bindparam("purpose"))
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Transaction(orm.Session):
    """A transaction on a study's database; what it has read may be used after its end."""

    def __init__(self, store: Store, engine: Engine) -> None:
        super().__init__(engine, expire_on_commit=False)
        self.store = store

    @property
    def study(self) -> Study:
        """The study."""
        return self.store.study

    @cached_property
    def last_item(self) -> int:
        """The id of the item that was added last, as this transaction sees it."""
        return self.run(_LAST_ITEM).scalar() or 0

    def run(self, statement: Executable, **values: Any) -> CursorResult[*tuple[Any, ...]]:
        """Run a statement that was built once, with its values: no object is made of a row.

        Every request of an annotator uses this; to build a statement, and objects of its rows,
        takes several times as long as to run it.
        """
        self.flush()
        return self.connection().execute(statement, values)

    def order(self, person_id: int, purpose: str) -> array:
        """Return the items of a purpose in a person's order; cached until items are added."""
        key, orders = (self.last_item, purpose, person_id), self.store.orders
        if key not in orders:
            if len(orders) >= _KEPT:
                orders.clear()
            items = self.run(_ITEMS, purpose=purpose).scalars()
            orders[key] = array("q", shuffle(items, self.study.seed, purpose, person_id))
        return orders[key]

    def now(self) -> int:
        """Return the time by the store's clock."""
        return self.store.clock()

    def lock_alone(self) -> None:
        """Wait until all other transactions that called this have ended."""
        if not self.store.is_sqlite:
            self.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


def to_chunks(order: array) -> Iterator[list[int]]:
    """Yield an order in growing chunks."""
    start, size = 0, _FIRST_LOOK
    while start < len(order):
        yield order[start : start + size].tolist()
        start, size = start + size, min(size * 4, _MOST_AT_ONCE)


class Store:
    """A study's database.

    Args:
        engine: The SQLAlchemy engine from `open_store`.

    Attributes:
        clock: Returns the time in milliseconds since 1970, UTC; a test may put another here.
        orders: The people's random orders of the items.
    """

    def __init__(self, engine: Engine, study: Study) -> None:
        self.engine, self.study = engine, study
        self.clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
        self.orders: dict[tuple[int, str, int], array] = {}
        # In one process writers queue here, which is fairer than SQLite's own waiting; of those who
        # want to be alone one stands in the queue at a time, so that answers do not wait for them.
        self._turn = threading.Lock() if self.is_sqlite else contextlib.nullcontext()
        self._alone = threading.Lock()
        self._writer = engine.execution_options(pqpp_writes=True)
        # All reads of a transaction see one state; on SQLite they do anyway.
        level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reader = engine.execution_options(**level)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @cached_property
    def name(self) -> str:
        """What the database is called in messages: its path, or its address without password."""
        return str(self.engine.url.database) if self.is_sqlite else repr(self.engine.url)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Yield a transaction whose reads all see one state."""
        with self._explain_errors(), Transaction(self, self._reader) as db:
            yield db

    @contextlib.contextmanager
    def writing(self, alone: bool = False) -> Iterator[Transaction]:
        """Yield a transaction whose writes are on disk when the block ends, or not at all.

        Args:
            alone: Whether all other such blocks wait, in any process; on SQLite, where one writes
                at a time, it is always so.
        """
        first = self._alone if alone else contextlib.nullcontext()
        with (
            self._explain_errors(),
            first,
            self._turn,
            Transaction(self, self._writer) as db,
            db.begin(),
        ):
            if alone:
                db.lock_alone()
            yield db

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Hold the exclusive right to serve an SQLite file.

        Raises:
            AnnotationError: Another process serves it.
        """
        if not self.is_sqlite:
            yield
            return
        from filelock import FileLock, Timeout

        try:
            held = FileLock(f"{self.name}.serving", timeout=0).acquire()
        except Timeout:
            raise AnnotationError(
                f"{self.name} is already being served by another process; stop it, or use "
                "PostgreSQL"
            ) from None
        with held:
            yield

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Turn a database error into one line with the fix."""
        try:
            with explain_full_disk(self.name):
                yield
        except (OverflowError, DataError) as error:
            if isinstance(error, OverflowError) and "SQLite" not in str(error):
                raise
            raise AnnotationError("no entry with this number or text", 403) from None
        except (DBAPIError, sqlite3.Error, UnicodeDecodeError) as error:
            reason = to_line(getattr(error, "orig", None) or error, named=False)
            if any(words in reason for words in ("locked", "lock timeout", "deadlock detected")):
                raise AnnotationError(
                    f"{self.name} has been busy for {BUSY_SECONDS} s; try again", 503
                ) from error
            is_lost = getattr(error, "connection_invalidated", False)
            elsewhere = ("connect", "unable to open", "I/O", "readonly")
            if is_lost or any(words in reason for words in elsewhere):
                raise AnnotationError(
                    f"{self.name} cannot be reached ({reason}); try again", 503
                ) from error
            if isinstance(error, IntegrityError):  # a defect of ours, not of the file
                raise
            raise AnnotationError(
                f"{self.name} is damaged or not a database ({reason}); restore a backup", 503
            ) from error


Step = Callable[Concatenate[Transaction, Arguments], Result]
Function = Callable[Concatenate[Store | Transaction, Arguments], Result]


def _run_in_transaction(
    begin: Callable[[Store], AbstractContextManager[Transaction]],
) -> Callable[[Step[Arguments, Result]], Function[Arguments, Result]]:
    def joining(step: Step[Arguments, Result]) -> Function[Arguments, Result]:
        @functools.wraps(step)
        def function(
            source: Store | Transaction, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> Result:
            if isinstance(source, Transaction):
                return step(source, *args, **kwargs)
            with begin(source) as db:
                return step(db, *args, **kwargs)

        return function

    return joining


reads = _run_in_transaction(Store.reading)
writes = _run_in_transaction(Store.writing)
writes_alone = _run_in_transaction(lambda store: store.writing(alone=True))
