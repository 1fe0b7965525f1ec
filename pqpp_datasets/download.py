"""Downloads that are resumed, retried and verified by SHA-256.

Known hashes are in `sources.json`. For other files the commit is pinned, and the hash of the first
download is stored in `lock.json` next to the downloads; later downloads must match it.
"""

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.sources import Release
from pqpp_files.atomic_write import write_file
from pqpp_files.foreign.json_values import read_json
from pqpp_files.hashes import hash_file
from pqpp_hub.pull import download

logger = logging.getLogger(__name__)


def download_release(
    release: Release, paths: Iterable[str], cache_dir: Path, force: bool = False
) -> Path:
    """Download files of a release to the cache, verify them, and return their folder.

    Args:
        paths: Published paths of the required files.
        cache_dir: The folder of all downloads.
        force: Whether to download files that exist.

    Returns:
        The folder with the files under their published paths.

    Raises:
        BenchmarkError: A file cannot be downloaded, or its hash is wrong.
    """
    folder = Path(cache_dir) / release.folder / release.commit
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(str(folder) + ".lock"):
        for path in paths:
            _fetch_file(release, path, folder, force)
    return folder


def _fetch_file(release: Release, path: str, folder: Path, force: bool) -> None:
    source = next(file for file in release.files if file.path == path)
    target = folder / source.path
    lock = folder / "lock.json"
    locked: dict[str, str] = read_json(lock) if lock.exists() else {}
    expected = source.sha256 or locked.get(source.path)
    if target.is_file() and not force:
        if expected and hash_file(target) == expected:
            return
        logger.warning("%s in the cache cannot be verified; downloading the file again", target)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    try:
        download(source.url, partial, source.bytes)
    except OSError as error:
        problem = f"{release.folder}/{source.path} cannot be downloaded from {source.url}: {error}"
        remedy = "check the connection, or put a copy into PQPP_DATA_DIR or data_dir="
        raise BenchmarkError(f"{problem}; {remedy}") from error
    digest = hash_file(partial)
    if expected and digest != expected:
        partial.unlink()
        origin = "published" if source.sha256 else f"of the first download, in {lock}"
        problem = f"expected SHA-256 {expected} ({origin}), got {digest}"
        remedy = "try again, or set data_dir= to a folder that contains a trusted copy"
        raise BenchmarkError(f"{source.url}: {problem}; {remedy}")
    if source.sha256 is None:
        with partial.open("rb") as file:
            is_page = file.read(64).lstrip().startswith(b"<")
        if is_page:  # such as the login page of a network
            partial.unlink()
            raise BenchmarkError(f"{source.url}: got a web page, not the file; check the network")
        lock_text = json.dumps({**locked, source.path: digest}, indent=1, sort_keys=True)
        write_file(lock, f"{lock_text}\n")
    partial.replace(target)
