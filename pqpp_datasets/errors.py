"""The error of benchmarks."""

from pqpp_files.errors import PqppError


class BenchmarkError(PqppError):
    """A benchmark, its files or its options are missing or invalid."""
