"""A slice of the fuzzer of command lines; `make fuzz` runs many more."""

import pytest

from fuzz.__main__ import faults_of
from fuzz.command_lines.damage import ODD_VALUES

pytest.importorskip("transformers", reason="some commands need the extra models")


def test_no_command_line_ends_in_more_than_a_line_or_loses_a_file():
    assert not faults_of("command_lines", 0, 120)


def test_a_table_is_written_whatever_its_cells_are():
    from fuzz.command_lines.files import _parquet

    for value in ODD_VALUES:
        assert _parquet({"x": [value, value]}).startswith(b"PAR1")


@pytest.mark.slow
def test_many_more_command_lines():
    assert not faults_of("command_lines", 120, 1500)
