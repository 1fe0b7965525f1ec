"""The root of all errors that a user reads: what came, what is allowed, what to do."""


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
