"""`python -m fuzz` in `tests`: run every part, and print what was found, by its kind.

A part is a module with `fault_of(case: int) -> str | None`: a case is a whole number that makes the
same attack on every machine, and a fault is a line that starts with its kind and a colon.
"""

import argparse
import importlib
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

PARTS = {
    "command_lines": 10_000,
    "kills": 300,
    "pairs": 100,
    "checkpoints": 100,
    "folders": 600,
}
"""The module `fuzz_<name>` of each part, and how many cases a long run has."""
KINDS = ("traceback", "untyped error", "lost file", "execution", "token")
"""What is counted even where there is none; a part may find other kinds too."""

ENOUGH = 100
"""Of so many calls of a command one at least does what it is for."""


def faults_of(part: str, first: int, cases: int, jobs: int = 1) -> dict[int, str]:
    """Run the cases from `first` on, and return what is wrong, by case."""
    module = importlib.import_module(f"fuzz.fuzz_{part}")
    counted = getattr(module, "counted_fault_of", None)
    numbers = range(first, first + cases)
    if jobs == 1:
        return _told(part, numbers, map(counted or module.fault_of, numbers))
    with ProcessPoolExecutor(jobs) as pool:
        found = pool.map(counted or module.fault_of, numbers, chunksize=10)
        return _told(part, numbers, found)


def _told(part: str, numbers: Iterable[int], found: Iterable) -> dict[int, str]:
    faults = {}
    calls: dict[str, Counter[str]] = defaultdict(Counter)
    for case, one in zip(numbers, found, strict=True):
        fault = one
        if isinstance(one, tuple):
            fault, name, how = one
            calls[name].update(["calls", *how])
        if fault:
            faults[case] = fault
            print(f"{part} {case}: {fault}", flush=True)
    for name, count in sorted(calls.items()):
        print(f"{name}: " + ", ".join(f"{number} {what}" for what, number in count.items()))
    if calls:
        for name in importlib.import_module(f"fuzz.fuzz_{part}").called():
            count = calls[name]
            if not count["calls"] or (count["calls"] > ENOUGH and not count["done"]):
                what = "never did it" if count else "was never called"
                faults[-len(faults) - 1] = fault = f"not called: {name} {what}"
                print(f"{part}: {fault}", flush=True)
    return faults


def main() -> int:
    """Run what was asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser("fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    for part, cases in PARTS.items():
        parser.add_argument(f"--{part.replace('_', '-')}", type=int, default=cases, metavar="CASES")
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    for part in PARTS:
        cases, started = getattr(options, part), time.perf_counter()
        faults = faults_of(part, options.seed, cases, options.jobs)
        kinds.update(fault.partition(":")[0] for fault in faults.values())
        seconds = time.perf_counter() - started
        print(f"{part}: {cases} cases, {len(faults)} faults, {seconds:.0f} s", flush=True)
    others = sorted(set(kinds) - set(KINDS))
    print(
        f"seed {options.seed}: " + ", ".join(f"{kinds[kind]} {kind}" for kind in [*KINDS, *others])
    )
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
