"""The published files of each benchmark: their addresses and sizes."""

import functools
from dataclasses import dataclass
from pathlib import Path

from pqpp_files.foreign.json_values import read_json

HEAD_BYTES = 1024


@dataclass(frozen=True)
class PublishedFile:
    """One published file.

    Attributes:
        path: Its path below the benchmark's folder, as in the published repository.
        url: The address, pinned to a commit.
        bytes: Its size, or None if no copy could be measured.
        sha256: Its digest, or None: then the digest of the first download is recorded and verified.
        head_sha256: The digest of its first `HEAD_BYTES` bytes, if known.
    """

    path: str
    url: str
    bytes: int | None
    sha256: str | None
    head_sha256: str | None = None


@dataclass(frozen=True)
class Release:
    """A pinned release: the published files of one folder below `PQPP_DATA_DIR`."""

    folder: str
    commit: str
    files: tuple[PublishedFile, ...]

    def find_file(self, path: str) -> PublishedFile | None:
        """Return the published file at `path`, or None when the release has none there."""
        return next((source for source in self.files if source.path == path), None)


@functools.cache
def get_release(folder: str) -> Release:
    """Return the pinned release of a benchmark folder, without files if none is published.

    Example:
        >>> from pqpp_datasets.sources import get_release
        >>> get_release("pqpp/v1.0").find_file("dataset/train.csv").bytes
        847910
    """
    pinned = read_json(Path(__file__).with_name("sources.json"))
    entry = pinned.get(folder, {"commit": "none", "files": []})
    return Release(folder, entry["commit"], tuple(PublishedFile(**s) for s in entry["files"]))
