"""The configurations of `load_dataset("pqpp", <name>)`, found by name."""

from pqpp_datasets import conqa, gimbrr, pqpp, pqpp_relevance, sample
from pqpp_datasets.benchmark import Benchmark
from pqpp_datasets.richhf import richhf
from pqpp_datasets.vistar import vistar

# A new benchmark is its own module with BENCHMARKS, and its name in this line.
_MODULES = (pqpp, pqpp_relevance, conqa, richhf, gimbrr, vistar, sample)
DEFAULT = "pqpp"


def _collect() -> dict[str, Benchmark]:
    found: dict[str, Benchmark] = {}
    for module in _MODULES:
        for benchmark in module.BENCHMARKS:
            if benchmark.name in found:
                raise ValueError(f"two benchmarks are called {benchmark.name}; rename one")
            found[benchmark.name] = benchmark
    return found


BENCHMARKS = _collect()
