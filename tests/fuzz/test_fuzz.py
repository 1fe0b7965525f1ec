"""Some cases of each fuzzer; `make fuzz` runs more with other seeds.

A fuzzer is a module with `find_fault(case: int) -> str | None`: a case is an integer that makes the
same attack on every machine, and a fault is a line that starts with its kind and a colon.
"""

import importlib
import os
import sys

import pytest

for package in ("torch", "transformers", "PIL", "faiss", "sqlalchemy"):
    pytest.importorskip(package, reason=f"some of the folders and commands need {package}")
if sys.platform != "linux":
    pytest.skip("forks, their memory and opened files are Linux's", allow_module_level=True)

from fuzz import fuzz_checkpoints, fuzz_kills  # noqa: E402

# Commands that do not load torch and are fast.
QUICK_COMMANDS = ("predict", "build", "select")
FIRST = int(os.environ.get("PQPP_FUZZ_SEED") or 200)
CASES = {"kills": 300, "pairs": 100, "checkpoints": 100}


@pytest.mark.daily
def test_untrusted_checkpoints_give_an_answer_or_one_line():
    assert not list(filter(None, map(fuzz_checkpoints.find_fault, range(40))))


@pytest.mark.daily
def test_killed_commands_leave_the_old_or_the_new_output():
    cases = [case for case in range(200) if fuzz_kills.choose_writer(case) in QUICK_COMMANDS][:25]
    assert not list(filter(None, map(fuzz_kills.find_fault, cases)))


@pytest.mark.slow
@pytest.mark.parametrize("part", CASES)
def test_more_cases_of_each_fuzzer(part):
    cases = range(FIRST, FIRST + CASES[part])
    faults = map(importlib.import_module(f"fuzz.fuzz_{part}").find_fault, cases)
    assert not {case: fault for case, fault in zip(cases, faults, strict=True) if fault}
