"""Transactions on a study's database, and decorators for functions that run in one.

A decorated function accepts a `Transaction`, or a `Store`, for which it begins a transaction; a
`Store` can be used from any thread.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sqlite3
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import CursorResult, Engine, Executable, bindparam, func, orm, select, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.protocol.order import shuffle_ids
from pqpp_annotation.store.tables import Item
from pqpp_annotation.study.study import Study
from pqpp_files.atomic_write import convert_write_errors
from pqpp_files.errors import describe

BUSY_SECONDS = 10
_MOST_CACHED_ORDERS = 500
_FIRST_CHUNK, _LARGEST_CHUNK = 32, 2048
_LOCK = 0x70717070  # key of PostgreSQL's advisory lock
_LAST_ITEM_ID = select(func.max(Item.id))
_ITEM_IDS = select(Item.id).where(Item.purpose == bindparam("purpose"))
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Transaction(orm.Session):
    """A transaction on a study's database; loaded objects stay usable after its end."""

    def __init__(self, store: Store, engine: Engine) -> None:
        super().__init__(engine, expire_on_commit=False)
        self.store = store

    @property
    def study(self) -> Study:
        """The study."""
        return self.store.study

    @cached_property
    def last_item_id(self) -> int:
        """Id of the item added last, 0 without items."""
        return self.run(_LAST_ITEM_ID).scalar() or 0

    def run(self, statement: Executable, **values: Any) -> CursorResult[*tuple[Any, ...]]:
        """Run a prebuilt statement with values for its parameters, without creating ORM objects.

        Building a statement and objects for each request would take several times as long.
        """
        self.flush()
        return self.connection().execute(statement, values)

    def get_item_order(self, person_id: int, purpose: str) -> array:
        """Return the ids of the items with a purpose, in the person's cached random order."""
        key, orders = (self.last_item_id, purpose, person_id), self.store.orders
        if (order := orders.get(key)) is None:
            if len(orders) >= _MOST_CACHED_ORDERS:
                orders.clear()  # other threads may do so at any time
            item_ids = self.run(_ITEM_IDS, purpose=purpose).scalars()
            shuffled = shuffle_ids(item_ids, self.study.seed, purpose, person_id)
            orders[key] = order = array("q", shuffled)
        return order

    def now(self) -> int:
        """Return the current time of the store's clock, in milliseconds."""
        return self.store.clock()

    def lock_database(self) -> None:
        """Wait for the lock of the database, and hold it until the transaction ends."""
        if not self.store.is_sqlite:
            self.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


def split_ids(order: array) -> Iterator[list[int]]:
    """Yield ids in consecutive lists, of 32 ids at first and up to 2048 later."""
    start, size = 0, _FIRST_CHUNK
    while start < len(order):
        yield order[start : start + size].tolist()
        start, size = start + size, min(size * 4, _LARGEST_CHUNK)


