"""How fast the benchmarks load beside pandas, and from the cache: same files, same run.

Run as `python benchmarks/load_speed.py [FOLDER]`, where FOLDER holds PQPP's releases as
`pqpp/v1.0` and `pqpp/v1.1`: `PQPP_DATA_DIR` if left out. A cold load reads
the CSV files, checks and joins them, and writes the Arrow cache; pandas reads the same files and
hands them to `Dataset.from_pandas`, unchecked and unjoined. All libraries are imported before.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import datasets
import pandas
from metrics_timing import Row, add_version, best_time, print_table

import pqpp_datasets  # noqa: F401 (registers, also where the start-up files are switched off)

# A cold load may take twice the time of pandas; one from the cache less than this.
AIM, CACHED_SECONDS = 0.5, 0.5


def main():
    """Time both releases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=os.environ.get("PQPP_DATA_DIR"),
        help="holds pqpp/v1.0 and pqpp/v1.1",
    )
    folder = parser.parse_args().folder
    if folder is None:
        print("load_speed: skipped, neither FOLDER nor PQPP_DATA_DIR is given")
        return
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as scratch:
        releases = [folder / "pqpp" / name for name in ("v1.0", "v1.1")]
        rows = [row for release in releases for row in _time_rows(release, Path(scratch) / "cache")]
    print(f"cores: {os.cpu_count()}, {add_version('datasets')}, {add_version('pyarrow')}\n")
    print_table(rows)


def _time_rows(folder, cache):
    """The comparisons for one release."""
    config = {"v1.0": "pqpp-v1.0", "v1.1": "pqpp"}[folder.name]
    tables = _read_tables(folder)
    for path in tables:  # both read from the system's own cache
        path.read_bytes()

    def load():
        return datasets.load_dataset("pqpp", config, data_dir=str(folder), cache_dir=str(cache))

    def cold():
        shutil.rmtree(cache, ignore_errors=True)
        return load()

    def peer():
        return [datasets.Dataset.from_pandas(pandas.read_csv(path)) for path in tables]

    pandas_name = f"{add_version('pandas')}, {len(tables)} tables"
    ours, theirs = (best_time(function, clock=time.perf_counter) for function in (cold, peer))
    yield Row(f"{config}, cold", pandas_name, theirs, ours, aim=AIM)
    cached = best_time(load, clock=time.perf_counter)
    yield Row(f"{config}, cached", f"a bar of {CACHED_SECONDS} s", CACHED_SECONDS, cached, aim=1)


def _read_tables(folder):
    """The CSV files that hold the rows of a release."""
    if folder.name == "v1.0":
        return sorted((folder / "dataset").glob("*.csv"))
    return sorted((folder / "dataset").glob("*/ground_truth/**/*.csv"))


if __name__ == "__main__":
    main()
