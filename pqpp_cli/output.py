"""Print results, or write them to files atomically."""

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from pqpp_files.escape import escape_controls

_QUIET = {
    "TRANSFORMERS_VERBOSITY": "error",
    "DATASETS_VERBOSITY": "critical",
    "DIFFUSERS_VERBOSITY": "error",
    "HF_HUB_VERBOSITY": "error",
}
_PIPED = 100
"""Default width of a table in a pipe."""
_DATA = ("csv", "json", "jsonl", "text", "parquet")
_BARLESS = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}


def quiet_libraries() -> None:
    """Hide notes of libraries, and their progress bars outside a terminal.

    They read the environment when they are imported, which is later, or else have functions for it.
    """
    for name in ("pqpp_annotation.study", "pqpp_datasets", "pqpp_files", "pqpp_hub", "pqpp_models"):
        logger = logging.getLogger(name)
        if not any(isinstance(handler, _NoteHandler) for handler in logger.handlers):
            logger.addHandler(_NoteHandler(logging.WARNING))
    is_watched = sys.stderr.isatty()
    for name, value in (_QUIET if is_watched else {**_QUIET, **_BARLESS}).items():
        os.environ.setdefault(name, value)
    if hub := sys.modules.get("huggingface_hub"):
        hub.logging.set_verbosity_error()
    if datasets := sys.modules.get("datasets"):
        datasets.logging.set_verbosity(datasets.logging.CRITICAL)
        if not is_watched:
            datasets.disable_progress_bars()
    if diffusers := sys.modules.get("diffusers"):
        diffusers.utils.logging.set_verbosity_error()
    if transformers := sys.modules.get("transformers"):
        transformers.logging.set_verbosity_error()
        if not is_watched:
            transformers.logging.disable_progress_bar()


class _NoteHandler(logging.Handler):
    """Prints warnings of pqpp's modules as notes, unless the calling program configured logging."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            print(f"pqpp: note: {record.getMessage()}", file=sys.stderr)


def emit(text: Any, output: str | None, style: str = "table", is_secret: bool = False) -> None:
    """Print a text, or write it to the file `output` atomically.

    Args:
        text: What to write, a text or bytes; a final newline is added to a text without one.
        output: A path, or None for standard output.
        style: The format. Control characters are made visible, except in data (all but tables and
            pages) that are written to a file or a pipe.
        is_secret: Whether only the file's owner may read it.
    """
    text = text if style == "parquet" or text.endswith("\n") else text + "\n"
    if output is None:
        is_data = style in _DATA and not sys.stdout.isatty()
        (getattr(sys.stdout, "stream", sys.stdout) if is_data else sys.stdout).write(text)
        return
    from pqpp_files.atomic_write import write_whole

    write_whole(output, text if style in _DATA else escape_controls(text, "\n\r\t"), is_secret)
    print(f"written: {escape_controls(output)}", file=sys.stderr)


def emit_columns(columns: dict, style: str, output: str | None) -> None:
    """Print columns as csv, json or jsonl, or write them to a file, also as parquet."""
    from pqpp_files.write_table import format_table, to_parquet

    emit(to_parquet(columns) if style == "parquet" else format_table(style, columns), output, style)


def note(*lines: str) -> None:
    """Print lines to standard error."""
    for line in lines:
        print(f"pqpp: note: {escape_controls(line)}", file=sys.stderr)


def get_width(output: str | None) -> int | None:
    """Return the width of the terminal or pipe; None for files, which are not cut."""
    if output is None and (sys.stdout.isatty() or Path("/dev/fd/1").is_fifo()):
        return shutil.get_terminal_size((_PIPED, 0)).columns
    return None


def merge_columns(given: dict, predicted: dict, renamed: list[str]) -> dict:
    """Append results to the input columns; rename a result whose name the input already has."""
    added = {name: cells for name, cells in predicted.items() if name != "prompt"}
    while taken := ", ".join(sorted(set(added) & set(given))):
        if taken not in renamed:  # once, not for each batch
            note(f"the input already has {taken}; new columns of this name end in _predicted")
            renamed.append(taken)
        added = {name + "_predicted" * (name in given): added[name] for name in added}
    return {**given, **added}
