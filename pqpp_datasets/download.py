"""Verified downloads: resumed after a cut, retried, checked by SHA-256 before anyone reads them.

Hashes that the project knows are in `sources.json`. For a file whose hash is unknown the commit is
pinned and the hash of the first download is kept in `lock.json` beside the downloads; every later
download and load must match it.
"""

import http.client
import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock

from pqpp_datasets.errors import DownloadError
from pqpp_datasets.sources import Release, Source
from pqpp_files.hashes import sha256_of
from pqpp_files.write_beside import write_whole

logger = logging.getLogger(__name__)

ATTEMPTS = 5
TIMEOUT_SECONDS = 30
_CHUNK = 1 << 16
# A wrong address or a withdrawn file does not come back by asking again.
_FINAL_STATUS = {400, 401, 403, 404, 410, 451}


def download_release(
    release: Release, paths: Iterable[str], cache_dir: Path, force: bool = False
) -> Path:
    """Bring files of a release into the cache, verified, and return their folder.

    Args:
        release: The pinned release.
        paths: The files wanted, as paths below the release's folder.
        cache_dir: Where downloads are kept.
        force: Download again even what is there.

    Returns:
        The folder that holds the files under their published paths.

    Raises:
        DownloadError: If a file can't be had, or its bytes are not the published ones.
    """
    folder = Path(cache_dir) / release.folder / release.commit
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(str(folder) + ".lock"):
        for path in paths:
            source = release.file(path)
            if source is None:
                raise DownloadError(f"{path}: not a file of {release.folder} at {release.commit}")
            _bring(source, folder, force)
    return folder


def _bring(source: Source, folder: Path, force: bool) -> None:
    target = folder / source.path
    locked = _read_lock(folder)
    expected = source.sha256 or locked.get(source.path)
    if target.is_file() and not force:
        if expected and sha256_of(target) == expected:
            return
        logger.warning("%s in the cache is not the verified file; downloading it again", target)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    _download_with_retries(source, partial)
    found = sha256_of(partial)
    if expected and found != expected:
        partial.unlink()
        recorded = f"recorded at the first download, in {folder / 'lock.json'}"
        origin = "published" if source.sha256 else recorded
        raise DownloadError(
            f"{source.url}: sha256 {found} came, {expected} is {origin}; "
            "try again, or give the folder of a copy that you trust as data_dir="
        )
    if source.sha256 is None:
        _refuse_page(source, partial)
        _write_lock(folder, {**locked, source.path: found})
    partial.replace(target)


def _refuse_page(source: Source, partial: Path) -> None:
    # A login page of a network would otherwise be recorded as the file for good.
    with partial.open("rb") as file:
        begins_like_a_page = file.read(64).lstrip().startswith(b"<")
    if begins_like_a_page:
        partial.unlink()
        raise DownloadError(
            f"{source.url}: a web page came instead of the file; check the network, or give a "
            "folder with the files as data_dir="
        )


def _download_with_retries(source: Source, partial: Path) -> None:
    _refuse_when_offline(source)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _download_once(source, partial)
            return
        except (OSError, http.client.HTTPException) as error:
            status = getattr(error, "code", None)
            if attempt == ATTEMPTS or status in _FINAL_STATUS:
                raise DownloadError(
                    f"{source.url}: {_reason(error)} after {attempt} attempt(s); check the "
                    "network, or give a folder with the files as data_dir= or PQPP_DATA_DIR"
                ) from error
            if status == 416:  # what we kept is longer than the file: start anew
                partial.unlink(missing_ok=True)
            logger.warning("%s: %s; trying again", source.url, _reason(error))
            time.sleep(min(2 ** (attempt - 1) * 0.5, 8))


def _download_once(source: Source, partial: Path) -> None:
    have = partial.stat().st_size if partial.exists() else 0
    if source.bytes is not None and have >= source.bytes:
        partial.unlink()
        have = 0
    request = urllib.request.Request(source.url, headers={"User-Agent": "pqpp"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        resumed = have and response.status == 206
        announced = response.headers.get("Content-Length")
        total = int(announced) + (have if resumed else 0) if announced else source.bytes
        _copy(response, partial, have if resumed else 0, total, Path(source.path).name)
    if total is not None and partial.stat().st_size != total:
        raise ConnectionError(f"the connection ended at {partial.stat().st_size} of {total} bytes")


def _copy(response, partial: Path, start: int, total: int | None, name: str) -> None:
    from datasets.utils import tqdm  # honours the library's own switch for progress bars

    with (
        partial.open("ab" if start else "wb") as file,
        tqdm(total=total, initial=start, unit="B", unit_scale=True, desc=name) as bar,
    ):
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            bar.update(len(chunk))


def _refuse_when_offline(source: Source) -> None:
    from datasets import config

    if getattr(config, "HF_HUB_OFFLINE", False) or getattr(config, "HF_DATASETS_OFFLINE", False):
        raise DownloadError(
            f"{source.url}: offline mode is on (HF_HUB_OFFLINE or HF_DATASETS_OFFLINE); unset it, "
            "or give a folder with the files as data_dir= or PQPP_DATA_DIR"
        )


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP status {error.code}"
    if isinstance(error, urllib.error.URLError):
        return f"no connection ({error.reason})"
    return f"{type(error).__name__}: {error}"


def _read_lock(folder: Path) -> dict[str, str]:
    path = folder / "lock.json"
    if not path.exists():
        return {}
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except ValueError as error:
        raise DownloadError(
            f"{path}: damaged ({error}); remove the folder {folder} to download everything anew"
        ) from None


def _write_lock(folder: Path, hashes: dict[str, str]) -> None:
    write_whole(folder / "lock.json", json.dumps(hashes, indent=1, sort_keys=True) + "\n")
