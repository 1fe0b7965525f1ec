"""The configurations of `load_dataset("pqpp", <name>)`, by name, PQPP's first."""

from pqpp_datasets import conqa, gimbrr, pqpp, pqpp_relevance, rated, sample
from pqpp_datasets.benchmark import Benchmark
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.richhf import richhf
from pqpp_datasets.vistar import vistar

DEFAULT = "pqpp"
"""The default configuration: v1.1, the authors' current release."""
OF_THE_PAPER = "pqpp-v1.0"
"""The release of the paper and its results, on which predictors are compared."""

_MODULES = (conqa, gimbrr, pqpp, pqpp_relevance, rated, richhf, sample, vistar)
"""The modules of all benchmarks; a new benchmark adds its own."""
_ALL = [benchmark for module in _MODULES for benchmark in module.BENCHMARKS]
_ALL.sort(key=lambda benchmark: (benchmark.family != DEFAULT, benchmark.family))
BENCHMARKS = {benchmark.name: benchmark for benchmark in _ALL}


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
