"""Printing a result, or writing it to a file that is whole or not there."""

import sys
from pathlib import Path


def emit(text: str, output: str | None) -> None:
    """Print a text, or write it to the file `output` beside the old one and rename it.

    Args:
        text: What to write; a final newline is added where there is none.
        output: A path, or None for standard output.
    """
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(text)
        return
    from pqpp_datasets.files import written_beside

    with written_beside(Path(output)) as beside:
        beside.write_text(text, "utf-8")
    print(f"written: {output}", file=sys.stderr)
