"""Download files from the Hub and from other addresses, with time limits and retries."""

import contextlib
import logging
import re
import socket
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pqpp_files.atomic_write import convert_write_errors, find_full_disk_errno
from pqpp_files.errors import PqppError, describe
from pqpp_files.names import pluralize
from pqpp_files.paths import expand
from pqpp_hub.reasons import describe_error, find_hub_reason

logger = logging.getLogger(__name__)

ATTEMPTS = 5
REACHED_SECONDS = 2.0
_TOO_LONG = 416
_REACHED: set[tuple[str, int]] = set()
# Offline mode holds for the whole process, so threads that need another mode wait.
_MODE_LOCK = threading.RLock()


def is_reachable(url: str) -> bool:
    """Return within two seconds whether the host of an address accepts connections.

    The result is False in offline mode, and True behind a proxy, which is not checked.
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
        with contextlib.suppress(Exception):
            socket.create_connection(place, timeout=REACHED_SECONDS / 2).close()
            _REACHED.add(place)

    # If a name server does not answer, a request waits longer than its timeout.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(REACHED_SECONDS)
    return place in _REACHED


def is_offline() -> bool:
    """Return whether the offline mode of the Hub's client or of `datasets` is on."""
    from huggingface_hub import constants

    config = getattr(sys.modules.get("datasets"), "config", constants)
    with _MODE_LOCK:
        return constants.HF_HUB_OFFLINE or config.HF_HUB_OFFLINE


@contextlib.contextmanager
def use_cache_if_unreachable(*names: str) -> Iterator[None]:
    """Turn on offline mode in a block if the Hub cannot be reached, so that clients do not retry.

    Args:
        *names: The repositories to load; nothing changes if all are `pqpp` or local paths.
    """
    from huggingface_hub import constants

    are_local = all(name == "pqpp" or expand(name).exists() for name in names)
    with _MODE_LOCK, work_offline(not are_local and not is_reachable(constants.ENDPOINT)):
        yield


@contextlib.contextmanager
def work_offline(offline: bool = True) -> Iterator[None]:
    """Turn on offline mode in a block; False leaves it as it is."""
    from huggingface_hub import constants

    config: Any = getattr(sys.modules.get("datasets"), "config", constants)
    with _MODE_LOCK:
        before = constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE
        try:
            if offline:
                constants.HF_HUB_OFFLINE = config.HF_HUB_OFFLINE = True
            yield
        finally:
            constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE = before


def pull_files(
    repo_id: str,
    files: Sequence[str],
    revision: str | None = None,
    cache_dir: str | None = None,
    token: str | bool | None = None,
    error: type[PqppError] = PqppError,
    kind: str = "model",
) -> Path:
    """Download files of a Hub repository, unless they are cached, and return their folder.

    Args:
        repo_id: `OWNER/REPOSITORY`.
        files: Names or patterns of the files to download.
        revision: A branch, tag or commit; default: the main branch.
        cache_dir: Folder of downloads; default: the Hub client's cache.
        token: A token for a private or gated repository; True for the stored one.
        error: The error class to raise.
        kind: `model`, `dataset` or `space`.

    Returns:
        A folder with the requested files that exist in the repository.

    Raises:
        PqppError: The repository or revision does not exist or cannot be read, or the Hub cannot
            be reached and nothing is cached.
    """
    from huggingface_hub import constants, snapshot_download

    at = f" at revision {revision!r}" if revision else ""
    where: dict[str, Any] = {"revision": revision, "cache_dir": cache_dir, "token": token}
    where |= {"allow_patterns": list(files), "repo_type": kind}
    # In its cache, the client would take a path for that of a file with the commit.
    if revision and re.search(r"\.\.|^/|[\\:]", revision):
        raise error(f"the Hub repository {repo_id!r}{at} does not exist; check the revision")
    try:
        with _MODE_LOCK:
            cached = not is_reachable(constants.ENDPOINT)
            return Path(snapshot_download(repo_id, local_files_only=cached, **where))
    except Exception as refusal:
        # The underlying response, if there is one, gives the reason.
        reason = find_hub_reason(refusal) or describe_error(refusal, "read")
    raise error(f"the Hub repository {repo_id!r}{at} {reason}")


def download(url: str, path: Path, size: int | None = None) -> None:
    """Download a file with a progress bar; if `path` has its first bytes, continue after them.

    Temporary errors are retried.

    Args:
        path: The file to write.
        size: The number of bytes, if known.

    Raises:
        OSError: The host cannot be reached, the download fails, or the disk is full.
    """
    from huggingface_hub.file_download import http_get

    if is_offline():
        raise OSError("offline mode is on; unset HF_HUB_OFFLINE and HF_DATASETS_OFFLINE")
    if not is_reachable(url):
        raise OSError(f"no connection to {urllib.parse.urlsplit(url).hostname}")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with convert_write_errors(path), path.open("ab") as file:
                plain = {"Accept-Encoding": "identity"}
                http_get(url, file, resume_size=file.tell(), headers=plain, expected_size=size)
            return
        except Exception as error:
            if find_full_disk_errno(error):
                raise
            status = getattr(getattr(error, "response", None), "status_code", None)
            reason = f"HTTP status {status}" if status else describe(error)
            is_final = status and status < 500 and status not in (408, 429, _TOO_LONG)
            if attempt == ATTEMPTS or is_final:
                raise OSError(f"{reason} after {pluralize(attempt, 'attempt')}") from error
            if status == _TOO_LONG:  # the partial file is longer than the file: start again
                path.unlink(missing_ok=True)
            logger.warning("%s: %s; trying again", path.name, reason)
            time.sleep(min(2 ** (attempt - 1) * 0.5, 8))
