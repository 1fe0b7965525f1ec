"""`python -m fuzz` in `tests`: run every part, and print the faults by their kinds.

A part is a module with `find_fault(case: int) -> str | None`: a case is an integer that makes the
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
"""Each part, a module `fuzz_<name>`, and the number of its cases in a long run."""


def find_faults(part: str, cases: Sequence[int], jobs: int = 1) -> dict[int, str]:
    """Run some cases, and return the faults by case."""
    find_fault = importlib.import_module(f"fuzz.fuzz_{part}").find_fault
    if jobs == 1:
        results = list(map(find_fault, cases))
    else:
        with ProcessPoolExecutor(jobs) as pool:
            results = list(pool.map(find_fault, cases, chunksize=10))
    faults = {case: fault for case, fault in zip(cases, results, strict=True) if fault}
    for case, fault in faults.items():
        print(f"{part} {case}: {fault}", flush=True)
    return faults


def main() -> int:
    """Run the cases of the arguments; return 1 if there is a fault."""
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
