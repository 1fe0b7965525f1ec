"""A slice of the function fuzzer; `make fuzz` runs as many cases as one likes."""

import pytest

from fuzz.fuzz_functions import fault_of

CASES = 4000


def test_no_call_ends_in_anything_but_a_result_or_one_typed_line():
    faults = {case: fault for case in range(CASES) if (fault := fault_of(case))}
    assert not faults


@pytest.mark.slow
def test_many_more_calls():
    faults = {case: fault for case in range(CASES, 40_000) if (fault := fault_of(case))}
    assert not faults
