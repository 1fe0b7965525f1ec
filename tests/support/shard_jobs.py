"""Jobs on shards, which other processes can import."""

import os
import time
from pathlib import Path

import pyarrow as pa

from pqpp_files.errors import FileError


def double(table):
    return table.set_column(0, "n", pa.array([2 * n for n in table["n"].to_pylist()]))


def exit_at_row_4(table):
    if table["n"][0].as_py() == 4:
        os._exit(9)
    return table


class WritePidAndSleep:
    """Writes a file named by its process number to a folder, and sleeps for a minute."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, table):
        (Path(self.folder) / str(os.getpid())).touch()
        time.sleep(60)
        return table


def refuse(table):
    """Refuse any shard."""
    raise FileError("no such column")


class SlowDouble:
    """Doubles the numbers after some seconds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, table):
        time.sleep(self.seconds)
        return double(table)
