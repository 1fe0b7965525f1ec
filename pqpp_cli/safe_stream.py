"""A text stream that makes control characters in output visible."""

import contextlib
import os
from typing import Any, TextIO

from pqpp_files.escape import escape_controls

# Progress bars move the cursor a line up.
_CURSOR_UP = "\x1b[A"


class SafeStream:
    r"""A text stream that escapes control characters, so that text cannot control the terminal.

    Args:
        stream: The underlying stream.
        is_needed: Whether to raise the errors of the underlying stream.

    Example:
        >>> import io
        >>> stream = io.StringIO()
        >>> SafeStream(stream).write("a\x1b[2J cat\n")
        >>> stream.getvalue()
        'a\\x1b[2J cat\n'
    """

    def __init__(self, stream: TextIO, is_needed: bool = True) -> None:
        self.stream = stream
        """The underlying stream, for data that a program reads."""
        self._is_needed = is_needed

    def write(self, text: str) -> None:
        """Write text; after an error, discard further output."""
        is_bar = not (self._is_needed or text.strip("\n\r").replace(_CURSOR_UP, ""))
        try:
            keep = "\n\t" if self._is_needed else "\n\r\t"  # bars move to the start of a line
            self.stream.write(text if is_bar else escape_controls(text, keep))
        except OSError:
            self.discard_output()
            if self._is_needed:
                raise

    def discard_output(self) -> None:
        """Redirect the stream to the null device."""
        with contextlib.suppress(OSError):  # if it is closed
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
