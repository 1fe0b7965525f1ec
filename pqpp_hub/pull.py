"""Pulling files, from the Hub and from pinned addresses: nothing damaged is kept, nothing hangs."""

import contextlib
import http.client
import logging
import math
import re
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from pqpp_files.errors import PqppError
from pqpp_files.full_disk import is_full, naming
from pqpp_files.hashes import content_id
from pqpp_files.paths import expanded
from pqpp_hub.reasons import NOT_CACHED, reason_of

logger = logging.getLogger(__name__)

ATTEMPTS = 5
TIMEOUT_SECONDS = 30
REACHED_SECONDS = 2.0
_CHUNK = 1 << 16
# A wrong address or a withdrawn file does not come back by asking again.
_FINAL_STATUS = {400, 401, 403, 404, 410, 451}
_REACHED: set[tuple[str, int]] = set()


def is_reachable(url: str) -> bool:
    """Tell within seconds whether anybody answers at an address.

    The clients of the Hub ask again and again where there is no network. False in the offline mode
    of the Hub's client, too; true behind a proxy, whose business it is.
    """
    if is_offline():
        return False
    address = urllib.parse.urlsplit(url)
    proxies = urllib.request.getproxies()
    host = address.hostname or ""
    place = (host, address.port or {"http": 80}.get(address.scheme, 443))
    is_proxied = address.scheme in proxies or "all" in proxies
    if place in _REACHED or (is_proxied and not urllib.request.proxy_bypass(host)):
        return True

    def connect() -> None:
        with contextlib.suppress(OSError):
            socket.create_connection(place, timeout=REACHED_SECONDS / 2).close()
            _REACHED.add(place)

    # The look-up of a name has no time limit of its own.
    attempt = threading.Thread(target=connect, daemon=True)
    attempt.start()
    attempt.join(REACHED_SECONDS)
    return place in _REACHED


def is_offline() -> bool:
    """Tell whether the offline mode of the Hub's client or of `datasets` is on."""
    names = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
    return any(getattr(settings, name, False) for settings in _settings() for name in names)


def _settings() -> list[Any]:
    """Return what holds the offline mode: the settings of the Hub's client and of `datasets`."""
    from huggingface_hub import constants

    config = getattr(sys.modules.get("datasets"), "config", None)
    return [constants] if config is None else [constants, config]


@contextlib.contextmanager
def cached_if_unreachable(*names: str) -> Iterator[None]:
    """Switch offline mode on for a block if the Hub does not answer: what is cached is used.

    Args:
        *names: What is loaded in the block; nothing is done for `pqpp` and for folders.
    """
    from huggingface_hub import constants

    if all(name == "pqpp" or expanded(name).exists() for name in names):
        yield
        return
    settings = _settings()
    before = [place.HF_HUB_OFFLINE for place in settings]
    unreachable = not is_reachable(constants.ENDPOINT)
    try:
        for place in settings:
            place.HF_HUB_OFFLINE = unreachable or place.HF_HUB_OFFLINE
        yield
    finally:
        for place, value in zip(settings, before, strict=True):
            place.HF_HUB_OFFLINE = value


def pull_files(
    repo_id: str,
    files: Sequence[str],
    revision: str | None = None,
    cache_dir: str | None = None,
    token: str | bool | None = None,
    error: type[PqppError] = PqppError,
    kind: str = "model",
) -> Path:
    """Download a repository's files, or find them in the cache, and return their folder.

    What arrives damaged is downloaded once more, and refused if it is damaged again.

    Args:
        repo_id: `OWNER/REPOSITORY`.
        files: Names or patterns of what is fetched.
        revision: A branch, tag or commit; the main branch if left out.
        cache_dir: Where downloads are kept; the Hub client's own place if left out.
        token: For a private or gated repository; True for the stored one. It is never shown.
        error: What to raise.
        kind: `model`, `dataset` or `space`.

    Returns:
        A folder with those of the files that the repository has.

    Raises:
        PqppError: The repository or revision does not exist or may not be read, the Hub cannot be
            reached and nothing is cached, or what arrives is damaged; as the class `error`.
    """
    from huggingface_hub import constants, snapshot_download

    at = f" at revision {revision!r}" if revision else ""
    where: dict[str, Any] = {"revision": revision, "cache_dir": cache_dir, "token": token}
    where |= {"allow_patterns": list(files), "repo_type": kind}
    where |= {"local_files_only": not is_reachable(constants.ENDPOINT)}
    try:
        folder = Path(snapshot_download(repo_id, **where))
        damaged = _discard_damaged(folder)
        if damaged:
            folder = Path(snapshot_download(repo_id, **where))
            absent = [name for name in damaged if not (folder / name).is_file()]
            damaged = absent or _discard_damaged(folder)
        if not damaged:
            return folder
        reason = f"arrived damaged ({', '.join(damaged)}); nothing of it was kept, try again"
    except Exception as refusal:
        reason = _why_not(refusal, repo_id, token, kind)
    raise error(f"the Hub repository {repo_id!r}{at} {reason}")


