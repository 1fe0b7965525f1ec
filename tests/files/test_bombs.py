"""Compressed files that would fill the memory give one-line errors, in little memory."""

import base64
import gzip
import io
import os
import re
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest

from pqpp_cli.main import main
from pqpp_files.errors import FileError
from pqpp_files.read_table import read_table
from pqpp_files.shards import find_shards

SCRIPT = """
import resource, sys
from pqpp_cli.main import main
import pyarrow.parquet, openpyxl
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 700_000_000,) * 2)
sys.exit(main(sys.argv[1:]))
"""
NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SHEET = f"<worksheet {NAMESPACE}><sheetData>{{}}</sheetData></worksheet>"
WIDE = '<row r="{0}"><c r="A{0}"><v>1</v></c><c r="XFD{0}"><v>1</v></c></row>'


def encode_parquet(column, read_as=None):
    """Return a Parquet file of a column, to be read as another Arrow type if one is given."""
    content, table = io.BytesIO(), pa.table({"prompt": column})
    schema = pa.schema({"prompt": read_as or column.type}).serialize()
    options = {"store_schema": False, "compression": "zstd"}
    with pa.parquet.ParquetWriter(content, table.schema, **options) as writer:
        writer.write_table(table)
        if read_as:
            writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(schema)})
    return content.getvalue()


def encode_workbook(text, sheets=1):
    """Return an Excel file whose only sheet is replaced by a text, and listed several times."""
    blank, book = io.BytesIO(), io.BytesIO()
    openpyxl.Workbook().save(blank)
    with zipfile.ZipFile(blank) as old, zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/workbook.xml":
                start, sheet, end = re.split(rb"(<sheet .*?/>)", content)
                copies = [sheet.replace(b'name="Sheet', b'name="%d' % n) for n in range(sheets)]
                content = b"".join([start, *copies, end])
            new.writestr(name, text if name.endswith("sheet1.xml") else content)
    return book.getvalue()


REPEATED_TEXT = pa.DictionaryArray.from_arrays(pa.array([0] * 500_000, pa.int32()), ["x" * 100_000])
LIST = pa.ListArray.from_arrays([0, 500_000], REPEATED_TEXT)
BOMBS = {
    "line.csv.gz": lambda: gzip.compress(b"prompt\n" + b"a" * 150_000_000),
    "lines.csv.gz": lambda: gzip.compress(b'prompt\n"' + b"a\n" * 40_000_000),
    "rows.csv.gz": lambda: gzip.compress(b"prompt\n" + b"a\n" * 20_000_000),
    "often.parquet": lambda: encode_parquet(REPEATED_TEXT),
    "lists.parquet": lambda: encode_parquet(LIST),
    "views.parquet": lambda: encode_parquet(LIST, pa.list_view(pa.string())),
    "maps.parquet": lambda: encode_parquet(
        pa.MapArray.from_arrays(
            [0, 500_000], pa.nulls(500_000, pa.string()).fill_null("k"), REPEATED_TEXT
        )
    ),
    "none.parquet": lambda: encode_parquet(pa.nulls(10_000_000, pa.int32())),
    "long.xlsx": lambda: encode_workbook("<worksheet>" + " " * 150_000_000),
    "wide.xlsx": lambda: encode_workbook(SHEET.format("".join(map(WIDE.format, range(1, 9000))))),
    "sheets.xlsx": lambda: encode_workbook(
        SHEET.format("".join(map(WIDE.format, range(1, 99)))), 99
    ),
    "row.xlsx": lambda: encode_workbook(SHEET.format("<row>" + "<c/>" * 9_000_000 + "</row>")),
    "gap.xlsx": lambda: encode_workbook(SHEET.format('<row r="99999999999"></row>')),
    "sparse.jsonl": lambda: b"".join(b'{"prompt": "a", "%d": 1}\n' % n for n in range(20_000)),
    "lists.json.gz": lambda: gzip.compress(b"[" + b"[]," * 20_000_000 + b"1]"),
    "/dev/zero": None,
    "-": None,
}

IN_SHARDS = ("line.csv.gz", "lines.csv.gz", "often.parquet", "lists.parquet")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("shards", [(), ("--workers", "1", "--output", "out")])
def test_packed_files_respect_the_memory_limit(tmp_path, name, shards):
    limit, flags = "67,108,864", []
    if shards and name not in IN_SHARDS:
        pytest.skip("not read in shards, or nothing much in one")
    if name == "views.parquet" and not hasattr(pa.parquet.ParquetWriter, "add_key_value_metadata"):
        pytest.skip("this pyarrow cannot write its schema")
    if BOMBS[name]:
        (tmp_path / name).write_bytes(BOMBS[name]())
    else:
        limit, flags = "1,000,000", ["--max-bytes", "1000000"]
    words = [sys.executable, "-c", SCRIPT, "predict", "--predictor=n_words", "--file", name, *flags]
    words += shards
    with Path("/dev/zero").open("rb") as zeros:
        done = subprocess.run(words, cwd=tmp_path, stdin=zeros, stderr=subprocess.PIPE, timeout=99)
    source = "standard input" if name == "-" else name
    source = f"file://{tmp_path / name}" if shards else source
    text = f"{source} needs more than {limit} bytes in memory; raise --max-bytes or PQPP_MAX_BYTES"
    assert (done.returncode, done.stderr.decode()) == (2, f"pqpp: error: {text}\n")


def test_out_of_memory_is_one_line(tmp_path):
    (tmp_path / "a.json").write_bytes(b"[" + b"[]," * 12_000_000 + b"1]")
    words = [sys.executable, "-c", SCRIPT, "predict", "--predictor=n_words", "--file", "a.json"]
    done = subprocess.run(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and done.stderr.startswith("pqpp: error: out of memory; ")


def test_small_files_reserve_little_memory(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"prompt\na cat\n"))
    tracemalloc.start()
    assert read_table(tmp_path / "a.csv.gz").columns == {"prompt": ["a cat"]}
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv", "a.parquet"])
def test_size_limit_applies_to_a_shard(tmp_path, name, monkeypatch):
    source, prompts = tmp_path / name, [f"a cat {n:04}" for n in range(1000)]
    if name == "a.parquet":
        pa.parquet.write_table(pa.table({"prompt": prompts}), source, row_group_size=100)
    else:
        content = "prompt\tn\n" + "".join(f"{prompt}\t1\n" for prompt in prompts)
        source.write_bytes(gzip.compress(content.encode()) if ".gz" in name else content.encode())
    monkeypatch.setenv("PQPP_MAX_BYTES", "5000")
    shards = find_shards(str(source), 100)
    assert [row for shard in shards for row in shard.read()["prompt"].to_pylist()] == prompts
    with pytest.raises(FileError, match="more than 5,000 bytes"):
        find_shards(str(source), 1000)[0].read()


def test_max_bytes_is_restored_after_a_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"prompt\na cat\n"))
    words = ("predict", "--file", str(tmp_path / "a.csv.gz"), "--predictor=n_words")
    assert [main((*words, "--max-bytes", "9")), main(words)] == [2, 0]
    monkeypatch.setenv("PQPP_MAX_BYTES", "many")
    assert main(words) == 2
    assert "PQPP_MAX_BYTES is 'many'; it must be a number" in capsys.readouterr().err
    assert main((*words, "--max-bytes", "99")) == 0 and os.environ["PQPP_MAX_BYTES"] == "many"
