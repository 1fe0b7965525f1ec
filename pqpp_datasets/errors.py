"""The errors of the benchmarks: one line each, with what came, what is allowed and what to do."""

from pqpp_files.errors import PqppError


class BenchmarkError(PqppError):
    """Something about a benchmark is not as it must be."""
