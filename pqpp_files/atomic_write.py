"""Write files and folders atomically: to a temporary path, which is then renamed.

A folder replaces an older one in one step on Linux, and with two renames elsewhere. The name of a
temporary path contains the id of its process, so that a later run can remove what a killed process
left, and restore a folder if the process was killed between the two renames.
"""

import contextlib
import errno
import os
import platform
import re
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pqpp_files.errors import FileError
from pqpp_files.paths import check_output_folder, expand, resolve_links, walk_files

_MARK = "pqpp"
_CLEANED_FOLDERS: set[Path] = set()
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], is_secret: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to, and rename it to `path` on success.

    If `path` is a link, its target is replaced. The new file has the old one's permissions.

    Args:
        is_secret: Whether only its owner may read it, from the first byte.

    Example:
        >>> import pathlib, tempfile
        >>> target = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> with atomic_write(target) as temp_path:
        ...     _ = temp_path.write_text("whole")
        >>> target.read_text()
        'whole'
    """
    target = resolve_links(Path(path))
    if target.exists() and not target.is_file():
        yield target  # a pipe or a device can't be replaced, only written to
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.parent not in _CLEANED_FOLDERS:
            remove_temporary_files(target.parent)
        temp_path = _make_temporary_path(target, target.suffix)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() and not is_secret else None
        temp_path.touch(0o600 if is_secret or mode is not None else 0o666, exist_ok=False)
    except OSError as error:  # name the requested file, not the temporary one
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        with convert_write_errors(path):
            yield temp_path
            _flush_to_disk(temp_path)
        if mode is not None:
            with contextlib.suppress(OSError):  # a file system without modes
                temp_path.chmod(mode)  # last, since it may make the file read-only
        temp_path.replace(target)
    finally:
        temp_path.unlink(missing_ok=True)


def write_file(path: str | os.PathLike[str], content: str | bytes, is_secret: bool = False) -> None:
    """Write a file atomically; text is encoded as UTF-8.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.txt"
        >>> write_file(path, "a cat")
        >>> path.read_text()
        'a cat'
    """
    with atomic_write(path, is_secret) as temp_path:
        temp_path.write_bytes(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def atomic_folder(
    folder: str | os.PathLike[str],
    patterns: Sequence[str] | None = None,
    check: Callable[[Path], None] = lambda _: None,
) -> Iterator[Path]:
    """Yield a temporary folder to write to, which replaces `folder` on success.

    If the replacement fails, the old folder is restored. If `folder` is a link, its target is
    replaced.

    Args:
        patterns: Patterns of the names that an older folder may contain; None for any.
        check: A function that raises an error if an older folder must not be replaced; called
            before and after the block.

    Raises:
        FileError: The folder contains other files, is a file, or was new and another run wrote it.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "mine"
        >>> with atomic_folder(folder) as temp_folder:
        ...     _ = (temp_folder / "a.txt").write_text("a cat")
        ...     exists_early = folder.exists()
        >>> exists_early, [path.name for path in folder.iterdir()]
        (False, ['a.txt'])
    """
    target = resolve_links(expand(folder).absolute())
    remove_temporary_files(target.parent)
    new = _make_temporary_path(target) / "new"
    try:
        with lock_folder(target.parent):
            check(target)
            check_output_folder(target, patterns)
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        with convert_write_errors(folder):
            new.mkdir(parents=True)
            if mode is not None:
                new.chmod(mode)
            yield new
            for path in filter(Path.is_file, walk_files(new)):
                _flush_to_disk(path)
        with lock_folder(target.parent):
            check(target)
            check_output_folder(target, patterns)
            if mode is None and target.exists():
                raise FileError(f"another process created {folder}; choose another folder")
            if not _exchange(new, target):
                if target.exists():
                    target.rename(new.with_name("old"))
                new.rename(target)
    except BaseException:
        with contextlib.suppress(OSError):
            _restore_old_folder(new.parent, target)
        raise
    finally:
        shutil.rmtree(new.parent, ignore_errors=True)


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Let only one process at a time run a block, on systems that can lock folders.

    Locks on a folder cannot be nested, and `atomic_folder` locks the folder that it writes into.

    Example:
        >>> with lock_folder(Path()):
        ...     pass
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ImportError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)  # which unlocks it
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; return False if the system or the disk cannot."""
    import ctypes

    library = None if os.name == "nt" else ctypes.CDLL(None)
    rename = getattr(library, "renameat2", lambda *_: -1)
    return bool(rename(-100, os.fsencode(first), -100, os.fsencode(second), 2) == 0)


