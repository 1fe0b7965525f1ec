"""Bringing a database to the tables of this version, step by step, in one transaction."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from pqpp_annotation.errors import StoreError
from pqpp_annotation.store.tables import StudyTable

NEWEST_TABLES = "first"
"""The last revision; said here so that a server starts without reading them all."""

_FOLDER = str(Path(__file__).parent / "migrations")
_KEPT_IN = "alembic_version"


def revision_of(db: Connection) -> str | None:
    """Return the revision of a database's tables, None for an empty database.

    Example:
        >>> from sqlalchemy import create_engine
        >>> with create_engine("sqlite://").begin() as db:
        ...     print(revision_of(db))
        None
    """
    if not inspect(db).has_table(_KEPT_IN):
        return None
    return db.scalar(text(f"SELECT version_num FROM {_KEPT_IN}"))


def bring_up_to_date(db: Connection, name: str) -> None:
    """Bring a database to this version's tables; what is in it stays.

    Args:
        db: A connection in a transaction, which the caller ends.
        name: What the database is called in an error.

    Raises:
        StoreError: It was made by a newer version, whose tables this one does not know.

    Example:
        >>> from sqlalchemy import create_engine
        >>> with create_engine("sqlite://").begin() as db:
        ...     bring_up_to_date(db, "mine.db")
        ...     revision_of(db)
        'first'
    """
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    revision = revision_of(db)
    if revision == NEWEST_TABLES:
        return
    scripts = ScriptDirectory(_FOLDER, version_locations=[_FOLDER])
    if revision not in (None, *(script.revision for script in scripts.walk_revisions())):
        raise StoreError(
            f"{name} was made by a newer version of pqpp (its tables are {revision!r:.40}, this "
            f"version has {NEWEST_TABLES!r}); install that version"
        )

    def steps(current, context):
        if revision is not None:
            return scripts._upgrade_revs(NEWEST_TABLES, current)
        StudyTable.metadata.create_all(db)
        return scripts._stamp_revs(NEWEST_TABLES, current)

    with EnvironmentContext(Config(), scripts, fn=steps) as environment:
        # SQLite alters a table by making it anew, which batches do.
        environment.configure(connection=db, render_as_batch=True)
        environment.run_migrations()