class Store:
    """A study's database.

    Args:
        engine: The SQLAlchemy engine from `open_store`.

    Attributes:
        clock: Returns the time in milliseconds since 1970, UTC; tests replace it.
        orders: Cache of people's random orders of items.
        inode: Number of the SQLite file that was opened, None until then.
    """

    def __init__(self, engine: Engine, study: Study) -> None:
        self.engine, self.study = engine, study
        self.clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
        self.orders: dict[tuple[int, str, int], array] = {}
        self.inode: int | None = None
        # Writers of one process wait for these locks, as SQLite's own queue is unfair. At most one
        # locking writer waits for `_write_lock`, so that saving answers is not delayed.
        self._write_lock = threading.Lock() if self.is_sqlite else contextlib.nullcontext()
        self._exclusive_lock = threading.Lock()
        self._writer = engine.execution_options(pqpp_writes=True)
        # All reads of a transaction see the same state, as always in SQLite.
        isolation = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reader = engine.execution_options(**isolation)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @cached_property
    def name(self) -> str:
        """The database's name in messages: its path, or its URL without password."""
        return str(self.engine.url.database) if self.is_sqlite else repr(self.engine.url)

    @contextlib.contextmanager
    def begin_read(self) -> Iterator[Transaction]:
        """Yield a transaction in which all reads see the same state."""
        with self._convert_errors(), Transaction(self, self._reader) as db:
            yield db

    @contextlib.contextmanager
    def begin_write(self, lock: bool = False) -> Iterator[Transaction]:
        """Yield a transaction that is committed to disk at the end of the block, or rolled back.

        Args:
            lock: Whether other locking transactions wait, in all processes; SQLite allows one
                writer at a time anyway.
        """
        exclusive_lock = self._exclusive_lock if lock else contextlib.nullcontext()
        with (
            self._convert_errors(),
            exclusive_lock,
            self._write_lock,
            Transaction(self, self._writer) as db,
            db.begin(),
        ):
            if lock:
                db.lock_database()
            yield db

    @contextlib.contextmanager
    def hold_server_lock(self) -> Iterator[None]:
        """Hold a file lock so that one process serves an SQLite database; PostgreSQL needs none.

        Raises:
            AnnotationError: Another process serves it.
        """
        if not self.is_sqlite:
            yield
            return
        from filelock import FileLock, Timeout

        try:
            server_lock = FileLock(f"{self.name}.serving", timeout=0).acquire()
        except Timeout:
            problem = f"{self.name}: another process already serves this study"
            raise AnnotationError(f"{problem}; stop that process, or use PostgreSQL") from None
        with server_lock:
            yield

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Convert a database error to a one-line error with the fix."""
        try:
            with convert_write_errors(self.name):
                path = Path(self.name)
                # SQLite would apply the log of the old file to the new one.
                if self.inode and not (path.is_file() and path.stat().st_ino == self.inode):
                    problem = f"{path} was moved, deleted or replaced"
                    raise AnnotationError(f"{problem}; stop pqpp and start it again", 503)
                yield
        except (OverflowError, DataError) as error:
            if isinstance(error, OverflowError) and "SQLite" not in str(error):
                raise
            raise AnnotationError("a number or text is too large; use a smaller one", 403) from None
        except (DBAPIError, sqlite3.Error, UnicodeDecodeError) as error:
            reason = describe(getattr(error, "orig", None) or error, named=False)
            if any(words in reason for words in ("locked", "lock timeout", "deadlock detected")):
                problem = f"{self.name} is busy and did not respond within {BUSY_SECONDS} s"
                raise AnnotationError(f"{problem}; try again", 503) from error
            connection_errors = "connect|unable to open|I/O|read-?only|timeout|No space"
            is_lost = getattr(error, "connection_invalidated", False)
            if is_lost or re.search(connection_errors, reason):
                message = f"{self.name} cannot be used ({reason}); restore access to it"
                raise AnnotationError(message, 503) from error
            if isinstance(error, IntegrityError):  # a bug in pqpp, not in the file
                raise
            message = f"{self.name} is damaged or not a database ({reason}); restore a backup"
            raise AnnotationError(message, 503) from error


Step = Callable[Concatenate[Transaction, Arguments], Result]
Function = Callable[Concatenate[Store | Transaction, Arguments], Result]


def _make_transactional(
    begin: Callable[[Store], AbstractContextManager[Transaction]],
) -> Callable[[Step[Arguments, Result]], Function[Arguments, Result]]:
    def decorate(step: Step[Arguments, Result]) -> Function[Arguments, Result]:
        @functools.wraps(step)
        def run_in_transaction(
            source: Store | Transaction, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> Result:
            if isinstance(source, Transaction):
                return step(source, *args, **kwargs)
            with begin(source) as db:
                return step(db, *args, **kwargs)

        return run_in_transaction

    return decorate


reads = _make_transactional(Store.begin_read)
writes = _make_transactional(Store.begin_write)
writes_locked = _make_transactional(lambda store: store.begin_write(lock=True))
