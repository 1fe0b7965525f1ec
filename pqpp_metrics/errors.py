"""The errors that the metrics raise: one line that says what came, what is allowed, what to do."""

from pqpp_files.errors import PqppError


class MetricInputError(PqppError):
    """An input or an option that a metric cannot score: its value, shape or type is not allowed."""


class UnjudgedWarning(UserWarning):
    """Queries of a run were left out, because nothing is judged for them."""
