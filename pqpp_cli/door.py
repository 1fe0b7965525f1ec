"""The door to the terminal: no text from outside moves its cursor or changes its state."""

from typing import Any, TextIO

from pqpp_files.visible import visible

# Progress bars move the cursor a line up.
_OF_BARS = "\x1b[A"


class Door:
    r"""A stream of text in which control characters are seen and do nothing.

    Example:
        >>> import io
        >>> stream = io.StringIO()
        >>> Door(stream).write("a\x1b[2J cat\n")
        >>> stream.getvalue()
        'a\\x1b[2J cat\n'
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        """What it leads to, for data that a program reads."""

    def write(self, text: str) -> None:
        """Write a text."""
        is_a_bars = not text.strip("\n\r").replace(_OF_BARS, "")
        self.stream.write(text if is_a_bars else visible(text, "\n\r\t"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
