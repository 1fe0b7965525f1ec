"""The errors of the benchmarks: one line each, with what came, what is allowed and what to do."""

from pqpp_files.errors import PqppError


class BenchmarkError(PqppError):
    """Something about a benchmark's data is not as it must be."""


class DataFileError(BenchmarkError):
    """A data file is damaged, truncated or foreign; the message names file, line and remedy."""


class MissingFileError(BenchmarkError, FileNotFoundError):
    """A file or folder that a benchmark or one of its splits needs is not there."""


class DownloadError(BenchmarkError, OSError):
    """A file could not be downloaded, or what came is not the published file."""


class OptionError(BenchmarkError):
    """An option of `load_dataset` has a value that this benchmark does not take."""


class NoSuchDatasetError(OptionError):
    """There is no such dataset, subset or split; the message begins with the option."""
