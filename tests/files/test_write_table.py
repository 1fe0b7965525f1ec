"""Written tables are read back unchanged."""

import datetime
import gc
import gzip
import io
import json
import os
import sys
import tempfile
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pqpp_files.errors import FileError
from pqpp_files.escape import escape_cell
from pqpp_files.read_table import read_table
from pqpp_files.write_table import encode_table

TEXTS = st.text(
    st.sampled_from("ab7 ,;|\"'\t\n\r\x0b\x0c\x1c\x85\u2028\u2029\ufeff-=.é文🦓")
    | st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    max_size=8,
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)


@given(
    st.lists(st.tuples(TEXTS, NUMBERS | st.none(), TEXTS), min_size=1, max_size=8),
    st.sampled_from(["csv", "tsv", "json", "jsonl", "parquet"]),
    st.booleans(),
)
def test_written_tables_are_read_back_unchanged(tmp_path_factory, rows, style, compressed):
    """Any texts and numbers, compressed or not."""
    # readers skip a last line of separators alone
    assume(style not in ("csv", "tsv") or any(rows[-1]))
    folder = tmp_path_factory.mktemp("written")
    names = ("prompt", "n", "id, of it")
    columns = {name: cells for name, *cells in zip(names, *rows, strict=True)}
    if style == "parquet":  # a Parquet column has one type
        columns["n"] = [None if n is None else float(n) for n in columns["n"]]
    path = folder / f"t.{style}"
    path.write_bytes(encode_table(style, columns))
    if compressed:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path = path.with_name(path.name + ".gz")
    table = read_table(path)
    assert table["prompt"] == columns["prompt"] and table["id, of it"] == columns["id, of it"]
    numbers = table.values("n") if table.is_text else table["n"]
    assert numbers == columns["n"] and list(table.columns) == list(columns)


def test_excel_cells_stay_as_written(tmp_path):
    """Texts like formulas and errors stay texts; numbers that Excel would round become texts."""
    cells = ["=1+1", "#N/A", "007", [1], float("nan"), float("inf"), 10**17, 0.5, True]
    (tmp_path / "t.xlsx").write_bytes(encode_table("xlsx", {"=n": cells, "id": [*range(9)]}))
    expected = ["=1+1", "#N/A", "007", "[1]", None, "inf", str(10**17), 0.5, True]
    assert read_table(tmp_path / "t.xlsx")["=n"] == expected


def test_json_cells_are_json():
    cells = [datetime.date(2024, 1, 2), float("nan"), [1]]
    values = [record["n"] for record in json.loads(encode_table("json", {"n": cells}))]
    assert values == ["2024-01-02", None, [1]]


CASES = [("parquet", [1, "a"]), ("parquet", [2**70]), ("parquet", [[1], "a"])]
CASES += [("xlsx", ["\x01"]), ("xlsx", ["a" * 40_000])]


@pytest.mark.parametrize(("style", "cells"), CASES)
def test_invalid_column_is_one_line(tmp_path, style, cells):
    with pytest.raises(FileError, match="cannot be written as"):
        encode_table(style, {"n": cells})


def test_excel_with_a_wrong_clock_is_one_line(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 0.0)  # ZIP has no dates before 1980
    with pytest.raises(FileError, match="cannot be written as Excel"):
        encode_table("xlsx", {"n": [1]})


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes")
def test_pipes_equal_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    end, start = os.pipe()
    os.write(start, b"id,prompt\n007,a cat\n08,a dog\n")
    os.close(start)
    piped = read_table(f"/dev/fd/{end}")  # like <(...) in a shell
    os.close(end)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a cat\n\na dog")))
    stdin_table = read_table("-", plain="prompt")
    assert piped.columns == {"id": ["007", "08"], "prompt": ["a cat", "a dog"]}
    assert piped.locate(1).endswith(", line 3")
    assert stdin_table.columns == {"prompt": ["a cat", "", "a dog"]}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a cat\n\xff")))
    with pytest.raises(FileError, match="standard input, line 2: not UTF-8"):
        read_table("-", plain="prompt")
    del piped, stdin_table
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_many_backslashes_are_escaped():
    assert escape_cell("\\" * 50_000 + "a\\|") == "\\" * 50_000 + "a\\\\\\|"
