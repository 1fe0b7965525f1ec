"""The errors of the assessors; one ends a run, the other becomes a row."""

from pqpp_files.errors import PqppError


class AssessError(PqppError):
    """Images cannot be assessed as asked: the run ends with one line."""


class ImageError(AssessError):
    """One image cannot be assessed: its row says why, and the run goes on.

    Example:
        >>> issubclass(ImageError, AssessError)
        True
    """
