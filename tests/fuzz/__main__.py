"""`python -m fuzz` in `tests`: run every part, and print what was found, by its kind.

A part is a module with `fault_of(case: int) -> str | None`: a case is a whole number that makes the
same attack on every machine, and a fault is a line that starts with its kind and a colon.
"""

import argparse
import importlib
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

PARTS = {"kills": 300, "pairs": 100, "checkpoints": 100}
"""The module `fuzz_<name>` of each part, and how many cases a long run has."""


def find_faults(part: str, cases: Sequence[int], jobs: int = 1) -> dict[int, str]:
    """Run some cases, and return what is wrong, by case."""
    fault_of = importlib.import_module(f"fuzz.fuzz_{part}").fault_of
    if jobs == 1:
        found = list(map(fault_of, cases))
    else:
        with ProcessPoolExecutor(jobs) as pool:
            found = list(pool.map(fault_of, cases, chunksize=10))
    faults = {case: fault for case, fault in zip(cases, found, strict=True) if fault}
    for case, fault in faults.items():
        print(f"{part} {case}: {fault}", flush=True)
    return faults


def main() -> int:
    """Run what was asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser("fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    for part, cases in PARTS.items():
        parser.add_argument(f"--{part}", type=int, default=cases, metavar="CASES")
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    for part in PARTS:
        cases, started = getattr(options, part), time.perf_counter()
        faults = find_faults(part, range(options.seed, options.seed + cases), options.jobs)
        kinds.update(fault.partition(":")[0] for fault in faults.values())
        seconds = time.perf_counter() - started
        print(f"{part}: {cases} cases, {len(faults)} faults, {seconds:.0f} s", flush=True)
    print(f"seed {options.seed}:", ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "none")
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
