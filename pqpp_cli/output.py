"""Printing a result, or writing it to a file that is whole or not there."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pqpp_cli.errors import CommandError
from pqpp_files.visible import visible

_SUFFIXES = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".parquet": "parquet"}
_SUFFIXES |= {".md": "markdown", ".tex": "latex", ".html": "html"}
_PLAIN = ("", ".txt")
_PICTURES = (".png", ".pdf", ".svg")
_IMAGE_FOLDERS = ("image_dir", "folder")


class OutputFile(str):
    """The name of a file to write, as the type of an option; `check_outputs` looks at it."""


class OutputPage(OutputFile):
    """The name of an HTML file to write."""


class OutputPicture(OutputFile):
    """The name of an image file to write."""


class OutputFolder(str):
    """The name of a folder to write."""


_QUIET = {
    "TRANSFORMERS_VERBOSITY": "error",
    "DATASETS_VERBOSITY": "critical",
    "HF_HUB_VERBOSITY": "error",
}
_BARLESS = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}


def quiet_libraries() -> None:
    """Keep the notes of libraries off the screen, and their bars off what is no terminal.

    They read the environment when they are imported, which is later, or else have functions for it.
    """
    _say_own_warnings()
    is_watched = sys.stderr.isatty()
    for name, value in (_QUIET if is_watched else {**_QUIET, **_BARLESS}).items():
        os.environ.setdefault(name, value)
    if hub := sys.modules.get("huggingface_hub"):
        hub.logging.set_verbosity_error()
    if datasets := sys.modules.get("datasets"):
        datasets.logging.set_verbosity(datasets.logging.CRITICAL)
        if not is_watched:
            datasets.disable_progress_bars()
    if transformers := sys.modules.get("transformers"):
        transformers.logging.set_verbosity_error()
        if not is_watched:
            transformers.logging.disable_progress_bar()


class _Notes(logging.Handler):
    """Says what this project's own modules log as notes, a line each.

    Where a program that calls the command has set logging up, its handlers say it.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            print(f"pqpp: note: {record.getMessage()}", file=sys.stderr)


def _say_own_warnings() -> None:
    for name in ("pqpp_datasets", "pqpp_hub"):
        logger = logging.getLogger(name)
        if not any(isinstance(one, _Notes) for one in logger.handlers):
            logger.addHandler(_Notes(logging.WARNING))


def check_outputs(options: argparse.Namespace) -> None:
    """Refuse outputs that could not be written, or that are an input, before any work begins.

    An input is every file that another option or argument names, also as FILE:COLUMN or NAME=FILE,
    and every file that is there in a folder that one names, but for pages, for tables beside
    images (`--image-dir`, `pqpp feedback FOLDER`), and for the folder that the command runs in and
    those above it, which hold anything.

    Raises:
        CommandError: One line that names the option.
    """
    _know_folders(options)
    named = vars(options).items()
    outputs = {name: v for name, v in named if isinstance(v, OutputFile | OutputFolder)}
    if not outputs:
        return
    from pqpp_files.check_output import check_output, check_output_folder
    from pqpp_files.errors import FileError

    given = [value for name, value in named if name not in outputs]
    inputs = [path for value in given for path in _named_in(value, Path.is_file)]
    tables = [value for name, value in named if name not in (*outputs, *_IMAGE_FOLDERS)]
    folders = [path for value in tables for path in _named_in(value, Path.is_dir)]
    images = [
        path
        for name in _IMAGE_FOLDERS
        for path in _named_in(getattr(options, name, None), Path.is_dir)
    ]
    for name, path in outputs.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(path, OutputPage) and not path.lower().endswith((".html", ".htm")):
            raise CommandError(f"{option} {path}: a page is written; name a file in .html")
        if isinstance(path, OutputPicture) and not path.lower().endswith(_PICTURES):
            raise CommandError(f"{option} {path}: name a file in {', '.join(_PICTURES)}")
        try:
            if isinstance(path, OutputFolder):
                check_output_folder(path, inputs=inputs)
            else:
                check_output(path, inputs)
                if not isinstance(path, OutputPage):
                    read = [*folders, *images] if isinstance(path, OutputPicture) else folders
                    _refuse_in_folders(path, read)
        except FileError as error:
            raise CommandError(f"{option} {error}") from None
    twice = [name for name in outputs if list(outputs.values()).count(outputs[name]) > 1]
    if twice:
        raise CommandError(f"--{' and --'.join(twice)} are one file; name two")


