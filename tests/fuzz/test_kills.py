"""A slice of the fuzzer of kills; `make fuzz` runs more of other seeds."""

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("commands are killed in forks", allow_module_level=True)

from fuzz import fuzz_pairs
from fuzz.fuzz_kills import fault_of, writer_of
from fuzz.kill_writers import WRITERS

# Those that neither load torch nor take long.
QUICK = ("predict csv", "predict parquet", "build", "select", "card")


@pytest.mark.daily
def test_a_killed_command_leaves_the_old_or_the_new():
    cases = [case for case in range(200) if writer_of(case) in QUICK][:25]
    assert not {case: fault for case in cases if (fault := fault_of(case))}


@pytest.mark.daily
def test_two_at_once_leave_what_one_of_them_wrote():
    cases = [case for case in range(len(WRITERS)) if fuzz_pairs.writer_of(case) in QUICK]
    assert not {case: fault for case in cases if (fault := fuzz_pairs.fault_of(case))}


@pytest.mark.slow
def test_two_of_all_commands_at_once():
    cases = range(len(WRITERS), 5 * len(WRITERS))
    assert not {case: fault for case in cases if (fault := fuzz_pairs.fault_of(case))}


@pytest.mark.slow
def test_of_all_commands():
    pytest.importorskip("torch", reason="some commands need torch")
    assert not {case: fault for case in range(200, 300) if (fault := fault_of(case))}
