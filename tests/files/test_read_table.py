"""`read_table` and `read_columns`: formats, detection, values and errors."""

import codecs
import csv
import gzip
import io
import json
import os
import sys

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from pqpp_files.errors import FileError
from pqpp_files.read_table import read_columns, read_table
from pqpp_files.table_formats import ROW

ROWS = [
    {"id": "007", "prompt": 'a "red" cat;\non a mat, asleep', "score": "0.5"},
    {"id": "9007199254740993", "prompt": "NA", "score": ""},
    {"id": "x", "prompt": "a\u2028b\x85\x0c|c\td", "score": "-2"},
]
IDS = [row["id"] for row in ROWS]
PROMPTS = [row["prompt"] for row in ROWS]


def encode_csv(separator, newline="\n"):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(ROWS[0]), delimiter=separator, lineterminator=newline)
    writer.writeheader()
    writer.writerows(ROWS)
    return text.getvalue().encode()


def encode_parquet():
    content = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pylist(ROWS), content)
    return content.getvalue()


def encode_excel(rows, *more):
    book = openpyxl.Workbook()
    for line in (list(rows[0]), *([*row.values()] for row in rows), *more):
        book.active.append(line)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


LINES = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode()
FILES = {
    "comma.csv": encode_csv(","),
    "semicolon.csv": encode_csv(";"),
    "bar.CSV": encode_csv("|"),
    "tab.csv": encode_csv("\t"),
    "tab.tsv": encode_csv("\t", "\r\n"),
    "bom.csv": b"\xef\xbb\xbf" + encode_csv(",", "\r\n"),
    "list.json": b"\xef\xbb\xbf" + json.dumps(ROWS).encode(),
    "lines.jsonl": b"\xef\xbb\xbf\n" + LINES + b"\n\n",
    "table.parquet": encode_parquet(),
}
FILES |= {f"{name}.gz": gzip.compress(content) for name, content in FILES.items()}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_table(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    table = read_table(tmp_path / name)
    assert table.columns == {key: [row[key] for row in ROWS] for key in ROWS[0]}
    assert table.texts("prompt") == PROMPTS and len(table) == 3
    if "csv" in name.lower() or "tsv" in name:
        assert table.values("score") == [0.5, None, -2.0] and table.values("id") == IDS
    assert list(read_table(tmp_path / name, ["prompt"]).columns) == ["prompt"]
    cells, names = read_columns(tmp_path / name, ["score", "id", "absent"])
    assert cells["id"] == IDS
    assert list(cells) == ["score", "id", ROW] and names == list(ROWS[0])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("source", ["-", "-{}", "-{}.gz"])
def test_standard_input_equals_a_file(monkeypatch, name, source):
    suffix = "." + name.removesuffix(".gz").rpartition(".")[2].lower()
    if source == "-{}.gz" and not name.endswith(".gz"):
        return
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FILES[name])))
    table = read_table(source.format(suffix), kinds=[".csv", ".tsv", ".json", ".jsonl", ".parquet"])
    assert table.columns == {key: [row[key] for row in ROWS] for key in ROWS[0]}
    assert table.locate(0).startswith("standard input, ")


CATS = {"id": ["1", "2"], "prompt": ["a cat", 'a 6" "dog"']}
IRREGULAR_FILES = {
    "parti.tsv": b'id\tprompt\n1\ta cat\n2\ta 6" "dog"\n',
    "quoted.tsv": b'id\tprompt\n1\t"a cat"\n2\t"a 6"" ""dog"""\n',
    "one.json": json.dumps({"id": "1", "prompt": "a cat"}).encode(),
}


@pytest.mark.parametrize("name", IRREGULAR_FILES)
def test_files_with_common_irregularities(tmp_path, monkeypatch, name):
    (tmp_path / name).write_bytes(IRREGULAR_FILES[name])
    table = read_table(tmp_path / name)
    assert table.columns == {key: column[: len(table)] for key, column in CATS.items()}
    if "json" in name:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(IRREGULAR_FILES[name])))
        assert read_table("-")["prompt"] == table["prompt"]


def test_topics_need_no_header(tmp_path):
    (tmp_path / "topics.tsv").write_text('7\ta "red cat\n8\ta dog\n')
    table = read_table(tmp_path / "topics.tsv")
    assert table.columns == {"prompt_id": ["7", "8"], "prompt": ['a "red cat', "a dog"]}
    assert table.locate(1).endswith("line 2")


def test_published_prompts_with_quotes_read_as_pandas_reads_them(real_data):
    path = real_data / "prompts" / "PartiPrompts.tsv"
    frame = pd.read_csv(path, sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False)
    assert read_table(path)["prompt"] == frame["Prompt"].tolist() and len(frame) == 1632


