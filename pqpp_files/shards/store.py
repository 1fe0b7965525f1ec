"""A store of outputs: a folder, or an fsspec URL like `s3://bucket/predicted`.

Outputs are serialised in memory first, since an object store would publish the incomplete content
of a writer that ends with an exception.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pqpp_files.atomic_write import lock_folder, write_file
from pqpp_files.errors import FileError, describe, reraise
from pqpp_files.paths import check_output_folder, expand


class ShardStore:
    """A folder or object store of named outputs, which several processes may write to.

    Args:
        url: A folder, or an fsspec URL.

    Example:
        >>> store = ShardStore("memory://example")
        >>> store.write_new("a", b"1"), store.write_new("a", b"2")
        (True, False)
        >>> store.read("a"), store.list_names()
        (b'1', {'a'})
    """

    def __init__(self, url: str | os.PathLike[str]) -> None:
        self.url, self.is_local = os.fspath(url), is_local(os.fspath(url))
        if self.is_local:
            self.url = str(expand(self.url.removeprefix("file://")))

    def __str__(self) -> str:
        """Return the folder or URL."""
        return self.url

    def check(self, patterns: Sequence[str] | None = None, inputs: Sequence[str] = ()) -> None:
        """Refuse a store that cannot be used or written to.

        Args:
            patterns: Patterns of the names that a folder may contain; None for any.
            inputs: Input files, which must not be in the store.

        Raises:
            FileError: The store has other files or an input, cannot be reached, or is a Hub
                repository, in which each output would be a commit.
        """
        if self.url.startswith("hf://") and not self.url.startswith("hf://buckets/"):
            remedy = "write to a folder, then run `hf upload-large-folder`"
            raise FileError(f"each shard would be a commit to {self.url}; {remedy}")
        if self.is_local:
            return check_output_folder(self.url, patterns, [*filter(is_local, inputs)])
        url = self._files.fs.unstrip_protocol(self._files.path)
        if any(input_ == url or input_.startswith(f"{url}/") for input_ in inputs):
            raise FileError(f"{self.url} contains an input; choose another folder")
        self.list_names()

    def list_names(self) -> set[str]:
        """Return the names of all outputs; the set is empty if the store does not exist."""
        with self._convert_error(), contextlib.suppress(FileNotFoundError):
            return {path.rstrip("/") for path in self._files.ls("", detail=False, refresh=True)}
        return set()

    def find(self, folder: str) -> list[str]:
        """Return the names of all files below a folder, sorted."""
        with self._convert_error():
            self._files.invalidate_cache()
            return sorted(self._files.find(folder))

    def exists(self, name: str) -> bool:
        """Return whether an output exists."""
        with self._convert_error():
            self._files.invalidate_cache()
            return bool(self._files.exists(name))

    def open(self, name: str) -> Any:
        """Open an output for reading; a named pipe, which would block, counts as missing."""
        if self.is_local and not Path(self.url, name).is_file():
            raise FileNotFoundError(f"{self.url}/{name} is not a file")
        with self._convert_error():
            return self._files.open(name, "rb")

    def read(self, name: str) -> bytes:
        """Return the content of an output."""
        with self.open(name) as file:
            return bytes(file.read())

    def write(self, name: str, content: bytes) -> None:
        """Write an output atomically, replacing an older one."""
        if self.is_local:
            return write_file(Path(self.url, name), content)
        with self._convert_error():
            self._files.pipe_file(name, content)

    def lock(self) -> contextlib.AbstractContextManager[None]:
        """Let only one process at a time run a block, if the store is a folder; create it."""
        if not self.is_local:
            return contextlib.nullcontext()
        Path(self.url).mkdir(parents=True, exist_ok=True)
        return lock_folder(Path(self.url))

    def write_new(self, name: str, content: bytes) -> bool:
        """Write an output unless it exists, and return whether it was written.

        If the store cannot refuse existing names, the last of several simultaneous writers wins.
        """
        if self.is_local:
            with self.lock():
                if is_new := not self.exists(name):
                    self.write(name, content)
            return is_new
        with self._convert_error(), contextlib.suppress(NotImplementedError, TypeError, ValueError):
            try:
                self._files.pipe_file(name, content, mode="create")
            except FileExistsError:
                return False
            return True
        self.write(name, content)  # the file system has no mode "create"
        return True

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the connection, since each process opens its own."""
        return {"url": self.url, "is_local": self.is_local}

    @cached_property
    def _files(self) -> Any:
        import fsspec
        from fsspec.implementations.dirfs import DirFileSystem

        with reraise(f"{self.url} cannot be used", "check its name"):
            if self.is_local:  # fsspec would split a name such as `a::b`
                files, root = fsspec.filesystem("file"), self.url
            else:
                files, root = fsspec.core.url_to_fs(self.url)
        return DirFileSystem(files._strip_protocol(root).rstrip("/"), files)

    @contextlib.contextmanager
    def _convert_error(self) -> Any:
        """Turn most errors of the file system in a block into a one-line `FileError`."""
        try:
            yield
        except (FileNotFoundError, FileExistsError, FileError, NotImplementedError):
            raise
        except Exception as error:  # file systems raise various errors
            reason = describe(error)[:200]
            raise FileError(f"{self.url}: {reason}; check the URL and its permissions") from None


def is_local(url: str) -> bool:
    """Return whether a text names a file or folder on this machine.

    Example:
        >>> is_local("a/b"), is_local("file:///a"), is_local("s3://bucket/a")
        (True, True, False)
    """
    return "://" not in url or url.startswith("file://")
