"""The errors of the benchmarks: one line each, with what came, what is allowed and what to do."""

from pqpp_files.errors import PqppError


class BenchmarkError(PqppError):
    """Something about a benchmark is not as it must be."""


class DataFileError(BenchmarkError):
    """A data file is missing, damaged or foreign; the message names file, line and remedy."""


class OptionError(BenchmarkError):
    """An option has a value that is not taken, or there is no such dataset, subset or split."""
