"""Where a study's database is, and how SQLAlchemy speaks to it."""

import os
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, Float, Integer, String, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from pqpp_annotation.errors import StoreError
from pqpp_files.extras import needing
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.paths import expanded

BUSY_SECONDS = 10
_CONNECTIONS = 20


def url_of(name: str, folder: Path) -> URL:
    """Return a database's address.

    Args:
        name: A path, a PostgreSQL URL, or `$NAME` of a variable of the environment with one.
        folder: What a path is relative to.

    Raises:
        StoreError: The variable is not set, or its URL cannot be read.

    Example:
        >>> url_of("postgresql://me@host/mine", Path()), url_of("a.db", Path("/mine"))
        (postgresql+psycopg://me@host/mine, sqlite:////mine/a.db)
    """
    is_variable = name.startswith("$")
    address = os.environ.get(name[1:], "") if is_variable else name
    if not address:
        raise StoreError(f"database: {name} is not set; set it to postgresql://...")
    # A study file may be somebody else's: no other variable's value becomes a path or is shown.
    if "://" not in address and not is_variable:
        return sqlite_url((folder / expanded(address)).absolute())
    try:
        url = make_url(address)
        is_postgresql = url.get_backend_name() in ("postgresql", "postgres")
    except (ArgumentError, ValueError):
        is_postgresql = False
    if not is_postgresql:
        said = "a path, postgresql://USER@HOST/NAME or $NAME of a variable with one is allowed"
        what = f"{name} holds something else; " if is_variable else ""
        raise StoreError(f"database: {what}{said}")
    return url.set(drivername="postgresql+psycopg")


def sqlite_url(path: Path) -> URL:
    """Return the address of an SQLite file, whatever letters are in its name.

    Example:
        >>> str(sqlite_url(Path("mine.db")))
        'sqlite:///mine.db'
    """
    return URL.create("sqlite", database=str(path))


def make_engine(url: URL, references: bool = True) -> Engine:
    """Return the engine of a database: of SQLite with a write-ahead log, flushed at each commit.

    Args:
        url: As of `url_of`.
        references: Whether SQLite refuses rows that refer to what is not there.

    Example:
        >>> import tempfile
        >>> engine = make_engine(sqlite_url(Path(tempfile.mkdtemp()) / "mine.db"))
        >>> with engine.connect() as db:
        ...     db.exec_driver_sql("PRAGMA foreign_keys").scalar()
        1
    """
    sizes = {"pool_size": _CONNECTIONS, "max_overflow": _CONNECTIONS}
    if url.get_backend_name() != "sqlite":
        with needing("a study in PostgreSQL", "postgresql"):
            import psycopg  # noqa: F401
        return create_engine(url, pool_pre_ping=True, json_deserializer=parse_cell, **sizes)
    busy = {"timeout": BUSY_SECONDS}
    engine = create_engine(url, connect_args=busy, json_deserializer=parse_cell, **sizes)
    engine.dialect.colspecs = {**engine.dialect.colspecs, **_CHECKED}

    @event.listens_for(engine, "connect")
    def _(connection, _record):
        connection.isolation_level = None  # transactions begin where they are said to
        checks = f"foreign_keys={'ON' if references else 'OFF'}"
        for setting in (checks, "synchronous=FULL", "journal_mode=WAL"):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def _(db):
        writes = db.get_execution_options().get("pqpp_writes")
        db.connection.driver_connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _checked(kind: type, *allowed: type) -> type:
    """Return a column type whose cells are held against what SQLite lets an editor put there."""
    kinds = {type(None), *allowed}

    def cell(value):
        if type(value) not in kinds:
            raise wrong_cell(f"{type(value).__name__}, not {allowed[0].__name__}")
        return value

    return type(f"Checked{kind.__name__}", (kind,), {"result_processor": lambda *_: cell})


_CHECKED = {
    Integer: _checked(Integer, int),
    Float: _checked(Float, float, int),
    String: _checked(String, str),
}
"""By column type; PostgreSQL itself keeps to the types of its columns."""


def parse_cell(text: str | bytes) -> dict[str, Any]:
    """Return what a cell of JSON says.

    Raises:
        FileError: It is no JSON.
        StoreError: It is another thing than an object.

    Example:
        >>> parse_cell('{"label": 2}')
        {'label': 2}
    """
    value = parse_json(text, "a cell of the study's database", remedy="go back to a backup")
    if not isinstance(value, dict):
        raise wrong_cell("JSON, but not an object")
    return value


def wrong_cell(what: str) -> StoreError:
    """Return the error of a cell that holds what this package never writes.

    Example:
        >>> str(wrong_cell("text, not a number"))
        "a cell of the study's database is text, not a number; go back to a backup"
    """
    return StoreError(f"a cell of the study's database is {what}; go back to a backup")
