"""Creating, opening and copying a study's database: an SQLite file, or PostgreSQL."""

import contextlib
import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, URL, Engine, create_engine, event, func, inspect, make_url, select
from sqlalchemy.exc import ArgumentError

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.items import add_items
from pqpp_annotation.store.tables import VERSION, StudyRow, StudyTable
from pqpp_annotation.store.transactions import BUSY_SECONDS, Store, Transaction
from pqpp_annotation.study.images import CheckedImage
from pqpp_annotation.study.prompts import NewItem
from pqpp_annotation.study.study import Study
from pqpp_files.atomic_write import atomic_write
from pqpp_files.errors import FileError
from pqpp_files.extras import require_extra
from pqpp_files.foreign.databases import open_sqlite
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.paths import expand, join_inside

_CONNECTIONS = 20
_TYPES = {int: ["integer"], bool: ["integer"], float: ["real", "integer"], str: ["text"]}
_TYPES |= {dict: ["object", "array"], object: ["object", "array"]}  # JSON in SQLAlchemy 2.0, 2.1


def get_database_url(name: str, folder: Path) -> URL:
    """Return a database's URL.

    Args:
        name: A path, or `$NAME` of an environment variable with a URL of PostgreSQL or SQLite.
        folder: The folder of the study file, out of which no path or link may lead.

    Raises:
        AnnotationError: The variable contains no such URL.
        FileError: The path leads out of the folder.

    Example:
        >>> get_database_url("a.db", Path("/mine"))
        sqlite:////mine/a.db
    """
    if not name.startswith("$"):
        return make_sqlite_url(join_inside(folder, name).absolute())
    # A study file may come from somebody else: it must not reveal other variables.
    with contextlib.suppress(ArgumentError, ValueError):
        url = make_url(os.environ.get(name[1:], ""))
        if url.get_backend_name() in ("postgresql", "postgres"):
            return url.set(drivername="postgresql+psycopg")
        if url.get_backend_name() == "sqlite" and url.database:
            return make_sqlite_url(Path(url.database).absolute())
    example = "postgresql://USER@HOST/NAME or sqlite:////FOLDER/study.db"
    raise AnnotationError(f"database: set {name} to a URL such as {example}")


def make_sqlite_url(path: Path) -> URL:
    """Return the URL of an SQLite file; the name can have any characters.

    Example:
        >>> str(make_sqlite_url(Path("mine.db")))
        'sqlite:///mine.db'
    """
    return URL.create("sqlite", database=str(path))


def make_engine(url: URL) -> Engine:
    """Create the engine for a database; SQLite uses a write-ahead log, flushed at each commit.

    Example:
        >>> import tempfile
        >>> engine = make_engine(make_sqlite_url(Path(tempfile.mkdtemp()) / "mine.db"))
        >>> with engine.connect() as db:
        ...     db.exec_driver_sql("PRAGMA foreign_keys").scalar()
        1
    """
    options: dict[str, Any] = {"pool_size": _CONNECTIONS, "max_overflow": _CONNECTIONS}
    options["json_deserializer"] = parse_json_cell
    if url.get_backend_name() != "sqlite":
        with require_extra("a study in PostgreSQL", "postgresql"):
            import psycopg  # noqa: F401
        return create_engine(url, pool_pre_ping=True, **options)
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, **options)

    @event.listens_for(engine, "connect")
    def set_pragmas(connection, _record):
        connection.isolation_level = None  # no implicit transactions
        for setting in ("foreign_keys=ON", "synchronous=FULL", "journal_mode=WAL"):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def begin_transaction(db):
        writes = db.get_execution_options().get("pqpp_writes")
        db.connection.driver_connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def parse_json_cell(text: str | bytes) -> Any:
    """Parse a JSON cell of the database.

    Raises:
        FileError: The cell is not JSON.

    Example:
        >>> parse_json_cell('{"label": 2}')
        {'label': 2}
    """
    return parse_json(text, "a cell of the study's database", remedy="restore a backup")


def open_store(study: Study) -> Store:
    r"""Open the database of a study and store the study's current settings in it.

    Raises:
        AnnotationError: The database is missing, contains no study or another one, or has another
            version.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.study.prompts import make_study
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> store = open_store(study)
        >>> store.study.name == study.name, store.is_sqlite
        (True, True)
        >>> store.close()
    """
    store = Store(make_engine(get_database_url(study.database, study.root)), study)
    try:
        if store.is_sqlite:
            if not Path(store.name).is_file():
                raise AnnotationError(f"{store.name} not found; create it with pqpp annotate init")
            store.inode = Path(store.name).stat().st_ino
        with store.begin_write(lock=True) as db:
            is_study = inspect(db.connection()).has_table("study")
            version = db.scalar(select(StudyRow.version)) if is_study else None
            if version is None:
                raise AnnotationError(f"{store.name} contains no study; run pqpp annotate init")
            if version != VERSION:
                problem = f"{store.name}: expected table version {VERSION}, got {version}"
                raise AnnotationError(f"{problem}; use the pqpp version that created it")
            if store.is_sqlite:  # PostgreSQL checks types itself
                _check_types(db, store.name)
            row = db.scalars(select(StudyRow)).one()
            config = study.to_config()
            for name in ("name", "kind", "seed"):
                if config[name] != row.config.get(name):
                    stored = f"but {row.config.get(name)!r:.60} in the database"
                    problem = f"`{name}` is {config[name]!r:.60} in the study file, {stored}"
                    raise AnnotationError(f"{problem}; change it back, or set a new `database`")
            row.config = config
        if store.is_sqlite:
            with contextlib.suppress(OSError):  # another user's file, or no file modes
                Path(store.name).chmod(0o600)
    except BaseException:
        store.close()
        raise
    return store


