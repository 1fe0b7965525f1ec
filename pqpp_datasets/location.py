"""Finding and hashing a benchmark's local files, in `data_dir=` or `PQPP_DATA_DIR`."""

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
    """Return the local folder of a benchmark; None if it must be downloaded or has no files.

    `data_dir`, which overrides `PQPP_DATA_DIR`, is the benchmark's folder (for PQPP, the one with
    `dataset/`) or, like `PQPP_DATA_DIR`, a root with `pqpp/v1.0`, `pqpp/v1.1` and so on. Of several
    possible folders in a root, the first with a complete split is used.

    Raises:
        BenchmarkError: `data_dir` or `PQPP_DATA_DIR` is set, but is not a folder.
    """
    if not benchmark.folders:
        return None
    if data_dir:
        folder = expand(data_dir).absolute()
        if not folder.is_dir():
            file = benchmark.files(None, benchmark.splits[0])[0]
            remedy = f"set data_dir= to the folder that contains {file}"
            raise BenchmarkError(f"data_dir {str(data_dir)!r} is not a folder; {remedy}")
        path = folder.parent if folder.name == "dataset" else folder
        return path if find_splits(benchmark, path) else _find_subfolder(folder, benchmark) or path
    if not (root := os.environ.get(ENVIRONMENT_VARIABLE)):
        return None
    if not Path(root).is_dir():
        remedy = f"set {ENVIRONMENT_VARIABLE} to a folder with {' or '.join(benchmark.folders)}"
        raise BenchmarkError(f"{ENVIRONMENT_VARIABLE} {root!r} is not a folder; {remedy}")
    subfolder = _find_subfolder(Path(root).absolute(), benchmark)
    if subfolder is None:
        logger.warning("%s not found in %s; downloading", benchmark.folders[0], root)
    return subfolder


def _find_subfolder(root: Path, benchmark: Benchmark) -> Path | None:
    """Return the first of a benchmark's folders that has a complete split, else the first one."""
    folders = [root / name for name in benchmark.folders if (root / name).is_dir()]
    missing = partial(find_missing_files, benchmark)
    complete = (f for f in folders if any(not missing(f, split) for split in benchmark.splits))
    return next(complete, folders[0] if folders else None)


def find_splits(benchmark: Benchmark, folder: Path) -> list[str]:
    """Return the splits that have all their files in a folder, or a file that no other split uses.

    Reading an incomplete split reports the missing file.
    """
    files = {split: benchmark.files(folder, split) for split in benchmark.splits}
    use_counts = Counter(path for paths in files.values() for path in set(paths))
    return [
        split
        for split, paths in files.items()
        if not find_missing_files(benchmark, folder, split)
        or any(use_counts[path] == 1 and (folder / path).exists() for path in paths)
    ]


def find_missing_files(benchmark: Benchmark, folder: Path, split: str) -> list[Path]:
    """Return the files of a split that are missing in a folder."""
    paths = (folder / path for path in benchmark.files(folder, split))
    return [path for path in paths if not path.is_file()]


def hash_needed_files(benchmark: Benchmark, folder: Path) -> str:
    """Return a hash of the names and contents of the files that a benchmark reads in a folder."""
    files = {path: folder / path for path in sorted(_list_needed_files(benchmark, folder))}
    hashes = (f"{p}\0{hash_file(f) if f.is_file() else 'absent'}\0" for p, f in files.items())
    return hash_parts([benchmark.name, *hashes])


def compare_with_published(benchmark: Benchmark, folder: Path) -> None:
    """Compare files with their published hashes; warn of changed files.

    A shorter file that begins like the published one is a truncated copy, which may end at the end
    of a line and so look complete. Other changed files can be the user's own data.

    Raises:
        BenchmarkError: A file is a truncated copy.
    """
    release = get_release(benchmark.folders[0])
    for path in sorted(_list_needed_files(benchmark, folder)):
        source, file = release.find_file(path), folder / path
        if not (source and source.sha256 and file.is_file()) or hash_file(file) == source.sha256:
            continue
        size = file.stat().st_size
        is_short = source.head_sha256 and size < (source.bytes or 0)
        if is_short and hash_parts([file.read_bytes()[:HEAD_BYTES]]) == source.head_sha256:
            raise file_error(file, f"truncated file: expected {source.bytes} bytes, got {size}")
        logger.warning("%s is not the published file (SHA-256 differs); reading it anyway", file)


def _list_needed_files(benchmark: Benchmark, folder: Path) -> set[str]:
    required = {path for split in benchmark.splits for path in benchmark.files(folder, split)}
    return required | set(benchmark.optional_files)
