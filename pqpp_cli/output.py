"""Printing a result, or writing it to a file that is whole or not there."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

_SUFFIXES = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".parquet": "parquet"}
_SUFFIXES |= {".md": "markdown", ".tex": "latex"}


def format_of(options: argparse.Namespace, formats: Sequence[str]) -> str:
    """Return the format that was asked for, by `--format` or by the name of the file.

    Args:
        options: With `format`, None where none was named, and `output`.
        formats: Those that the command has.

    Example:
        >>> format_of(argparse.Namespace(format=None, output="p.csv"), ("table", "csv"))
        'csv'
    """
    if options.format is not None:
        return options.format
    named = _SUFFIXES.get(Path(options.output or "").suffix.lower())
    return named if named in formats else "table"


def emit(text: str | bytes, output: str | None) -> None:
    """Print a text, or write it to the file `output` beside the old one and rename it.

    Args:
        text: What to write; a final newline is added to a text where there is none.
        output: A path, or None for standard output; bytes need a path.
    """
    if isinstance(text, str) and not text.endswith("\n"):
        text += "\n"
    if output is None:
        sys.stdout.write(text)
        return
    from pqpp_datasets.files import written_beside

    with written_beside(Path(output)) as beside:
        beside.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    print(f"written: {output}", file=sys.stderr)
