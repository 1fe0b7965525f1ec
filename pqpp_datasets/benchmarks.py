"""The configurations of `load_dataset("pqpp", <name>)`, found by name."""

import importlib
from pathlib import Path

from pqpp_datasets.benchmark import Benchmark
from pqpp_datasets.errors import OptionError

DEFAULT = "pqpp"
"""What `load_dataset("pqpp")` gives: the release that the authors publish now, v1.1."""
OF_THE_PAPER = "pqpp-v1.0"
"""The release of the paper and of all published figures, on which predictors are compared."""


def _modules() -> list[str]:
    """Name the modules of this package that define `BENCHMARKS`, importing none of the others."""
    here = Path(__file__).parent
    paths = sorted((*here.glob("*.py"), *here.glob("*/*.py")), key=lambda path: path.stem)
    return [
        ".".join((__package__, *path.relative_to(here).with_suffix("").parts))
        for path in paths
        if path.name != Path(__file__).name and "\nBENCHMARKS" in path.read_text("utf-8")
    ]


def _collect() -> dict[str, Benchmark]:
    known: dict[str, Benchmark] = {}
    for module in map(importlib.import_module, _modules()):
        for benchmark in module.BENCHMARKS:
            if benchmark.name in known:
                raise ValueError(f"two benchmarks are called {benchmark.name}; rename one")
            known[benchmark.name] = benchmark
    # The family of the default one first.
    first, families = known[DEFAULT].family, {name: one.family for name, one in known.items()}
    names = sorted(known, key=lambda name: (families[name] != first, families[name]))
    return {name: known[name] for name in names}


BENCHMARKS = _collect()


def benchmark_of(config: str) -> Benchmark:
    """Return the benchmark behind a configuration of `load_dataset("pqpp", ...)`.

    Raises:
        OptionError: If there is none of that name.

    Example:
        >>> benchmark_of("pqpp-relevance").family
        'pqpp'
    """
    if config not in BENCHMARKS:
        raise OptionError(
            f"{config!r}: no such configuration; choose among {', '.join(BENCHMARKS)}"
        )
    return BENCHMARKS[config]