def _restore_old_folder(temp_path: Path, path: Path) -> None:
    """Move the old folder back from a temporary path, unless its own path exists."""
    if (temp_path / "old").exists() and not path.exists():
        (temp_path / "old").rename(path)


def _make_temporary_path(path: Path, suffix: str = "") -> Path:
    """Return an unused path next to `path` whose name contains the machine and process ids."""
    name = path.name if len(os.fsencode(path.name)) < 180 else f"{zlib.crc32(bytes(path)):08x}"
    writer = f"{_MACHINE}-{os.getpid()}-{os.urandom(4).hex()}"
    return path.with_name(f".{name}.{_MARK}-{writer}{suffix}")


def remove_temporary_files(folder: Path) -> None:
    """Remove the temporary files of killed processes of this machine; restore replaced folders."""
    temporary_name = re.compile(rf"\.(.+)\.{_MARK}-{_MACHINE}-(\d+)-[0-9a-f]{{8}}(\..*)?")
    _CLEANED_FOLDERS.add(folder)
    for path in [*folder.glob(f".*.{_MARK}-{_MACHINE}-*")]:
        match = temporary_name.fullmatch(path.name)
        if not match or _is_alive(int(match[2])):
            continue
        with contextlib.suppress(OSError):
            _restore_old_folder(path, folder / match[1])
        shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):  # a file
            path.unlink()


def _is_alive(process: int) -> bool:
    try:
        if os.name != "nt":  # on Windows, os.kill would end the process
            os.kill(process, 0)
    except OSError as error:  # PermissionError: it belongs to another user
        return not isinstance(error, ProcessLookupError)
    return True


def _flush_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def convert_write_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors from a full disk or unencodable text in a block to errors that name a path.

    Args:
        path: The path to name, instead of that of a temporary file.

    Raises:
        OSError: The disk is full, or the file exceeds the size limit.
        FileError: The text contains a lone surrogate, which UTF-8 cannot encode.

    Example:
        >>> with convert_write_errors("a.csv"):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        ...
        OSError: [Errno 28] no space left on the disk; free space, or use another path: 'a.csv'
    """
    try:
        yield
    except UnicodeEncodeError as error:
        surrogate = ascii(error.object[error.start])
        raise FileError(f"{path}: the text has a lone surrogate, {surrogate}; remove it") from None
    except Exception as error:
        is_named = isinstance(error, OSError) and error.filename == str(path)
        if is_named or not (number := find_full_disk_errno(error)):
            raise
        remedies = {errno.EFBIG: "the file exceeds the size limit; raise the limit with ulimit -f"}
        remedy = remedies.get(number, "no space left on the disk; free space, or use another path")
        raise OSError(number, remedy, str(path)) from error


def find_full_disk_errno(error: BaseException | None) -> int:
    """Return the errno with which an error or one of its causes reports a full disk, else 0.

    An exceeded quota or file size limit counts as a full disk.

    Example:
        >>> find_full_disk_errno(OSError(errno.EFBIG, "File too large")) == errno.EFBIG
        True
        >>> find_full_disk_errno(OSError("else"))
        0
    """
    visited: list[BaseException] = []  # causes may form a cycle
    while error is not None and error not in visited:
        visited.append(error)
        is_sqlite = getattr(error, "sqlite_errorcode", None) == 13  # SQLITE_FULL
        is_torch = ". unexpected pos " in str(error)  # of torch.save
        number = errno.ENOSPC if is_sqlite or is_torch else getattr(error, "errno", 0)
        if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return number
        error = error.__cause__ or error.__context__
    return 0
