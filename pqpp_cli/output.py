"""Print results, or write them to files atomically."""

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from pqpp_files.escape import escape_controls
from pqpp_files.write_table import BINARY_STYLES, TABLE_STYLES, encode_table, format_table

TABLE_ENDINGS = tuple(f".{style}" for style in TABLE_STYLES)
_LEVELS = {"critical": ("DATASETS", "DIFFUSERS", "TRANSFORMERS"), "error": ("HF_HUB",)}
_VERBOSITY = {f"{name}_VERBOSITY": level for level, names in _LEVELS.items() for name in names}
_PIPE_WIDTH = 100
"""Default width of a table in a pipe."""
_RAW = (*TABLE_STYLES, "text")
_NO_BARS = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}


def silence_libraries() -> None:
    """Silence other libraries, hide their progress bars outside a terminal, and print our warnings.

    Libraries that are imported later read the environment; the others have functions for it.
    """
    packages = ("annotation.study", "datasets", "engines", "files", "hub", "models")
    for logger in (logging.getLogger(f"pqpp_{package}") for package in packages):
        if not any(isinstance(handler, _NoteHandler) for handler in logger.handlers):
            logger.addHandler(_NoteHandler(logging.WARNING))
    for name in ("psycopg", "sqlalchemy.pool"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    os.environ.setdefault("USE_HUB_KERNELS", "0")  # a model's settings may choose a kernel
    is_terminal = sys.stderr.isatty()
    for name, value in (_VERBOSITY if is_terminal else {**_VERBOSITY, **_NO_BARS}).items():
        os.environ.setdefault(name, value)
    if hub := sys.modules.get("huggingface_hub"):
        hub.logging.set_verbosity_error()
    for name in ("datasets", "diffusers", "transformers"):
        if library := sys.modules.get(name):
            library.utils.logging.set_verbosity(logging.CRITICAL)
            if not is_terminal:
                library.utils.logging.disable_progress_bar()


class _NoteHandler(logging.Handler):
    """A handler that prints warnings of pqpp as notes, unless the root logger has handlers."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            print_notes(record.getMessage())


def emit(text: Any, output: str | None, style: str = "table", is_secret: bool = False) -> None:
    """Print text, or write it to the file `output` atomically.

    Args:
        text: Text, which gets a final newline, or the bytes of a file.
        output: A path, or None for standard output.
        style: The format. In tables and pages, control characters are always escaped; in other
            formats, only on a terminal.
        is_secret: Whether only the file's owner may read it.
    """
    text = text if isinstance(text, bytes) or text.endswith("\n") else text + "\n"
    if output is None:
        is_data = style in _RAW and not sys.stdout.isatty()
        (getattr(sys.stdout, "stream", sys.stdout) if is_data else sys.stdout).write(text)
        return
    from pqpp_files.atomic_write import write_file

    write_file(output, text if style in _RAW else escape_controls(text, "\n\r\t"), is_secret)
    print(f"written: {escape_controls(output)}", file=sys.stderr)


def emit_columns(columns: dict, style: str, output: str | None) -> None:
    """Print columns in a format of `TABLE_STYLES`, or write them to a file."""
    emit((encode_table if style in BINARY_STYLES else format_table)(style, columns), output, style)


def print_notes(*lines: str) -> None:
    """Print each line to standard error as a note."""
    for line in lines:
        print(f"pqpp: note: {escape_controls(line)}", file=sys.stderr)


def get_output_width(output: str | None) -> int | None:
    """Return the width of the terminal, 100 for a pipe, or None for a file."""
    if output is None and (sys.stdout.isatty() or Path("/dev/fd/1").is_fifo()):
        return shutil.get_terminal_size((_PIPE_WIDTH, 0)).columns
    return None


def emit_merged(
    existing: dict, added: dict, style: str, output: str | None, suffix: str = "predicted"
) -> None:
    """Print or write the input columns and the new ones, which get a suffix if names clash.

    Args:
        suffix: The suffix, without its underscore.
    """
    added = {name: cells for name, cells in added.items() if name != "prompt"}
    while clashes := sorted(set(added) & set(existing)):
        names = ", ".join(clashes)
        print_notes(f"the input already has {names}; new columns of this name end in _{suffix}")
        added = {f"{name}_{suffix}" if name in existing else name: added[name] for name in added}
    emit_columns({**existing, **added}, style, output)
