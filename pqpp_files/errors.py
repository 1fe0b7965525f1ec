"""The root of all errors that a user reads: what came, what is allowed, what to do."""


class PqppError(ValueError):
    """Something that came from outside cannot be used; the message is one line.

    Every typed error of this project is one, so that a program, and the command line, catch one
    class. A value of several lines, an array say, is quoted in one.
    """

    def __str__(self) -> str:
        said = str(self.args[0]) if len(self.args) == 1 else super().__str__()
        return " ".join(said.split()) if "\n" in said else said


class FileError(PqppError):
    """A file or folder cannot be read or written as asked."""


class NoHeaderError(FileError):
    """A file's first line is a row of numbers where the names of its columns belong."""


class MissingExtraError(PqppError, ImportError):
    """A package that an optional part needs is not installed."""
