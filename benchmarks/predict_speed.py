"""How fast the shipped predictor is on one core: prompts a second, one prompt from cold, reasons.

    python benchmarks/predict_speed.py [--prompts 100000]

The prompts are put together from a list of words, each different from all others, so that no
memory of earlier prompts helps.
"""

# ruff: noqa: E402 -- one core means one core: said before numpy is imported
import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import platform
import subprocess
import sys
import time

import numpy as np

from pqpp_models import DEFAULT_PREDICTOR, Predictor

WORDS = """
a the two man woman child dog cat horse bird zebra elephant red blue green large small old riding
holding standing sitting eating playing wave surfboard table chair street kitchen field beach train
bus truck clock pizza cake umbrella with on near under beside in of and
"""
EXPLAINED = (10, 4, 8, 20, 60)
COLD = {
    "import and one prompt, library": (
        "from pqpp_models import Predictor;"
        f"print(Predictor.from_pretrained({DEFAULT_PREDICTOR!r}).predict(['a red cat']).shape)"
    ),
    "python and numpy alone": "import numpy",
}


def main() -> None:
    """Print both figures with the versions that they were taken with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=100_000, help="default: %(default)s")
    options = parser.parse_args()
    print(f"python {platform.python_version()}, numpy {np.__version__}, one core")

    started = time.perf_counter()
    predictor = Predictor.from_pretrained(DEFAULT_PREDICTOR)
    print(f"load {DEFAULT_PREDICTOR}: {1000 * (time.perf_counter() - started):.0f} ms")

    prompts = made_up_prompts(options.prompts)
    for targets in (None, ("mean_hbpp",)):
        started = time.perf_counter()
        scores = predictor.predict(prompts, targets)
        seconds = time.perf_counter() - started
        rate = len(prompts) / seconds
        print(
            f"{len(prompts):,} prompts, {scores.shape[1]} targets: {seconds:.1f} s, {rate:,.0f}/s"
        )
    fresh = Predictor.from_pretrained(DEFAULT_PREDICTOR)  # which has seen none of the words
    for length in EXPLAINED:
        prompt = " ".join((WORDS.split() * 2)[:length])
        started = time.perf_counter()
        fresh.explain([prompt], "mean_hbpp")
        milliseconds = 1000 * (time.perf_counter() - started)
        print(f"explain a prompt of {length} words, the first time: {milliseconds:.0f} ms")
    for name, code in COLD.items():
        print(f"cold process, {name}: {1000 * best_of_five([sys.executable, '-c', code]):.0f} ms")
    command = [sys.executable, "-m", "pqpp_cli.main", "predict", "a red cat"]
    print(f"cold process, pqpp predict: {1000 * best_of_five(command):.0f} ms")


def made_up_prompts(n: int) -> list[str]:
    """Return different prompts of 6 to 14 words."""
    rng, words = np.random.default_rng(0), WORDS.split()
    lengths = rng.integers(6, 15, size=n)
    return [
        f"{' '.join(words[i] for i in rng.integers(len(words), size=length))} {number}."
        for number, length in enumerate(lengths)
    ]


def best_of_five(command: list[str]) -> float:
    """Return the seconds of the fastest of five runs of a command."""
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
