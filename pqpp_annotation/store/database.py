"""Opening a study's database: SQLite in a file, or PostgreSQL; each method is one transaction."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError

from pqpp_annotation.errors import NotAllowedError, StoreError
from pqpp_annotation.store import schema, tables
from pqpp_annotation.store.answers import StoredAnswers
from pqpp_annotation.store.engine import BUSY_SECONDS, make_engine, sqlite_url, url_of
from pqpp_annotation.store.events import Events
from pqpp_annotation.store.invitations import Invitations
from pqpp_annotation.store.people import Participants
from pqpp_annotation.store.rows import ItemCounts, StoredImage
from pqpp_annotation.store.work import Work
from pqpp_annotation.study.images import CheckedImage
from pqpp_annotation.study.items import NewItem
from pqpp_annotation.study.study import Study, study_of
from pqpp_files.errors import in_a_line
from pqpp_files.full_disk import naming

_LOCK = 0x70717070  # of PostgreSQL, for what only one may do at a time
_FIXED = ("name", "kind", "seed")


class Store:
    """A study's database.

    Every method of `people`, `invitations`, `work`, `answers` and `events` is one transaction, and
    may be called from any thread.

    Args:
        engine: Of SQLAlchemy, as `open_store` makes it.
        study: What the study file says; what the database says if left out.

    Attributes:
        study: The study.
        clock: Returns the time in milliseconds since 1970, UTC; a test may put another here.
        people: Who takes part.
        invitations: The links.
        work: What is to be done by whom.
        answers: What people said.
        events: What happened when.
    """

    def __init__(self, engine: Engine, study: Study) -> None:
        self.engine, self.study = engine, study
        self.clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
        # In one process writers queue here, which is fairer than SQLite's own waiting; of those who
        # want to be alone one stands in the queue at a time, so that answers do not wait for them.
        self._turn = threading.Lock() if self.is_sqlite else contextlib.nullcontext()
        self._alone = threading.Lock()
        self._writer = engine.execution_options(pqpp_writes=True)
        # All reads of a transaction see one state; on SQLite they do anyway.
        level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reader = engine.execution_options(**level)
        self.people, self.invitations = Participants(self), Invitations(self)
        self.work, self.answers, self.events = Work(self), StoredAnswers(self), Events(self)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @cached_property
    def name(self) -> str:
        """What the database is called in messages: its path, or its address without password."""
        return self.engine.url.database if self.is_sqlite else repr(self.engine.url)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection of which all reads see one state."""
        with self._telling(), self._reader.connect() as db, db.begin():
            yield db

    @contextlib.contextmanager
    def writing(self, alone: bool = False) -> Iterator[Connection]:
        """Give a connection whose writes are on the disk when the block ends, or not at all.

        Args:
            alone: Whether no other such block runs meanwhile, in any process; on SQLite, where one
                writes at a time, it is always so.
        """
        first = self._alone if alone else contextlib.nullcontext()
        with self._telling(), first, self._turn, self._writer.begin() as db:
            if alone:
                self.be_alone(db)
            yield db

    def be_alone(self, db: Connection) -> None:
        """Wait until no other transaction that asked for it is there."""
        if not self.is_sqlite:
            db.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})

    def ping(self) -> None:
        """Raise a `StoreError` where the database does not answer."""
        with self.reading() as db:
            db.execute(text("SELECT 1"))

    def image(self, sha256: str) -> StoredImage:
        """Return where an image lies; its hash is the only way to it.

        Raises:
            NotAllowedError: The study has no such image.
        """
        with self.reading() as db:
            asset = tables.Asset
            columns = (asset.location, asset.media_type, asset.width, asset.height, asset.size)
            found = db.execute(select(*columns).where(asset.sha256 == sha256)).first()
        if found is None:
            raise NotAllowedError("this study has no such image")
        return StoredImage(self.study.root / found[0], *found[1:])

    def count_items(self) -> ItemCounts:
        """Return how many items there are, by what they are for."""
        item = tables.Item
        query = select(item.purpose, func.count(), func.count().filter(self._is_full()))
        with self.reading() as db:
            rows = db.execute(query.group_by(item.purpose)).all()
        found = {purpose: (count, full) for purpose, count, full in rows}
        work, full = found.get("work", (0, 0))
        return ItemCounts(
            work, full, found.get("control", (0, 0))[0], found.get("training", (0, 0))[0]
        )

    def _is_full(self):
        return tables.Item.done >= self.study.people_per_item

    def add_items(self, items: list[NewItem], images: list[CheckedImage]) -> int:
        """Add items and their images, while people work; items that are there already stay.

        Returns:
            How many are new.

        Raises:
            StoreError: One is there already with another prompt; then nothing is added.
        """
        now = self.clock()
        with self.writing(alone=True) as db:
            own = {image.sha256: vars(image) for image in images}
            for known in db.scalars(select(tables.Asset.sha256)):
                own.pop(known, None)
            if own:
                db.execute(insert(tables.Asset), list(own.values()))
            columns = (tables.Item.prompt_id, tables.Item.part, tables.Item.prompt)
            there = {(one, part): prompt for one, part, prompt in db.execute(select(*columns))}
            new = [item for item in items if (item.prompt_id, item.part) not in there]
            for item in items:
                if there.get((item.prompt_id, item.part), item.prompt) != item.prompt:
                    raise StoreError(
                        f"prompt_id {item.prompt_id:.60} is there already with another prompt; "
                        "give each prompt an id of its own"
                    )
            first = (db.scalar(select(func.max(tables.Item.id))) or 0) + 1
            rows, shown = [], []
            for number, item in enumerate(new, first):
                plain = {k: v for k, v in vars(item).items() if k != "images"}
                rows.append({"id": number, "done": 0, "created": now, **plain})
                shown += [
                    {"item_id": number, "position": place, **vars(image)}
                    for place, image in enumerate(item.images)
                ]
            if rows:
                db.execute(insert(tables.Item), rows)
                db.execute(insert(tables.ItemImage), shown)
        return len(new)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Hold the right to serve an SQLite file, of which one process at a time has it.

        Raises:
            StoreError: Another process serves it.
        """
        if not self.is_sqlite:
            yield
            return
        from filelock import FileLock, Timeout

        lock = FileLock(f"{self.engine.url.database}.serving", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise StoreError(
                f"{self.name} is served already by another process; stop that one, or use "
                "PostgreSQL, which several may serve"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn what a database says into one line that tells what to do."""
        try:
            with naming(self.name):
                yield
        except OverflowError as error:
            if "SQLite" not in str(error):
                raise
            raise NotAllowedError("there is nothing with a number as large as that") from None
        except DBAPIError as error:
            said = in_a_line(error.orig or error, named=False)
            if any(one in said for one in ("locked", "lock timeout", "deadlock detected")):
                raise StoreError(
                    f"{self.name} has been busy for {BUSY_SECONDS} s; try again"
                ) from error
            if "not a database" in said or "malformed" in said:
                raise StoreError(f"{self.name} is no database, or damaged ({said})") from error
            if error.connection_invalidated or "connect" in said or "unable to open" in said:
                raise StoreError(f"{self.name} cannot be reached ({said}); try again") from error
            raise


