"""Resolve paths, and check output paths before long work; nothing is created or changed."""

import contextlib
import os
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pqpp_files.errors import FileError, PqppError, reraise

_SIGNATURES = {b"PAR1": "Parquet", b"\x89PNG": "PNG", b"%PDF": "PDF", b"PK\x03\x04": "ZIP"}
_SIGNATURES |= {b"\x1f\x8b": "gzip", b"SQLite format 3": "SQLite"}
"""The types of binary files, by their first bytes."""
_ENDINGS = "txt csv tsv dta jsonl? parquet xlsx? od[st] docx? pdf md rtf html? ya?ml zip png jpe?g"
_FILE_NAME = re.compile(rf".*\.(?:{_ENDINGS.replace(' ', '|')})(?:\.gz)?", re.I)


def expand(path: str | os.PathLike[str]) -> Path:
    """Return a path with `~` and `~NAME` expanded.

    Raises:
        FileError: The user does not exist, or the path contains NUL or a lone surrogate.

    Example:
        >>> expand("a/b").as_posix()
        'a/b'
        >>> expand("~nobody-here/a")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: ~nobody-here/a: no such user; write the full path
    """
    if re.search("[\0\ud800-\udc7f\udd00-\udfff]", str(path)):  # not part of an encoded name
        raise FileError(f"{path!s}: a path cannot contain NUL or a lone surrogate; remove it")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise FileError(f"{path}: no such user; write the full path") from None


def is_file_name(text: str) -> bool:
    """Return whether a text is probably a file name rather than a prompt.

    It ends in the suffix of a table, a document or an image, and has no space unless it exists.

    Example:
        >>> is_file_name("prompts.csv"), is_file_name("a sign that says notes.txt")
        (True, False)
    """
    if _FILE_NAME.fullmatch(text):
        with contextlib.suppress(FileError, OSError):
            return len(text.split()) == 1 or expand(text).is_file()
    return False


