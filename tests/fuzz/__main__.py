"""`python -m fuzz [CASES] [FIRST]` in `tests`: fuzz the functions, and print what was found."""

import sys
import time
from collections import Counter

from fuzz.fuzz_functions import fault_of

cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
first = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
faults: Counter[str] = Counter()
for case in range(first, first + cases):
    if fault := fault_of(case):
        faults[fault] += 1
        print(f"case {case}: {fault}")
print(f"{cases} calls from case {first} on: {faults.total()} faults, {len(faults)} different")
sys.exit(bool(faults))
