"""Printing a result, or writing it to a file that is whole or not there."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pqpp_cli.errors import CommandError

_SUFFIXES = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".parquet": "parquet"}
_SUFFIXES |= {".md": "markdown", ".tex": "latex"}
_PLAIN = ("", ".txt")


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
        sys.stdout.write(text)
        return
    from pqpp_files.write_beside import write_whole

    write_whole(output, text)
    print(f"written: {output}", file=sys.stderr)
