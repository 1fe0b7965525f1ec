"""Errors of the metrics: one line with what is wrong, what is allowed and what to do."""

from pqpp_files.errors import PqppError


class MetricInputError(PqppError):
    """An input or an option that a metric cannot score: its value, shape or type is not allowed."""


class UnjudgedWarning(UserWarning):
    """Queries of a run were left out because they have no judgments."""
