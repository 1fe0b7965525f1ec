"""How fast the metrics are beside the field's own tools: one table, same data, same run.

Run as `python benchmarks/metrics_speed.py`, or with the names of some parts behind it. A ratio
above 1 means that this project is faster. The aims are those of the project; nothing fails when a
ratio is lower on another machine.
"""

import subprocess
import sys

import metrics_command
import metrics_evaluate
import metrics_hbpp
import metrics_ranking
import metrics_runs
import metrics_saliency
from metrics_timing import print_table

PARTS = {
    "hbpp": metrics_hbpp,
    "ranking": metrics_ranking,
    "runs": metrics_runs,
    "saliency": metrics_saliency,
    "evaluate": metrics_evaluate,
    "command": metrics_command,
}


def time_import():
    """Seconds that a fresh interpreter needs to import the functions."""
    code = "import time; t = time.perf_counter(); import pqpp_metrics.functional; "
    code += "print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def main(names):
    """Run the comparisons and print the table.

    Args:
        names: Which parts to run; all if there are none.
    """
    print(f"import of pqpp_metrics.functional: {time_import():.3f} s (aim: under 0.3 s)\n")
    print_table([row for name in names or PARTS for row in PARTS[name].make_rows()])


if __name__ == "__main__":
    main(sys.argv[1:])
