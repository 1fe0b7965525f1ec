"""Open SQLite databases."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from pqpp_files.atomic_write import find_full_disk_errno
from pqpp_files.errors import FileError, describe


@contextlib.contextmanager
def open_sqlite(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Yield a connection to an SQLite database, and close it afterwards.

    Raises:
        FileError: The file is damaged, locked or not a database.
        sqlite3.Error: The disk is full.

    Example:
        >>> with open_sqlite(__file__) as database:
        ...     database.execute("PRAGMA quick_check")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: ...databases.py cannot be used (file is not a database); ...
    """
    try:
        with contextlib.closing(sqlite3.connect(Path(path))) as connection:
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # its messages may not be UTF-8
        if find_full_disk_errno(error):
            raise
        fault = f"{path} cannot be used ({describe(error, named=False)})"
        raise FileError(f"{fault}; end other programs that use it, or restore a backup") from None
