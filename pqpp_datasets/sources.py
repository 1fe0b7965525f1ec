"""The published files of each benchmark, with URLs, sizes and hashes."""

import functools
from dataclasses import dataclass
from pathlib import Path

from pqpp_files.foreign.json_values import read_json

HEAD_BYTES = 1024


@dataclass(frozen=True)
class PublishedFile:
    """A published file.

    Attributes:
        path: Path in the published repository and below the benchmark's folder.
        url: URL, pinned to a commit.
        bytes: Size in bytes; None if unknown.
        sha256: SHA-256; None if unknown, so that the first download determines it.
        head_sha256: SHA-256 of the first `HEAD_BYTES` bytes; None if unknown.
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
        """Return the published file with this path, None if there is none."""
        return next((source for source in self.files if source.path == path), None)


@functools.cache
def get_release(folder: str) -> Release:
    """Return the pinned release for a benchmark's folder; it has no files if none are published.

    Example:
        >>> from pqpp_datasets.sources import get_release
        >>> get_release("pqpp/v1.0").find_file("dataset/train.csv").bytes
        847910
    """
    releases = read_json(Path(__file__).with_name("sources.json"))
    entry = releases.get(folder, {"commit": "none", "files": []})
    return Release(folder, entry["commit"], tuple(PublishedFile(**s) for s in entry["files"]))