def resolve(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path, with `~` expanded and links resolved; it need not exist.

    Raises:
        FileError: As in `expand`, or the links are circular.

    Example:
        >>> resolve(".") == Path.cwd()
        True
    """
    with contextlib.suppress(RuntimeError):
        target = expand(path).resolve()
        if not any(part.is_symlink() for part in (target, *target.parents)):
            return target
    raise FileError(f"{path}: circular symbolic link; remove the link")


def join_inside(root: str | os.PathLike[str], name: str | os.PathLike[str]) -> Path:
    """Return the path of a name in a folder, refusing names that lead out of it, even by a link.

    Use it for names in other people's tables, so that no other file is shown or copied. A folder in
    the Hub's cache includes the files that its links refer to.

    Args:
        root: The folder; it may be a link.
        name: A path relative to the folder.

    Raises:
        FileError: The path is outside the folder.

    Example:
        >>> join_inside("images", "a/b.png").as_posix()
        'images/a/b.png'
        >>> join_inside("images", "../secret.png")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: ../secret.png is outside images; copy the file into this folder
    """
    path = expand(root) / name
    roots = [resolve(root)]
    roots += [p.parent / "blobs" for p in roots[0].parents if p.match("*--*/snapshots")]
    if not any(map(resolve(path).is_relative_to, roots)):
        raise FileError(f"{name} is outside {root}; copy the file into this folder")
    return path


def refuse_pipe(path: str | os.PathLike[str], error: type[PqppError] = FileError) -> None:
    """Refuse a named pipe, whose reader might wait for ever; `<(...)` is allowed.

    Args:
        error: The error class to raise.

    Example:
        >>> refuse_pipe("votes.csv")
    """
    if Path(path).is_fifo() and not re.match("/(dev/(fd|std)|proc)", str(path)):  # as of <(...)
        raise error(f"{path} is a named pipe; give a file, or - for standard input")


def walk_files(folder: Path) -> list[Path]:
    """Return the files and links in a folder and its subfolders, sorted; none if it is missing.

    Raises:
        FileError: There is a pipe or a device, which might never end, or an unreadable folder.

    Example:
        >>> import tempfile
        >>> walk_files(Path(tempfile.mkdtemp()))
        []
    """
    folders, files = [folder] if folder.is_dir() else [], list[Path]()
    for subfolder in folders:  # grows in the loop; recursion would fail at a depth of a thousand
        with reraise(f"{subfolder} cannot be read", "allow access, or choose another folder"):
            paths = list(subfolder.iterdir())
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                folders.append(path)
            elif path.is_fifo() or path.is_char_device():
                raise FileError(f"{path} is a pipe or a device; remove it")
            else:
                files.append(path)
    return sorted(files)


def check_output(
    path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Refuse an output file that cannot be written or that is an input.

    Args:
        path: The file; neither it nor its folder need exist. A pipe or a device is allowed.
        inputs: The input files; missing ones are ignored.

    Raises:
        FileError: The path is a folder or an input, even by a link, or its folder cannot be created
            or written to.

    Example:
        >>> check_output("/")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: / is a folder; use a file
    """
    target = expand(path)
    if target.is_dir():
        raise FileError(f"{path} is a folder; use a file")
    if target.exists() and not target.is_file():
        return
    for name in inputs:
        source = expand(name)
        if target.exists() and source.exists() and source.samefile(target):
            raise FileError(f"{path} is the input {name}; use another file")
    check_output_folder(resolve_links(target).parent)


def refuse_other_file_type(path: str | os.PathLike[str], allowed_types: Sequence[str]) -> None:
    """Refuse to overwrite a file of another type than the output's.

    Args:
        path: The file; it need not exist.
        allowed_types: The file types that may be replaced, by their first bytes: `text`, `binary`,
            `Parquet`, `PNG`, ... An empty or unreadable file can always be replaced.

    Raises:
        FileError: The file has another type.

    Example:
        >>> refuse_other_file_type(__file__, ["Parquet"])
        Traceback (most recent call last):
        pqpp_files.errors.FileError: ...paths.py is a text file and would be overwritten; ...
    """
    target, head = expand(path), b""
    if target.is_file():
        with contextlib.suppress(OSError), target.open("rb") as file:
            head = file.read(4096)
    default = "binary" if b"\0" in head else "text"
    kind = next((kind for start, kind in _SIGNATURES.items() if head.startswith(start)), default)
    if head and kind not in allowed_types:
        raise FileError(f"{path} is a {kind} file and would be overwritten; use another file")


def check_output_folder(
    folder: str | os.PathLike[str],
    patterns: Sequence[str] | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Refuse an output folder that cannot be written to, or that contains an input or other files.

    Args:
        folder: The folder; it need not exist.
        patterns: Patterns of the names that it may contain; None for any. If the first is a name, a
            folder without this file has no earlier result, and must be empty.
        inputs: Input files, which must not be in it.

    Raises:
        FileError: The folder or a parent is a file or cannot be written to, or the folder contains
            an input or other files.

    Example:
        >>> check_output_folder(__file__)
        Traceback (most recent call last):
        pqpp_files.errors.FileError: ...paths.py is a file; use a folder
    """
    target = resolve_links(expand(folder)).absolute()
    nearest = next(file for file in (target, *target.parents) if file.exists())
    if not nearest.is_dir():
        raise FileError(f"{nearest} is a file; use a folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise FileError(f"no permission to write to {nearest}; choose another folder")
    for name in inputs:
        if resolve(target) in (source := resolve(name), *source.parents):
            raise FileError(f"{folder} contains the input {name}; choose another folder")
    if patterns is None or not target.exists():
        return
    names = sorted(f"{p.name} (a pipe)" if p.is_fifo() else p.name for p in target.iterdir())
    known = [p for p in patterns if "*" in patterns[0] or patterns[0] in names]
    if foreign := [n for n in names if not any(fnmatchcase(n, pattern) for pattern in known)]:
        examples = ", ".join(foreign[:3])
        raise FileError(f"{folder} contains other files ({examples}); choose another folder")


def resolve_links(path: Path) -> Path:
    """Return the target of a link, which need not exist, or else the path itself.

    Raises:
        FileError: The links are circular.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "link").symlink_to(folder / "target")
        >>> resolve_links(folder / "link").name
        'target'
    """
    return resolve(path) if path.is_symlink() else path
