"""A benchmark of one's own from raw judgments, in the columns of PQPP."""

from pqpp_datasets.own_benchmark.build import Built, build_benchmark
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.write import write_benchmark

__all__ = ["BuildOptions", "Built", "build_benchmark", "write_benchmark"]