def test_decimal_commas_in_semicolon_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("prompt;label;id;n\na;0,5;1,5;1\nb;-1,25;x;2\nc;;;3\n")
    table = read_table(path)
    assert table.numbers("label")[:2] == [0.5, -1.25] and table.values("n") == [1, 2, 3]
    assert table["id"] == ["1,5", "x", ""]
    path.write_text('prompt,label\na,"0,5"\n')
    assert read_table(path)["label"] == ["0,5"]


def test_format_of_piped_tables_is_detected(monkeypatch):
    for text, prompts in (
        ('id,Caption\n1,"a cat, asleep"\n', ["a cat, asleep"]),
        ("prompt\na cat\n", ["a cat"]),
        ("sep=;\nid;prompt\n1;a cat\n", ["a cat"]),
        ('{"prompt": "a cat"}\n{"prompt": "a dog"}\n', ["a cat", "a dog"]),
        ("a cat, a text\n[a dog]\n", ["a cat, a text", "[a dog]"]),
        ("[a cat] in snow\n", ["[a cat] in snow"]),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        table = read_table("-", plain="prompt")
        assert table.texts("prompt") == prompts


def test_only_synonym_is_the_prompt_column(tmp_path):
    path = tmp_path / "a.csv"
    for header, expected in (
        ("id,TEXT", "TEXT"),
        ("id,caption,query", None),
        ("n,prompt,text", "prompt"),
        ("id,meta.prompt", "meta.prompt"),
    ):
        path.write_text(header + "\n" + ",".join("abc"[: header.count(",") + 1]) + "\n")
        if expected is None:
            with pytest.raises(FileError, match=r"no column 'prompt' .columns: id, caption"):
                read_table(path).find("prompt")
        else:
            assert read_table(path).find("prompt") == expected


def test_prompt_column_within_objects(tmp_path):
    records = [{"id": 1, "meta": None}, {"id": 2, "meta": {"prompt": "a cat", "seed": 1}}]
    pa.parquet.write_table(pa.Table.from_pylist(records), path := tmp_path / "a.parquet")
    for name in ("prompt", "meta.prompt"):
        assert read_table(path)[name] == [None, "a cat"]
    assert read_table(path)["meta.seed"] == [None, 1]


def test_assumptions_are_logged_once(tmp_path, caplog):
    (path := tmp_path / "a.csv").write_text("Caption;label\na;0,5\n")
    read_table(path).numbers("label")
    read_table(path)["prompt"]
    read_columns(path, ["prompt", "label"])
    logged = [sorted(line.rpartition(": assumed ")[2].split(", ")) for line in caplog.messages]
    commas = ["decimal commas", "semicolon-separated"]
    assert logged == [
        commas,
        ["column Caption for prompt", *commas],
        ["column Caption for prompt", *commas],
    ]


def test_json_numbers_are_unchanged(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 9007199254740993, "x": 2.0}\n{"id": 18446744073709551617, "y": [1]}\n')
    table = read_table(path)
    assert table["id"] == [2**53 + 1, 2**64 + 1] and table["y"] == [None, [1]]
    cells, _ = read_columns(path, ["x", "id"])
    assert cells["x"] == ["2.0", None]
    with pytest.raises(FileError, match="line 2: column 'y' contains a list"):
        read_columns(path, ["x", "y"])
    path.write_text('{"x": 1, "y": [1, 2, 3]}\n{"x": [], "y": [4]}\n')
    with pytest.raises(FileError, match="line 2: column 'x' contains a list"):
        read_columns(path, ["x", "y"], nested="y")
    path.write_text('{"n": 1' + "0" * 400 + "}\n")
    with pytest.raises(FileError, match="line 1: column 'n' is 1000"):
        read_table(path).numbers("n")


def test_values_converts_numbers_in_csv(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("whole,mixed,id,text,empty\n1,1e3,01,a,\n-2,NA,2,1,\n0,nan,3,NA,\n")
    table = read_table(path)
    assert table.values("whole") == [1, -2, 0] and table.numbers("whole") == [1.0, -2.0, 0.0]
    assert table.values("mixed") == [1000.0, None, None] and table.values("empty") == [None] * 3
    assert table.values("id") == ["01", "2", "3"] and table.values("text") == ["a", "1", "NA"]
    with pytest.raises(FileError, match=r"a\.csv, line 2: column 'text' is 'a', expected a number"):
        table.numbers("text")


def test_blank_lines_in_a_file_with_one_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("prompt\na\n\nb\n\n\n")
    table = read_table(path)
    assert table["prompt"] == ["a", "", "b"] and table.locate(2) == f"{path}, line 4"


def test_text_has_one_value_per_line(tmp_path):
    path = tmp_path / "prompts"
    path.write_bytes("\ufeffa cat\r\n\n  \na\u2028\rb\n".encode())
    table = read_table(path, ["prompt"], plain="prompt")
    assert table["prompt"] == ["a cat", "", "", "a\u2028\rb"]
    assert table.locate(3).endswith("line 4")
    path.write_text("\n\na cat\n\n \n")
    assert read_table(path, plain="prompt")["prompt"] == ["", "", "a cat"]


def test_text_in_utf_16_or_a_named_encoding_reads_as_utf_8(tmp_path):
    text = "id,prompt\n1,ein Café\n"
    for name, encoding in (("a.csv", "utf-16"), ("b.csv.gz", "utf-16-be"), ("c.csv", "cp1252")):
        content = text.encode(encoding)
        if encoding == "utf-16-be":
            content = gzip.compress(codecs.BOM_UTF16_BE + content)
        (tmp_path / name).write_bytes(content)
        option = None if encoding.startswith("utf-16") else encoding
        cells, names = read_columns(tmp_path / name, ["prompt"], encoding=option)
        assert cells["prompt"] == ["ein Café"] and names == ["id", "prompt"]
    with pytest.raises(FileError, match=r"c\.csv, line 2: not UTF-8; save it as UTF-8"):
        read_columns(tmp_path / "c.csv", ["prompt"])
    with pytest.raises(FileError, match=r"line 2: not UTF-8; .*`encoding`"):
        read_columns(tmp_path / "c.csv", ["prompt"], encoding="utf-8")
    (tmp_path / "c.csv").write_bytes(b"prompt\na\n\x81\n")
    with pytest.raises(FileError, match=r"c\.csv, line 3: not cp1252; .*`encoding`"):
        read_columns(tmp_path / "c.csv", ["prompt"], encoding="cp1252")


def test_requested_columns_decide_the_separator(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("prompt;a, b and c\nx, y;1\n")
    assert read_table(path, ["prompt"]).columns == {"prompt": ["x, y"]}


def test_late_and_missing_json_keys(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n" * 5000 + '{"late": 1}\n' + '{"other": 2}\n')
    table = read_table(path, ["late"])
    assert len(table) == 5002 and table["late"][5000] == 1 and set(table["late"]) == {None, 1}
    cells, names = read_columns(path, ["late"])
    assert len(cells["late"]) == 5002 and names == ["late", "other"]


def test_columns_without_a_header_are_numbered(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('1,"a\nb"\n\n2,c\n')
    table = read_table(path, header=False)
    assert table.columns == {"1": ["1", "2"], "2": ["a\nb", "c"]}
    assert table.locate(1) == f"{path}, line 4" and table.values("1") == [1, 2]


def test_pandas_index_is_not_a_column(tmp_path):
    frame, pairs = pd.DataFrame({"x": [1, 2]}), [(1, "a"), (2, "b")]
    for index, expected in (
        (None, ("the index", range(2))),
        (pd.Index(["b", "a"]), ("the index", ["b", "a"])),
        (pd.Index([7, 3], name="x"), ("the index", [7, 3])),
        (pd.Index([7, 3], name="id"), ("id", [7, 3])),
        (pd.MultiIndex.from_tuples(pairs, names=["q", None]), ("q,the index", pairs)),
    ):
        (frame if index is None else frame.set_axis(index)).to_parquet(tmp_path / "a.parquet")
        table = read_table(tmp_path / "a.parquet")
        assert table.index == expected and table["x"] == [1, 2]
        assert set(table.columns) == {"x"} | ({"id", "q"} & {expected[0].split(",")[0]})
        assert read_table(tmp_path / "a.parquet", ["x"]).columns == {"x": [1, 2]}
    pa.parquet.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").index is None
    frame.set_axis(["b", "a"]).to_parquet(tmp_path / "a.parquet")
    table = pa.parquet.read_table(tmp_path / "a.parquet")
    pa.parquet.write_table(table.select(["x"]), tmp_path / "a.parquet")  # as other programs do
    assert read_table(tmp_path / "a.parquet").index is None
    for count in (5, 10**30):  # the metadata describe other rows
        index = {"kind": "range", "start": -count, "stop": count, "step": 1}
        metadata = json.dumps({"index_columns": [index], "columns": [], "column_indexes": []})
        table = pa.table({"x": [1, 2]}).replace_schema_metadata({"pandas": metadata})
        pa.parquet.write_table(table, tmp_path / "a.parquet")
        assert read_table(tmp_path / "a.parquet").index == ("the index", range(2))


def test_duplicates_among_many_columns_are_refused(tmp_path):
    names = [f"c{n}" for n in range(50_000)]
    (path := tmp_path / "a.csv").write_text(",".join(names))
    assert [*read_table(path).columns] == names
    path.write_text(",".join([*names, "c0"]))
    with pytest.raises(FileError, match="duplicate column 'c0'"):
        read_table(path)
    record = json.dumps(dict.fromkeys(names, 1)).replace("}", ', "c0": 2}')
    (path := tmp_path / "a.jsonl").write_text(record)
    with pytest.raises(FileError, match="duplicate key 'c0'"):
        read_table(path)


INVALID_FILES = {
    "surplus.csv": (b"a,b\n1,2\n\n3,4,5\n", "line 4: expected 2 cells, got 3; .*comma"),
    "lacking.csv": (b'a;b\n"1\n1";2\n3\n', "line 4: expected 2 cells, got 1; complete"),
    "open.csv": (b'a,b\n1,2\n3,"4\n5,6\n', "line 3: unclosed quote"),
    "twice.csv": (b"a,b,a\n1,2,3\n", "duplicate column 'a'"),
    "latin.csv": (b"a,b\n1,2\n3,\xe9\n", "line 3: not UTF-8"),
    "empty.csv": (b"", "is empty"),
    "numbers.csv": (b"1,.5\n2,.6\n", r"line 1: expected column names, got 1, .5"),
    "late.csv": (b"\na,b\n1,2\n", "begins with a blank line"),
    "sign.csv": (b"sep=;\n", "only one line"),
    "empty.txt": (b"", "is empty"),
    "empty.jsonl": (b"\n", "has no columns"),
    "no column.json": (b"[{}, {}]", "has no columns; give a table"),
    "number.json": (b"1", "has no rows"),
    "deep.json": (b"[" * 100_000, "not JSON .nested too deeply"),
    "cut.json": (b'[1,\n{"a": 2', "line 2: not JSON .*column"),
    "surplus.jsonl": (b'{"a": 1}\n\n{"a": 2} 3\n', "line 3: not JSON .Extra data, col"),
    "twice.jsonl": (b'{"a": 1}\n{"a": 1, "a": 2}\n', "line 2: not JSON .duplicate key 'a'"),
    "latin.jsonl": (b'{"a": 1}\n{"a": "\xe9"}\n', "line 2: not UTF-8"),
    "cut.parquet": (b"PAR1", "not a Parquet file"),
    "cut.csv.gz": (gzip.compress(encode_csv(","))[:-9], "a damaged gzip file"),
    "cut.parquet.gz": (gzip.compress(encode_parquet())[:-30], "a damaged gzip file"),
    "cut.xlsx": (encode_excel(ROWS[:1])[:-30], "not an Excel file"),
    "excel.csv": (b"PK\3\4\xff\xfe", "name Excel files"),
    "two bytes.csv": ("a,b\n1,2\n".encode("utf-16-le"), "is probably UTF-16"),
    "a.ods": (b"", "'.ods' is not supported; use one of .txt, .csv"),
}


@pytest.mark.parametrize("name", INVALID_FILES)
def test_invalid_files_are_one_line(tmp_path, name):
    content, message = INVALID_FILES[name]
    (tmp_path / name).write_bytes(content)
    for read in (read_table, lambda path: read_columns(path, ["a"])):
        with pytest.raises(FileError, match=message) as error:
            read(tmp_path / name)
        assert "\n" not in str(error.value) and name in str(error.value)


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl", "a.parquet", "a.txt", "a"])
def test_missing_files_folders_and_pipes_are_refused(tmp_path, name):
    with pytest.raises(FileError, match=f"{name}: no such file"):
        read_table(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(FileError, match=f"{name} is a folder"):
        read_table(tmp_path / name)
    (tmp_path / name).rmdir()
    os.mkfifo(tmp_path / name)
    with pytest.raises(FileError, match=f"{name} is a named pipe"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["comma.csv", "list.json", "lines.jsonl", "table.parquet"])
def test_missing_column_error_lists_the_columns(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    message = "no column 'z' .columns: id, prompt, score.; name it with --column"
    with pytest.raises(FileError, match=message):
        read_table(tmp_path / name, ["id", "z"], remedy="name it with --column")
    with pytest.raises(FileError, match="no column 'z'"):
        read_table(tmp_path / name)["z"]
