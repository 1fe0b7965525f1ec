"""The errors of the benchmarks: one line each, with the value, what is allowed and the fix."""

from pqpp_files.errors import PqppError


class BenchmarkError(PqppError):
    """Something about a benchmark is not as it must be."""
