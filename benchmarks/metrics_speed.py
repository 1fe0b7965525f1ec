"""How fast the metrics are beside the field's own tools: one table, same data, same run.

Run as `python benchmarks/metrics_speed.py`. A ratio above 1 means that this project is faster.
The aims are those of the project; nothing fails when a ratio is lower on another machine.
"""

import subprocess
import sys

import metrics_hbpp
import metrics_ranking
from metrics_timing import print_table


def import_seconds():
    """Seconds that a fresh interpreter needs to import the functions."""
    code = "import time; t = time.perf_counter(); import pqpp_metrics.functional; "
    code += "print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def main():
    """Run every comparison and print the table."""
    print(f"import of pqpp_metrics.functional: {import_seconds():.3f} s (aim: under 0.3 s)\n")
    print_table([*metrics_hbpp.rows(), *metrics_ranking.rows()])


if __name__ == "__main__":
    main()