def _check_types(db: Transaction, name: str) -> None:
    """Refuse a database with a cell of a wrong type, which somebody must have edited."""
    for table in StudyTable.metadata.sorted_tables:
        wrong_counts = []
        for column in table.columns:
            find_type = func.json_type if isinstance(column.type, JSON) else func.typeof
            allowed = _TYPES[column.type.python_type] + (["null"] if column.nullable else [])
            wrong_counts.append(func.sum(find_type(column).not_in(allowed)))
        if any(db.execute(select(*wrong_counts)).one()):
            raise AnnotationError(f"{name} has damaged cells in {table}; restore a backup")


def create_store(
    study: Study, items: Sequence[NewItem], images: Sequence[CheckedImage], is_first: bool = False
) -> None:
    r"""Create the database of a new study with its items and images, atomically.

    Args:
        is_first: Whether the study file does not exist yet; an unused database of the same study,
            left by a killed run, is then replaced.

    Raises:
        AnnotationError: The database already exists.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.study.prompts import make_study
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> create_store(study, [], [])
        Traceback (most recent call last):
            ...
        pqpp_annotation.errors.AnnotationError: ...db already exists; choose another ...
    """
    url = get_database_url(study.database, study.root)
    if url.get_backend_name() != "sqlite":
        _fill_database(url, study, items, images)
        return
    path = Path(str(url.database))
    if path.exists() and not (is_first and _is_abandoned(path, study)):
        raise AnnotationError(f"{path} already exists; choose another database, or use `add`")
    with atomic_write(path, is_secret=True) as temp_path:
        _fill_database(make_sqlite_url(temp_path), study, items, images)


def drop_store(study: Study) -> None:
    """Delete an SQLite database that `create_store` has just created."""
    url = get_database_url(study.database, study.root)
    if url.get_backend_name() == "sqlite":
        Path(str(url.database)).unlink(missing_ok=True)


def _is_abandoned(path: Path, study: Study) -> bool:
    """Return whether a database contains this study and nobody has been invited yet."""
    with contextlib.suppress(FileError, sqlite3.Error), open_sqlite(path) as database:
        configs = [config for (config,) in database.execute("SELECT config FROM study")]
        people = database.execute("SELECT id FROM person UNION ALL SELECT id FROM invitation")
        return configs == [json.dumps(study.to_config())] and people.fetchone() is None
    return False


def _fill_database(
    url: URL, study: Study, items: Sequence[NewItem], images: Sequence[CheckedImage]
) -> None:
    with closing(Store(make_engine(url), study)) as store, store.begin_write(lock=True) as db:
        StudyTable.metadata.create_all(db.connection())
        if db.scalar(select(StudyRow)):
            raise AnnotationError(f"{store.name} contains a study; choose another database")
        db.add(StudyRow(config=study.to_config()))
        add_items(db, items, images)


def copy_database(store: Store, path: str | os.PathLike[str]) -> Path:
    r"""Copy the database of a study, without images, while the study runs.

    To use the copy, put it into the study's folder and set `database` in the study file to its
    name.

    Args:
        path: The file to write, atomically.

    Returns:
        The absolute path of the copy.

    Raises:
        AnnotationError: The database is damaged, or it is in PostgreSQL.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.store.database import open_store
        >>> from pqpp_annotation.study.prompts import make_study
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> store = open_store(study)
        >>> copy_database(store, folder / "monday.db").name
        'monday.db'
        >>> store.close()
    """
    target = expand(path)
    if not store.is_sqlite:
        raise AnnotationError(f"{store.name}: a PostgreSQL database cannot be copied; use pg_dump")
    with atomic_write(target, is_secret=True) as temp_path:
        with open_sqlite(Path(store.name)) as old, open_sqlite(temp_path) as new:
            old.backup(new)
        with open_sqlite(temp_path) as copy:
            copy.execute("PRAGMA journal_mode=DELETE")  # leaves no other files
            if copy.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise AnnotationError(f"{store.name} is damaged; restore a backup")
    return target
