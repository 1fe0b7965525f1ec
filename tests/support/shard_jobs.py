"""Jobs on shards that other processes can import."""

import os
import time
from pathlib import Path

import pyarrow as pa

from pqpp_files.errors import FileError


def doubled(table):
    return table.set_column(0, "n", pa.array([2 * n for n in table["n"].to_pylist()]))


def ends_hard(table):
    if table["n"][0].as_py() == 4:
        os._exit(9)
    return table


class SaysWhoAndSleeps:
    """Writes the number of its process into a folder, and is then busy for long."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, table):
        (Path(self.folder) / str(os.getpid())).touch()
        time.sleep(60)
        return table


def refuses(table):
    """Refuse any shard."""
    raise FileError("no such column")


class Doubled:
    """Doubles, and takes its time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, table):
        time.sleep(self.seconds)
        return doubled(table)
