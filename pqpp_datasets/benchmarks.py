"""The configurations of `load_dataset("pqpp", <name>)`, found by name."""

import importlib
from pathlib import Path

from pqpp_datasets.benchmark import Benchmark
from pqpp_datasets.errors import BenchmarkError

DEFAULT = "pqpp"
"""The default configuration: v1.1, the authors' current release."""
OF_THE_PAPER = "pqpp-v1.0"
"""The release of the paper and its results, on which predictors are compared."""


def _collect_benchmarks() -> dict[str, Benchmark]:
    """Return the benchmarks of all modules that define `BENCHMARKS`, by name, PQPP's first."""
    folder, benchmarks = Path(__file__).parent, list[Benchmark]()
    for path in sorted((*folder.glob("*.py"), *folder.glob("*/*.py")), key=lambda path: path.stem):
        if path.name != Path(__file__).name and "\nBENCHMARKS" in path.read_text("utf-8"):
            module = ".".join((__package__, *path.relative_to(folder).with_suffix("").parts))
            benchmarks += importlib.import_module(module).BENCHMARKS
    benchmarks.sort(key=lambda benchmark: (benchmark.family != DEFAULT, benchmark.family))
    return {benchmark.name: benchmark for benchmark in benchmarks}


BENCHMARKS = _collect_benchmarks()


def get_benchmark(config: str) -> Benchmark:
    """Return the benchmark of a configuration of `load_dataset("pqpp", ...)`.

    Raises:
        BenchmarkError: The benchmark does not exist.

    Example:
        >>> get_benchmark("pqpp-relevance").family
        'pqpp'
    """
    if config not in BENCHMARKS:
        names = ", ".join(BENCHMARKS)
        raise BenchmarkError(f"configuration {config!r} not found; choose one of {names}")
    return BENCHMARKS[config]
