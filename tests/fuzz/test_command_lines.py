"""A slice of the fuzzer of command lines; `make fuzz` runs many more."""

import pytest

pytest.importorskip("transformers", reason="some commands need the extra models")

from fuzz.__main__ import faults_of
from fuzz.command_lines.damage import ODD_VALUES
from fuzz.command_lines.files import _parquet
from fuzz.command_lines.words import _VALUES, _WAYS, TRAINERS, is_group, kinds, recipe_of, values_of
from pqpp_files.options.option import fields_of


@pytest.mark.daily
def test_no_command_line_ends_in_more_than_a_line_or_loses_a_file():
    assert not faults_of("command_lines", 0, len(kinds()))


@pytest.mark.parametrize("command", kinds())
def test_every_option_has_a_maker(command):
    kind = kinds()[command] or recipe_of(command)
    for field in fields_of(kind):
        assert is_group(field) or values_of(command, field) != ""


def test_no_maker_is_left_over():
    fields = {f.name for k in kinds().values() if k for f in fields_of(k)}
    fields |= {f.name for name in TRAINERS for f in fields_of(recipe_of(name))}
    assert {name.split()[-1] for name in _VALUES} - fields == set()
    assert set(_WAYS) <= set(kinds())


def test_a_table_is_written_whatever_its_cells_are():
    for value in ODD_VALUES:
        assert _parquet({"x": [value, value]}).startswith(b"PAR1")


@pytest.mark.slow
def test_many_more_command_lines():
    assert not faults_of("command_lines", 1000, 1500)
