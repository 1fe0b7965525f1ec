"""The configurations of `load_dataset("pqpp", <name>)`, found by name."""

from pqpp_datasets import conqa, gimbrr, pqpp, pqpp_relevance, rated, sample
from pqpp_datasets.benchmark import Benchmark
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.richhf import richhf
from pqpp_datasets.vistar import vistar

DEFAULT = "pqpp"
"""The default configuration: v1.1, the authors' current release."""
OF_THE_PAPER = "pqpp-v1.0"
"""The release of the paper and its results, on which predictors are compared."""


_MODULES = (pqpp, pqpp_relevance, conqa, gimbrr, rated, richhf, sample, vistar)
_LISTED = [benchmark for module in _MODULES for benchmark in module.BENCHMARKS]
BENCHMARKS: dict[str, Benchmark] = {
    one.name: one for one in sorted(_LISTED, key=lambda one: (one.family != DEFAULT, one.family))
}
"""The benchmarks by name, PQPP's first."""


def get_benchmark(config: str) -> Benchmark:
    """Return the benchmark of a configuration of `load_dataset("pqpp", ...)`.

    Raises:
        BenchmarkError: The benchmark does not exist.

    Example:
        >>> get_benchmark("pqpp-relevance").family
        'pqpp'
    """
    if config not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        raise BenchmarkError(f"configuration {config!r} not found; choose one of {known}")
    return BENCHMARKS[config]
