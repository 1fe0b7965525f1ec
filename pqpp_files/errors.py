"""The base classes of errors, whose messages give the fault and the fix in one line."""

import contextlib
from collections.abc import Iterator

from pqpp_files.escape import escape_controls


class PqppError(ValueError):
    """Base class of all errors for invalid input.

    Each argument is one line of the message: its line breaks become spaces, and its control
    characters are escaped.
    """

    def __str__(self) -> str:
        lines = (" ".join(text.split()) if "\n" in text else text for text in map(str, self.args))
        return "\n".join(map(escape_controls, lines))


class FileError(PqppError):
    """A file or folder cannot be read or written."""


class MissingExtraError(PqppError, ImportError):
    """A package that an optional feature needs is not installed."""


def describe(error: BaseException, named: bool = True) -> str:
    r"""Return an error's type and message on one line of limited length.

    Args:
        named: Whether to include the type even if there is a message.

    Example:
        >>> describe(KeyError("a")), describe(OSError("no\nroom"), named=False)
        ("KeyError: 'a'", 'no room')
        >>> describe(OSError(), named=False)
        'OSError'
    """
    kind, text = type(error).__name__, " ".join(str(error).split())[:300]
    return f"{kind}: {text}" if text and (named or kind == "KeyError") else text or kind


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory is full, or that there are too many threads.

    Example:
        >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: ..."))
        True
        >>> is_out_of_memory(RuntimeError("can't start new thread"))
        True
    """
    words = ("allocate memory", "out of memory", "failed to map segment", "start new thread")
    is_foreign = not isinstance(error, PqppError)  # whose text may contain the words
    is_named = is_foreign and any(word in str(error) for word in words)
    return isinstance(error, MemoryError) or is_named


@contextlib.contextmanager
def reraise(what: str, remedy: str, error: type[PqppError] = FileError) -> Iterator[None]:
    """Turn an error in a block into a `PqppError` with the text `what (reason); remedy`.

    Errors of pqpp and errors of full memory pass unchanged.

    Args:
        what: The problem, with the name of the file.
        error: The error class to raise.

    Raises:
        PqppError: The block raised an error.

    Example:
        >>> with reraise("a.npy: not a .npy file of numbers", "write one again"):
        ...     raise FileNotFoundError("no such file")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: a.npy: not a .npy file of numbers (no such file); write ...
    """
    try:
        yield
    except Exception as caught:
        if isinstance(caught, PqppError) or is_out_of_memory(caught):
            raise
        reason = getattr(caught, "strerror", None) or describe(caught, named=False)
        raise error(f"{what} ({reason}); {remedy}") from caught