def _know_folders(options: argparse.Namespace) -> None:
    """Note that `--output` is a folder where another option says so: one of `folder_with`."""
    if any(getattr(options, one) is not None for one in getattr(options, "folder_with", ())):
        options.output = options.output and OutputFolder(options.output)


def _refuse_in_folders(path: str, folders: Sequence[str]) -> None:
    """Refuse a file that is there in a folder that is read."""
    from pqpp_files.errors import FileError

    place, here = Path(path).expanduser().resolve(), Path.cwd()
    for one in folders if place.is_file() else ():
        folder = Path(one).expanduser().resolve()
        if folder in place.parents and folder not in (here, *here.parents):
            raise FileError(f"{path} is a file of the input {one}; name another file")


def _named_in(value: object, is_there: Callable[[Path], bool]) -> list[str]:
    """Return the files, or the folders, that the value of an option names."""
    if isinstance(value, list):
        return [path for one in value for path in _named_in(one, is_there)]
    if not isinstance(value, str):
        return []
    behind = value.partition("=")[2] or value
    candidates = {one for text in (value, behind) for one in (text, text.rpartition(":")[0])}
    return [one for one in sorted(candidates) if one and _is(one, is_there)]


def _is(text: str, is_there: Callable[[Path], bool]) -> bool:
    try:
        return is_there(Path(text).expanduser())
    except (OSError, ValueError, RuntimeError):  # a prompt, too long for a name or with a zero
        return False


def format_of(options: argparse.Namespace, formats: Sequence[str]) -> str:
    """Return the format that was asked for, by `--format` or by the name of the file.

    Args:
        options: With `format`, None where none was named, and `output`.
        formats: Those that the command has.

    Raises:
        CommandError: The name ends in what the command can't write.

    Example:
        >>> format_of(argparse.Namespace(format=None, output="p.csv"), ("table", "csv"))
        'csv'
    """
    if options.format is not None:
        return options.format
    suffix = Path(options.output or "").suffix.lower()
    named = _SUFFIXES.get(suffix, "table")
    if named not in formats or (suffix not in _SUFFIXES and suffix not in _PLAIN):
        known = [one for one, style in _SUFFIXES.items() if style in formats]
        raise CommandError(
            f"--output {options.output}: {suffix} is no known format; use one of "
            f"{', '.join(known)}, .txt, or --format"
        )
    return named


def emit(text: str | bytes, output: str | None) -> None:
    """Print a text, or write it to the file `output` beside the old one and rename it.

    Args:
        text: What to write; a final newline is added to a text where there is none.
        output: A path, or None for standard output; bytes need a path.
    """
    if isinstance(text, str) and not text.endswith("\n"):
        text += "\n"
    if output is None:
        assert isinstance(text, str)
        show(text)
        return
    from pqpp_files.write_beside import write_whole

    write_whole(output, text)
    print(f"written: {visible(str(output))}", file=sys.stderr)


def emit_columns(columns: dict, style: str, output: str | None) -> None:
    """Print columns as csv, json or jsonl, or write them to a file, Parquet among them."""
    from pqpp_files.write_beside import write_beside
    from pqpp_files.write_table import table_text, write_parquet

    if style != "parquet":
        return emit("".join(table_text(style, [columns])), output)
    if output is None:
        raise CommandError("--format parquet: a terminal can't show it; name a file by --output")
    with write_beside(output) as beside:
        write_parquet(beside, [columns], [columns])
    print(f"written: {visible(str(output))}", file=sys.stderr)


def show(text: str) -> None:
    """Print a text, which on a terminal does nothing but be read: a program is given what is."""
    if sys.stdout.isatty():
        from pqpp_files.visible import visible

        text = visible(text, "\n\t")
    sys.stdout.write(text)
