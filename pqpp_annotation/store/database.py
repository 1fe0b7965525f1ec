"""Making and opening a study's database: SQLite in a file, or PostgreSQL."""

import contextlib
import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from sqlalchemy import URL, select, text

from pqpp_annotation.errors import StoreError
from pqpp_annotation.store import schema
from pqpp_annotation.store.engine import make_engine, sqlite_url, url_of
from pqpp_annotation.store.items import add_items
from pqpp_annotation.store.tables import StudyRow
from pqpp_annotation.store.transactions import Store
from pqpp_annotation.study.images import CheckedImage
from pqpp_annotation.study.items import NewItem
from pqpp_annotation.study.study import Study, study_of
from pqpp_files.errors import FileError
from pqpp_files.foreign.databases import open_sqlite

_FIXED = ("name", "kind", "seed")


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
    given = study if isinstance(study, Study) else None
    url = url_of(given.database, given.root) if given else url_of(os.fspath(study), Path())
    # Without a study file the study is known as soon as the database is read.
    store = Store(make_engine(url), cast("Study", given))
    try:
        if store.is_sqlite and not Path(store.name).is_file():
            raise StoreError(f"{store.name} does not exist; make it by pqpp annotate init")
        if store.is_sqlite:
            with contextlib.suppress(OSError):  # another's, or a file system without modes
                Path(store.name).chmod(0o600)
        _upgrade(url, store)
        with store.writing(alone=True) as db:
            row = db.scalar(select(StudyRow))
            if row is None:
                raise StoreError(f"{store.name} holds no study; make it by pqpp annotate init")
            if not (isinstance(row.config, dict) and row.config.keys() >= set(_FIXED)):
                raise StoreError(f"{store.name} holds no settings of a study; go back to a backup")
            if given is None:
                folder = Path(store.name).parent if store.is_sqlite else Path()
                store.study = study_of(row.config, folder)
            else:
                _take_over(row, given.config())
    except BaseException:
        store.close()
        raise
    return store


def create_store(
    study: Study, items: Sequence[NewItem], images: Sequence[CheckedImage], is_first: bool = False
) -> None:
    r"""Make the database of a new study with its items; whole, or not at all.

    Args:
        study: The study; `items` and `images` are what it shows.
        is_first: Whether it has no study file, so that a database of it which nobody has used was
            left by a killed run, and is replaced.

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
    path = Path(str(url.database))
    if path.exists() and not (is_first and _is_abandoned(path, study)):
        raise StoreError(f"{path} is there already; name another database, or add by --add")
    with write_beside(path, is_secret=True) as beside:
        _fill(sqlite_url(beside), study, items, images)


def drop_store(study: Study) -> None:
    """Remove the file of a database that `create_store` has just made."""
    url = url_of(study.database, study.root)
    if url.get_backend_name() == "sqlite":
        Path(str(url.database)).unlink(missing_ok=True)


def _is_abandoned(path: Path, study: Study) -> bool:
    """Tell whether a run was killed before it wrote the study file: nobody knows this database."""
    with contextlib.suppress(FileError, sqlite3.Error), open_sqlite(path) as database:
        configs = [config for (config,) in database.execute("SELECT config FROM study")]
        people = database.execute("SELECT id FROM person UNION ALL SELECT id FROM invitation")
        return configs == [json.dumps(study.config())] and people.fetchone() is None
    return False


def _upgrade(url: URL, store: Store) -> None:
    """Bring a database to this version's tables, where it is not."""
    with store.reading() as db:
        if schema.revision_of(db.connection()) == schema.NEWEST_TABLES:
            return
    # SQLite alters a table by making it anew, for which references to it must not be looked at.
    unchecked = Store(make_engine(url, references=False), store.study)
    with closing(unchecked), unchecked.writing(alone=True) as db:
        schema.bring_up_to_date(db.connection(), store.name)
        broken = db.execute(text("PRAGMA foreign_key_check")).first() if store.is_sqlite else ()
        if broken:
            raise StoreError(f"{store.name}: {broken[0]} refers to what is not there")


def _fill(url: URL, study: Study, items: Sequence[NewItem], images: Sequence[CheckedImage]) -> None:
    with closing(Store(make_engine(url), study)) as store:
        with store.writing(alone=True) as db:
            schema.bring_up_to_date(db.connection(), store.name)
            if db.scalar(select(StudyRow)):
                raise StoreError(f"{store.name} holds a study already; name another database")
            row = {"name": study.name, "kind": study.kind_name, "seed": study.seed}
            db.add(StudyRow(**row, config=study.config(), created=db.now()))
        add_items(store, items, images)


def _take_over(row: StudyRow, config: dict[str, Any]) -> None:
    """Keep what the study file says now, if it is the study that the database is of."""
    for name in _FIXED:
        if config[name] != row.config[name]:
            raise StoreError(
                f"{name}: the study file has {config[name]!r:.60}, its database "
                f"{row.config[name]!r:.60}; set it back, or name another database"
            )
    row.config = config