def open_store(study: Study | str | os.PathLike[str]) -> Store:
    r"""Open the database of a study, brought to this version's tables.

    Args:
        study: The study, as `read_study` reads it; or a database's path or PostgreSQL URL, whose
            own record of the study is taken then.

    Raises:
        StoreError: It is not there, holds no study or another one, or is of a newer version.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.study.init import make_study
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> store = open_store(study)
        >>> store.study.name == study.name, store.is_sqlite
        (True, True)
        >>> store.close()
    """
    own = study if isinstance(study, Study) else None
    url = url_of(own.database, own.root) if own else url_of(os.fspath(study), Path())
    store = Store(make_engine(url), own)
    try:
        if store.is_sqlite and not Path(store.name).is_file():
            raise StoreError(f"{store.name} is not there; make it by pqpp annotate init")
        _upgrade(url, store)
        with store.writing(alone=True) as db:
            kept = db.scalar(select(tables.StudyRow.config))
            if kept is None:
                raise StoreError(f"{store.name} holds no study; make it by pqpp annotate init")
            if store.study is None:
                folder = Path(store.name).parent if store.is_sqlite else Path()
                store.study = study_of(kept, folder)
            else:
                _take_over(db, store.study, kept)
    except BaseException:
        store.close()
        raise
    return store


def _upgrade(url: URL, store: Store) -> None:
    """Bring a database to this version's tables, where it is not."""
    with store.reading() as db:
        if schema.revision_of(db) == schema.NEWEST:
            return
    # SQLite alters a table by making it anew, for which references to it must not be looked at.
    other = Store(make_engine(url, references=False), store.study)
    try:
        with other.writing(alone=True) as db:
            schema.bring_up_to_date(db, store.name)
            broken = db.execute(text("PRAGMA foreign_key_check")).first() if store.is_sqlite else ()
            if broken:
                raise StoreError(f"{store.name}: {broken[0]} refers to what is not there")
    finally:
        other.close()


def create_store(study: Study, items: list[NewItem], images: list[CheckedImage]) -> None:
    r"""Make the database of a new study with its items; whole, or not at all.

    Raises:
        StoreError: There is one already.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.study.init import make_study
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> create_store(study, [], [])
        Traceback (most recent call last):
            ...
        pqpp_annotation.errors.StoreError: ...db is there already; name another database, ...
    """
    from pqpp_files.write_beside import write_beside

    url = url_of(study.database, study.root)
    if url.get_backend_name() != "sqlite":
        _fill(url, study, items, images)
        return
    path = Path(url.database)
    if path.exists():
        raise StoreError(f"{path} is there already; name another database, or add by --add")
    with write_beside(path) as beside:
        _fill(sqlite_url(beside), study, items, images)


def _fill(url: URL, study: Study, items: list[NewItem], images: list[CheckedImage]) -> None:
    store = Store(make_engine(url), study)
    try:
        with store.writing(alone=True) as db:
            schema.bring_up_to_date(db, store.name)
            if db.scalar(select(func.count()).select_from(tables.StudyRow)):
                raise StoreError(f"{store.name} holds a study already; name another database")
            row = {"name": study.name, "kind": study.kind_name, "seed": study.seed}
            row |= {"config": study.config(), "created": store.clock()}
            db.execute(insert(tables.StudyRow).values(row))
        store.add_items(items, images)
    finally:
        store.close()


def _take_over(db: Connection, study: Study, kept: dict) -> None:
    """Keep what the study file says now, if it is the study that the database is of."""
    told = study.config()
    for name in _FIXED:
        if told[name] != kept[name]:
            raise StoreError(
                f"{name}: the study file has {told[name]!r:.60}, its database {kept[name]!r:.60}; "
                "set it back, or name another database"
            )
    if told != kept:
        db.execute(update(tables.StudyRow).values(config=told))