def _why_not(error: Exception, repo_id: str, token: str | bool | None, kind: str) -> str:
    """Say why a download failed."""
    from huggingface_hub import errors

    if isinstance(error, errors.LocalEntryNotFoundError):
        # Said of whatever kept the client from asking; an answer of the Hub says more.
        if not isinstance(error.__cause__, errors.HfHubHTTPError):
            return NOT_CACHED
        error = error.__cause__
    is_absent = isinstance(error, errors.RepositoryNotFoundError) and kind == "model"
    if is_absent and (other := _other_kind(repo_id, token)):
        return f"is a {other}, not a model; give the model's name"
    return reason_of(error, "read")


def _other_kind(repo_id: str, token: str | bool | None) -> str | None:
    """Return whether a dataset or Space has a name, None if none has or it cannot be told."""
    from huggingface_hub import HfApi

    for kind, called in (("dataset", "dataset"), ("space", "Space")):
        try:
            HfApi(token=token).repo_info(repo_id, repo_type=kind)
        except Exception:
            continue
        return called
    return None


def _discard_damaged(folder: Path) -> list[str]:
    """Delete the files of a download that are not what the cache calls them; return their names.

    The cache of the Hub's client names content by its hash, but the client does not check it.
    """
    damaged = []
    for path in sorted(folder.iterdir()):
        blob = path.resolve()
        named = path.is_symlink() and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", blob.name)
        if named and content_id(blob, blob.name) != blob.name:
            damaged.append(path.name)
            blob.unlink()
            path.unlink()
    return damaged


def download(url: str, path: Path, size: int | None = None) -> None:
    """Download a file, going on with what an earlier download left of it, with a progress bar.

    A passing fault is waited out; a host that nobody answers at is not asked again.

    Args:
        url: The address.
        path: Where it goes.
        size: Its number of bytes, where known.

    Raises:
        OSError: It cannot be had, or the disk is full; one line without the address.
    """
    if is_offline():
        raise OSError("offline mode is on (HF_HUB_OFFLINE or HF_DATASETS_OFFLINE)")
    if not is_reachable(url):
        raise OSError(f"no connection to {urllib.parse.urlsplit(url).hostname}")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _download_once(url, path, size)
        except (OSError, http.client.HTTPException) as error:
            if is_full(error):
                raise
            if isinstance(error, urllib.error.HTTPError):
                error.close()  # else whoever keeps the error keeps its connection
            status = getattr(error, "code", None)
            if attempt == ATTEMPTS or status in _FINAL_STATUS:
                raise OSError(f"{_reason(error)} after {attempt} attempt(s)") from error
            if status == 416:  # what we kept is longer than the file: start anew
                path.unlink(missing_ok=True)
            logger.warning("%s: %s; trying again", url, _reason(error))
            time.sleep(min(2 ** (attempt - 1) * 0.5, 8))


def _download_once(url: str, path: Path, size: int | None) -> None:
    have = path.stat().st_size if path.exists() else 0
    if size is not None and have >= size:
        path.unlink()
        have = 0
    request = urllib.request.Request(url, headers={"User-Agent": "pqpp"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        have = have if response.status == 206 else 0
        announced = response.headers.get("Content-Length") or ""
        total = int(announced[:18]) + have if announced.isdecimal() else size
        if size is not None and total != size:
            raise ConnectionError(f"{total} bytes are announced, {size} are published")
        _copy(response, path, have, total)
    if total is not None and path.stat().st_size != total:
        raise ConnectionError(f"the connection ended at {path.stat().st_size} of {total} bytes")


def _copy(response: IO[bytes], path: Path, start: int, total: int | None) -> None:
    from datasets.utils import tqdm  # honours the library's own switch for progress bars

    name = path.name.removesuffix(".partial")
    with (
        naming(path.with_name(name)),
        path.open("ab" if start else "wb") as file,
        tqdm(total=total, initial=start, unit="B", unit_scale=True, desc=name) as bar,
    ):
        left = math.inf if total is None else total - start
        while chunk := response.read(_CHUNK):
            left -= len(chunk)
            if left < 0:  # a server that tells no length must not fill the disk
                raise ConnectionError(f"more than {total} bytes came")
            file.write(chunk)
            bar.update(len(chunk))


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP status {error.code}"
    if isinstance(error, urllib.error.URLError):
        return f"no connection ({error.reason})"
    return f"{type(error).__name__}: {error}"
