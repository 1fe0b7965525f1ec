"""A slice of the function fuzzer; `make fuzz` runs as many cases as one likes."""

import pytest

from fuzz.__main__ import faults_of


def test_no_call_ends_in_anything_but_a_result_or_one_typed_line():
    assert not faults_of("functions", 0, 4000)


@pytest.mark.slow
def test_many_more_calls():
    assert not faults_of("functions", 4000, 36_000)
