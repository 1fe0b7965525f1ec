"""Where a command writes: looked at before any work begins, so that no input is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pqpp_cli.command import CommandError
from pqpp_files.paths import expanded

_OUTPUTS = ("output", "output file")
PAGES = (".html", ".htm")
PICTURES = (".png", ".pdf", ".svg")
_LISTING = "metadata"  # the table that says what a folder's images show


def check_outputs(command: Any) -> None:
    """Refuse outputs that could not be written, or that are an input, before any work begins.

    An input is every file that an option with a path names, also as FILE:COLUMN or NAME=FILE, and
    every file that is there in a folder that one names, but for pages and tables of verdicts beside
    images, and for the folder that the command runs in and those above it, which hold anything.
    What is replaced must be of the kind of file that is written.

    Raises:
        CommandError: One line that names the option.
    """
    from pqpp_files.errors import FileError
    from pqpp_files.options.option import fields_of
    from pqpp_files.paths import check_output, check_output_folder, refuse_other_kind

    roles = {field.name: command.role_of(field.name) for field in fields_of(command)}
    given = {name: value for name in roles if (value := getattr(command, name)) is not None}
    outputs = {name: value for name, value in given.items() if roles[name] in _OUTPUTS}
    if not outputs:
        return
    read = {name: value for name, value in given.items() if roles[name] and name not in outputs}
    inputs = _named_in(list(read.values()), Path.is_file)
    images = _named_in([v for n, v in read.items() if roles[n] == "images"], Path.is_dir)
    folders = _named_in([v for n, v in read.items() if roles[n] != "images"], Path.is_dir)
    for field in fields_of(command):
        if field.name not in outputs:
            continue
        name, path, endings = field.name, outputs[field.name], field.metadata.get("endings")
        is_folder = roles[name] == "output"
        if endings and not is_folder and not path.lower().endswith(tuple(endings)):
            raise CommandError(f"`{name}` {path}: name a file in {', '.join(endings)}")
        try:
            if is_folder:
                check_output_folder(path, inputs=inputs)
                continue
            check_output(path, inputs)
            holds = command.holds(name)
            refuse_other_kind(path, holds)
            beside_images = endings == PAGES or holds == ("Parquet",)
            is_listing = Path(path).stem.lower() == _LISTING
            _refuse_in_folders(path, folders)
            _refuse_in_folders(path, images if is_listing or not beside_images else ())
        except FileError as error:
            raise CommandError(f"`{name}` {error}") from None
    twice = [f"`{name}`" for name in outputs if list(outputs.values()).count(outputs[name]) > 1]
    if twice:
        raise CommandError(f"{' and '.join(twice)} are one file; name two")


def _refuse_in_folders(path: str, folders: Sequence[str]) -> None:
    """Refuse a file that is there in a folder that is read."""
    from pqpp_files.errors import FileError

    place, here = expanded(path).resolve(), Path.cwd()
    for name in folders if place.is_file() else ():
        folder = expanded(name).resolve()
        if folder in place.parents and folder not in (here, *here.parents):
            raise FileError(f"{path} is a file of the input {name}; name another file")


def _named_in(value: Any, is_there: Callable[[Path], bool]) -> list[str]:
    """Return the files, or the folders, that the values of options name."""
    return [text for text in sorted(set(_candidates(value))) if text and _is(text, is_there)]


def _candidates(value: Any) -> Iterator[str]:
    """Give what may be a path in a value: alone, behind `NAME=`, before `:COLUMN`."""
    if isinstance(value, str):
        for text in (value, value.partition("=")[2] or value):
            yield from (text, text.rpartition(":")[0])
    elif isinstance(value, dict):
        yield from _candidates(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _candidates(item)


def _is(text: str, is_there: Callable[[Path], bool]) -> bool:
    try:
        return is_there(expanded(text))
    except (OSError, ValueError, RuntimeError):  # too long for a name, or with a zero
        return False
