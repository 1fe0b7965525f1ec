"""The root of all errors that a user reads: what came, what is allowed, what to do."""

from collections.abc import Iterable


class PqppError(ValueError):
    """Something that came from outside cannot be used; the message is one line.

    Every typed error of this project is one, so that a program, and the command line, catch one
    class.
    """


class FileError(PqppError):
    """A file or folder cannot be read or written as asked."""


class MissingExtraError(PqppError, ImportError):
    """A package that an optional part needs is not installed."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return up to three known names that a mistyped one may have meant.

    Args:
        name: What came.
        known: What is allowed.
        otherwise: What to say where nothing is close; all that is known if left out.

    Example:
        >>> did_you_mean("n_word", ["n_words", "n_synsets", "static"])
        "did you mean 'n_words'?"
        >>> did_you_mean("x", ["a", "b"])
        'known: a, b'
    """
    import difflib

    names = list(known)
    close = difflib.get_close_matches(name, names, n=3)
    close = close or [one for one in names if name and name in one][:3]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return otherwise or f"known: {', '.join(names)}"
