"""Bringing a database to the tables of this version, step by step, in one transaction."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from pqpp_annotation.errors import StoreError

_FOLDER = str(Path(__file__).parent / "migrations")


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(_FOLDER, version_locations=[_FOLDER])


def newest() -> str:
    """Return the revision of this version's tables.

    Example:
        >>> newest()
        'first'
    """
    return _scripts().get_current_head()


def revision_of(db: Connection) -> str | None:
    """Return the revision of a database's tables, None for an empty database."""
    return MigrationContext.configure(db).get_current_revision()


def upgrade(db: Connection, name: str, to: str = "head") -> bool:
    """Bring a database to this version's tables; what is in it stays.

    Args:
        db: A connection in a transaction, which the caller ends.
        name: What the database is called in an error.
        to: The revision; the newest one unless a test asks for another.

    Returns:
        Whether anything was done.

    Raises:
        StoreError: It was made by a newer version, whose tables this one does not know.
    """
    scripts = _scripts()
    known = {script.revision for script in scripts.walk_revisions()}
    found = revision_of(db)
    if found == scripts.get_current_head() and to == "head":
        return False
    if found is not None and found not in known:
        raise StoreError(
            f"{name} was made by a newer version of pqpp (its tables are {found!r:.40}, this "
            f"version has {newest()!r}); install that version"
        )

    def steps(revision, _):
        return scripts._upgrade_revs(to, revision)

    with EnvironmentContext(Config(), scripts, fn=steps, destination_rev=to) as context:
        # SQLite alters a table by making it anew, which batches do.
        context.configure(connection=db, render_as_batch=True)
        context.run_migrations()
    return True
