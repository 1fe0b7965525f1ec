"""How fast the benchmarks load beside pandas, and from the cache: same files, same run.

Run as `python benchmarks/load_speed.py [FOLDER]`, where FOLDER holds PQPP's releases as
`pqpp/v1.0` and `pqpp/v1.1`; without it, tables of the published sizes are made up. A cold load
reads the CSV files, checks and joins them, and writes the Arrow cache; pandas reads the same files
and hands them to `Dataset.from_pandas`, unchecked and unjoined. All libraries are imported before.
"""

import argparse
import csv
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path

import datasets
import numpy as np
import pandas
from metrics_timing import Row, best_of, print_table, with_version

import pqpp_datasets  # noqa: F401 (registers, also where the start-up files are switched off)

# A cold load may take twice the time of pandas; one from the cache less than this.
AIM, CACHED_SECONDS = 0.5, 0.5
V1_0_ROWS = {"train": 6000, "validation": 2000}
V1_1_ROWS = {"train": 6080, "val": 2040}


def main():
    """Time both releases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="holds pqpp/v1.0 and pqpp/v1.1")
    folder = parser.parse_args().folder
    datasets.disable_progress_bars()
    # It would say that made-up files are not the published ones.
    logging.getLogger("pqpp_datasets").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as scratch:
        root = folder or _made_up(Path(scratch) / "data")
        cache = Path(scratch) / "cache"
        releases = [root / "pqpp" / name for name in ("v1.0", "v1.1")]
        rows = [row for folder in releases for row in _rows(folder, cache)]
    print(f"cores: {os.cpu_count()}, {with_version('datasets')}, {with_version('pyarrow')}\n")
    print_table(rows)


def _rows(folder, cache):
    """The comparisons for one release."""
    config = {"v1.0": "pqpp-v1.0", "v1.1": "pqpp"}[folder.name]
    tables = _tables(folder)
    for path in tables:  # both read from the system's own cache
        path.read_bytes()

    def load():
        return datasets.load_dataset("pqpp", config, data_dir=str(folder), cache_dir=str(cache))

    def cold():
        shutil.rmtree(cache, ignore_errors=True)
        return load()

    def peer():
        return [datasets.Dataset.from_pandas(pandas.read_csv(path)) for path in tables]

    pandas_name = f"{with_version('pandas')}, {len(tables)} tables"
    ours, theirs = (best_of(function, clock=time.perf_counter) for function in (cold, peer))
    yield Row(f"{config}, cold", pandas_name, theirs, ours, aim=AIM)
    cached = best_of(load, clock=time.perf_counter)
    yield Row(f"{config}, cached", f"a bar of {CACHED_SECONDS} s", CACHED_SECONDS, cached, aim=1)


def _tables(folder):
    """The CSV files that hold the rows of a release."""
    if folder.name == "v1.0":
        return sorted((folder / "dataset").glob("*.csv"))
    return sorted((folder / "dataset").glob("*/ground_truth/**/*.csv"))


def _made_up(root):
    """Write tables in the published layout and size, and return the folder that holds them."""
    generator = np.random.default_rng(0)
    start = 0
    for split, count in V1_0_ROWS.items():
        rows = [_v1_0_row(start + n, generator) for n in range(count)]
        header = "id image_id best_caption blip2_rr clip_rr retrieval_avg_rr blip2_pk clip_pk"
        header += " retrieval_avg_pk glide_score sdxl_score avg_generative_score"
        _write(root / "pqpp/v1.0/dataset" / f"{split}.csv", header.split(), rows)
        start += count
    for split, count in V1_1_ROWS.items():
        _write_v1_1(root / "pqpp/v1.1/dataset", split, start, count, generator)
        start += count
    return root


def _v1_0_row(number, generator):
    glide, sdxl = generator.integers(-12, 25, 2) / 12
    precision = generator.integers(0, 11, 2) / 10
    ranks = 1 / generator.integers(1, 9, 2)
    retrieval = (*ranks, ranks.mean(), *precision, precision.mean())
    return (10**5 + number, number, _caption(number), *retrieval, glide, sdxl, (glide + sdxl) / 2)


def _write_v1_1(dataset, split, start, count, generator):
    captions = [(start + n, _caption(start + n)) for n in range(count)]
    glide, sdxl = generator.integers(-12, 25, (2, count)) / 12
    scores = {"glide": glide, "sdxl": sdxl, "average": (glide + sdxl) / 2}
    ground = dataset / "generative" / "ground_truth"
    for name, values in scores.items():
        rows = [(i, text, x, "mscoco") for (i, text), x in zip(captions, values, strict=True)]
        header = ("caption_id", "caption", "score", "source")
        _write(ground / name / f"{name}_{split}.csv", header, rows)
    precision = generator.integers(0, 11, (2, count)) / 10
    ranks = 1 / generator.integers(1, 9, (2, count))
    header = ("", "prompt", "source", "index", "precision", "reciprocal_rank", "caption_id")
    files = ("clip/clip_retrieval_{}_results", "blip2/blip2_retrieval_{}_results")
    scores = dict(zip(files, zip(precision, ranks, strict=True), strict=True))
    scores["average/average_{}"] = precision.mean(0), ranks.mean(0)
    for name, (p, r) in scores.items():
        rows = [(n, text, "mscoco", n, p[n], r[n], i) for n, (i, text) in enumerate(captions)]
        path = dataset / "retrieval" / "ground_truth" / f"{name.format(split)}.csv"
        _write(path, header, rows)


def _caption(number):
    return f"Caption {number} of a red bus, two dogs and a man on a beach near a kite."


def _write(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    main()
