"""A slice of the fuzzer of damaged folders; `make fuzz` runs others."""

import pytest

for needed in ("faiss", "PIL", "sqlalchemy"):
    pytest.importorskip(needed, reason=f"some folders need {needed}")

from fuzz.fuzz_folders import KINDS, counted_fault_of  # noqa: E402

QUICK, ALL = 12 * len(KINDS), 100 * len(KINDS)


def faults_of(cases):
    """Return the faults by case; of each kind a fifth of the folders at least is refused."""
    found = {case: counted_fault_of(case) for case in cases}
    for kind in KINDS:
        came = ["refused" in how for _, name, how in found.values() if name == kind]
        assert sum(came) >= len(came) // 5, kind
    return {case: fault for case, (fault, *_) in found.items() if fault}


def test_a_damaged_folder_is_one_line_or_the_same_answer():
    assert not faults_of(range(QUICK))


@pytest.mark.slow
def test_a_hundred_damages_of_each_kind():
    assert not faults_of(range(QUICK, ALL))
