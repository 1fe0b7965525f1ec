"""How fast the shipped predictor is on one core: prompts a second, one prompt from cold, reasons.

    python benchmarks/predict_speed.py [--prompts 100000]

The prompts are put together from a list of words, each different from all others, so that no
memory of earlier prompts helps. Times are CPU seconds, which other work on the machine changes
little.
"""

# ruff: noqa: E402 -- one core means one core: said before numpy is imported
import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import platform
import resource
import subprocess
import sys
import time

import numpy as np
from metrics_timing import Row, print_table

from pqpp_models import DEFAULT_PREDICTOR, Predictor

WORDS = """
a the two man woman child dog cat horse bird zebra elephant red blue green large small old riding
holding standing sitting eating playing wave surfboard table chair street kitchen field beach train
bus truck clock pizza cake umbrella with on near under beside in of and
"""
EXPLAINED = (10, 4, 8, 20, 60)
NUMPY_ALONE = ["-c", "import numpy"]
COLD = {
    "import and one prompt": [
        "-c",
        "from pqpp_models import Predictor;"
        f"print(Predictor.from_pretrained({DEFAULT_PREDICTOR!r}).predict(['a red cat']).shape)",
    ],
    "pqpp predict": ["-m", "pqpp_cli.main", "predict", "a red cat"],
}


def main() -> None:
    """Print the table with the versions that it was taken with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=100_000, help="default: %(default)s")
    options = parser.parse_args()
    print(f"python {platform.python_version()}, numpy {np.__version__}, one core")

    started = time.process_time()
    predictor = Predictor.from_pretrained(DEFAULT_PREDICTOR)
    rows = [Row(f"load {DEFAULT_PREDICTOR}, CPU time", "none", None, time.process_time() - started)]

    prompts = make_prompts(options.prompts)
    for targets in (None, ("mean_hbpp",)):
        started = time.process_time()
        scores = predictor.predict(prompts, targets)
        seconds = time.process_time() - started
        print(f"{scores.shape[1]} targets: {len(prompts) / seconds:,.0f} prompts a CPU second")
        task = f"predict {len(prompts):,} prompts, targets: {scores.shape[1]}, CPU time"
        rows.append(Row(task, "none", None, seconds))
    fresh = Predictor.from_pretrained(DEFAULT_PREDICTOR)  # which has seen none of the words
    for length in EXPLAINED:
        prompt = " ".join((WORDS.split() * 2)[:length])
        started = time.process_time()
        fresh.explain([prompt], "mean_hbpp")
        seconds = time.process_time() - started
        rows.append(Row(f"explain a new prompt of {length} words, CPU time", "none", None, seconds))
    alone = time_best([sys.executable, *NUMPY_ALONE])
    for name, words in COLD.items():
        seconds = time_best([sys.executable, *words])
        rows.append(
            Row(f"cold process, {name}, CPU time", "python that imports numpy", alone, seconds)
        )
    print_table(rows)


def make_prompts(n: int) -> list[str]:
    """Return different prompts of 6 to 14 words."""
    rng, words = np.random.default_rng(0), WORDS.split()
    lengths = rng.integers(6, 15, size=n)
    return [
        f"{' '.join(words[i] for i in rng.integers(len(words), size=length))} {number}."
        for number, length in enumerate(lengths)
    ]


def time_best(command: list[str]) -> float:
    """Return the least CPU seconds of five runs of a command."""
    seconds = []
    for _ in range(5):
        before = _get_usage()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(_get_usage() - before)
    return min(seconds)


def _get_usage() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
