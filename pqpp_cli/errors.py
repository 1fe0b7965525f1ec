"""The errors of the command line itself."""

from pqpp_files.errors import PqppError


class CommandError(PqppError):
    """The command line was given something that it cannot use."""
