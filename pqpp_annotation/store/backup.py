"""A copy of a study's database as one SQLite file, made while people work."""

import os
from pathlib import Path

from sqlalchemy import insert, select

from pqpp_annotation.errors import StoreError
from pqpp_annotation.store import schema
from pqpp_annotation.store.engine import make_engine, sqlite_url
from pqpp_annotation.store.tables import StudyTable
from pqpp_annotation.store.transactions import Store
from pqpp_files.foreign.databases import open_sqlite
from pqpp_files.paths import expanded
from pqpp_files.write_beside import write_beside

_ROWS = 2_000


def backup(store: Store, path: str | os.PathLike[str]) -> Path:
    r"""Copy all of a study but its images, as it is at one moment; nobody waits meanwhile.

    A study in PostgreSQL is copied into an SQLite file too, so that a backup is one file that can
    be opened by itself, or served where a study file names it as `database`.

    Args:
        store: The study's database.
        path: The file to write; it appears when it is whole.

    Raises:
        StoreError: It is the database itself, or the copy is damaged.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.store.database import open_store
        >>> from pqpp_annotation.study.init import make_study
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> store = open_store(study)
        >>> copy = open_store(backup(store, folder / "monday.db"))
        >>> copy.study.kind_name
        'rating'
        >>> copy.close(), store.close()
        (None, None)
    """
    place = expanded(path)
    if store.is_sqlite and place.exists() and place.samefile(store.name):
        raise StoreError(f"{path} is the database itself; name another file")
    with write_beside(place, is_secret=True) as beside:
        if store.is_sqlite:
            with open_sqlite(Path(store.name)) as old, open_sqlite(beside) as new:
                old.backup(new)
        else:
            _copy_rows(store, beside)
        with open_sqlite(beside) as copy:
            copy.execute("PRAGMA journal_mode=DELETE")  # nothing is left beside it
            if copy.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise StoreError(f"{store.name} is damaged; go back to an older backup")
    return place


def _copy_rows(store: Store, target: Path) -> None:
    engine = make_engine(sqlite_url(target))
    try:
        with store.reading() as old, engine.begin() as new:
            schema.bring_up_to_date(new, str(target))
            for table in StudyTable.metadata.sorted_tables:
                rows = old.connection().execute(select(table).execution_options(yield_per=_ROWS))
                for part in rows.mappings().partitions():
                    new.execute(insert(table), [dict(row) for row in part])
    finally:
        engine.dispose()
