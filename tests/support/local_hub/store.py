"""What a Hub holds: repositories of commits, whose files are kept once by their hash.

Blobs are named by their sha256, commits by the hash of what they say, so that equal content is
stored once and nothing that was written ever changes. All is kept in memory.
"""

import fnmatch
import hashlib
import json
import threading
import time
from dataclasses import asdict, dataclass, field

_LARGE = """
7z arrow bin bz2 ckpt gz h5 joblib jpeg jpg msgpack npy npz onnx parquet pickle pkl png pt pth
safetensors tar webp xz zip zst
"""
GITATTRIBUTES = "".join(
    f"*.{ending} filter=lfs diff=lfs merge=lfs -text\n" for ending in _LARGE.split()
)
LARGEST_REGULAR_FILE = 10 * 1024 * 1024


def get_blob_id(content: bytes) -> str:
    """Name content as git does."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def make_pointer(sha256: str, size: int) -> bytes:
    """Write the small text that git holds in the place of a large file."""
    return (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()
    )


@dataclass(frozen=True)
class Entry:
    """A file of a commit.

    Attributes:
        oid: Its git blob id: of the content, or of the pointer for a large file.
        sha256: The hash of its content, under which the blob is kept.
        size: Bytes of its content.
        lfs: Whether it is a large file.
    """

    oid: str
    sha256: str
    size: int
    lfs: bool

    @property
    def etag(self) -> str:
        """The name that the Hub gives a file's content in the ETag header."""
        return self.sha256 if self.lfs else self.oid


@dataclass(frozen=True)
class Commit:
    """A state of a repository; its files by path."""

    files: dict[str, Entry]
    parent: str | None
    title: str
    message: str
    author: str
    date: str

    @property
    def id(self) -> str:
        """The hash of all that the commit says."""
        return hashlib.sha1(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass
class Repository:
    """A model, dataset or Space: its commits by id, its branches by name.

    Pull requests are numbered from 1: each has a `head`, a `title`, an `author` and a `status`.
    """

    kind: str
    id: str
    private: bool
    created: str
    sdk: str | None = None
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    requests: list[dict[str, str]] = field(default_factory=list)

    def resolve(self, revision: str) -> str | None:
        """Return the commit that a branch, a pull request or (the start of) a commit's id names."""
        heads = {f"refs/pr/{n}": pull["head"] for n, pull in enumerate(self.requests, 1)}
        for names in (self.branches, heads):
            if revision in names:
                return names[revision]
        matches = [key for key in self.commits if len(revision) >= 7 and key.startswith(revision)]
        return matches[0] if len(matches) == 1 else None

    def add(self, commit: Commit, branch: str) -> str:
        """Put a commit at the head of a branch and return its id."""
        self.commits[commit.id] = commit
        self.branches[branch] = commit.id
        return commit.id


def get_time() -> str:
    """Say the time as the Hub writes it."""
    seconds = time.time()
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e3):03}Z"
    )


class Store:
    """All repositories and blobs."""

    def __init__(self):
        self.lock = threading.RLock()
        self.repositories: dict[tuple[str, str], Repository] = {}
        self._blobs: dict[str, bytes] = {}

    def put(self, content: bytes) -> str:
        """Keep content and return its sha256."""
        sha256 = hashlib.sha256(content).hexdigest()
        self._blobs[sha256] = content
        return sha256

    def has(self, sha256: str) -> bool:
        """Tell whether content is there."""
        return sha256 in self._blobs

    def get(self, sha256: str) -> bytes:
        """Return content by its hash."""
        return self._blobs[sha256]

    def add_file(self, content: bytes) -> Entry:
        """Keep a small file."""
        return Entry(get_blob_id(content), self.put(content), len(content), lfs=False)

    def add_large(self, sha256: str) -> Entry:
        """Point to a large file that was uploaded before."""
        size = len(self.get(sha256))
        return Entry(get_blob_id(make_pointer(sha256, size)), sha256, size, lfs=True)

    def create(
        self, kind: str, name: str, private: bool, author: str, sdk: str | None
    ) -> Repository:
        """Make a repository with the first commit that the Hub gives to each."""
        repository = Repository(kind, name, private, get_time(), sdk)
        files = {".gitattributes": self.add_file(GITATTRIBUTES.encode())}
        repository.add(Commit(files, None, "initial commit", "", author, get_time()), "main")
        self.repositories[kind, name] = repository
        return repository

    def read_text(self, commit: Commit, path: str) -> str:
        """Return a file of a commit as text, empty where there is none."""
        entry = commit.files.get(path)
        return self.get(entry.sha256).decode("utf-8", "replace") if entry else ""

    def is_large(self, commit: Commit, path: str, size: int, sample: bytes) -> bool:
        """Tell whether a file must be uploaded as a large one, as `.gitattributes` says."""
        lines = self.read_text(commit, ".gitattributes").splitlines()
        patterns = [line.split()[0] for line in lines if "filter=lfs" in line]
        is_named = any(fnmatch.fnmatch(path.rsplit("/", 1)[-1], pattern) for pattern in patterns)
        return size > 0 and (is_named or size > LARGEST_REGULAR_FILE or b"\0" in sample)
