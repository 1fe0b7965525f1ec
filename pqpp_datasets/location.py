"""Where a benchmark's files are on this machine, if they are: `data_dir=` or `PQPP_DATA_DIR`."""

import logging
import os
from collections import Counter
from functools import partial
from pathlib import Path

from pqpp_datasets.benchmark import Benchmark
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.sources import HEAD_BYTES, get_release
from pqpp_datasets.tables import file_error
from pqpp_files.hashes import hash_file, hash_parts
from pqpp_files.paths import expand

logger = logging.getLogger(__name__)

ENVIRONMENT_VARIABLE = "PQPP_DATA_DIR"


def find_local_folder(benchmark: Benchmark, data_dir: str | None) -> Path | None:
    """Return the folder to read a benchmark from, or None when it must be downloaded.

    `data_dir` wins over `PQPP_DATA_DIR`. It is the folder of the one benchmark (for PQPP the one
    that contains `dataset/`) or, like `PQPP_DATA_DIR`, a root that contains `pqpp/v1.0`,
    `pqpp/v1.1` and so on. Of several folders that can contain the benchmark the first one with a
    whole split is used.

    Raises:
        BenchmarkError: If `data_dir` or `PQPP_DATA_DIR` is set and is not a folder.
    """
    if not benchmark.folders:
        return None
    if data_dir:
        folder = expand(data_dir).absolute()
        if not folder.is_dir():
            file = benchmark.files(None, benchmark.splits[0])[0]
            raise BenchmarkError(f"data_dir={str(data_dir)!r}: no such folder; give that of {file}")
        path = folder.parent if folder.name == "dataset" else folder
        return path if find_splits(benchmark, path) else _find_below(folder, benchmark) or path
    root = os.environ.get(ENVIRONMENT_VARIABLE)
    if not root:
        return None
    if not Path(root).is_dir():
        wanted = f"give the root that contains {', '.join(benchmark.folders)}"
        raise BenchmarkError(f"{ENVIRONMENT_VARIABLE}={root!r}: no such folder; {wanted}")
    below = _find_below(Path(root).absolute(), benchmark)
    if below is None:
        logger.warning(
            "%s=%s has no folder %s; downloading", ENVIRONMENT_VARIABLE, root, benchmark.folders[0]
        )
    return below


def _find_below(root: Path, benchmark: Benchmark) -> Path | None:
    """Return a benchmark's folder below a root, preferably one with a complete split."""
    folders = [root / name for name in benchmark.folders if (root / name).is_dir()]
    whole = filter(partial(has_split, benchmark), folders)
    return next(whole, folders[0] if folders else None)


def has_split(benchmark: Benchmark, folder: Path) -> bool:
    """Return whether a folder has all files of a split."""
    return any(not find_missing_files(benchmark, folder, split) for split in benchmark.splits)


def find_splits(benchmark: Benchmark, folder: Path) -> list[str]:
    """Return the splits of which at least one file of its own is in the folder.

    A split with only some of its files counts as there, so that reading it names what is missing.
    """
    files = {split: benchmark.files(folder, split) for split in benchmark.splits}
    times = Counter(path for paths in files.values() for path in set(paths))
    return [
        split
        for split, paths in files.items()
        if not find_missing_files(benchmark, folder, split)
        or any(times[path] == 1 and (folder / path).exists() for path in paths)
    ]


def find_missing_files(benchmark: Benchmark, folder: Path, split: str) -> list[Path]:
    """Return the files that a split needs and the folder does not have."""
    paths = (folder / path for path in benchmark.files(folder, split))
    return [path for path in paths if not path.is_file()]


def hash_read_files(benchmark: Benchmark, folder: Path) -> str:
    """Return a digest of the bytes of all files of a folder that the benchmark reads.

    It is a part of the cache key: data that was corrected or completed is read anew.
    """
    files = {path: folder / path for path in sorted(_list_needed(benchmark, folder))}
    hashes = (
        f"{path}\0{hash_file(file) if file.is_file() else 'absent'}\0"
        for path, file in files.items()
    )
    return hash_parts([benchmark.name, *hashes])


def compare_with_published(benchmark: Benchmark, folder: Path) -> None:
    """Compare files with their published hashes: warn of changes, refuse truncated copies.

    A file that begins like the published one and is shorter was cut off, maybe at the end of a
    line, which no reader would notice. Any other file may be somebody's own data in the same form.

    Raises:
        BenchmarkError: If a file is a truncated copy of the published one.
    """
    published = get_release(benchmark.folders[0])
    for path in sorted(_list_needed(benchmark, folder)):
        source, file = published.find_file(path), folder / path
        if not (source and source.sha256 and file.is_file()) or hash_file(file) == source.sha256:
            continue
        size = file.stat().st_size
        is_short = source.head_sha256 and size < (source.bytes or 0)
        if is_short and hash_parts([file.read_bytes()[:HEAD_BYTES]]) == source.head_sha256:
            what = f"truncated, the published file has {source.bytes} bytes"
            raise file_error(f"{file}, after byte {size}", what)
        logger.warning("%s is not the published file (SHA-256 differs); reading it anyway", file)


def _list_needed(benchmark: Benchmark, folder: Path) -> set[str]:
    per_split = {path for split in benchmark.splits for path in benchmark.files(folder, split)}
    return per_split | set(benchmark.optional_files)
