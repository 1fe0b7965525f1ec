"""Input files of shards: CSV cells, schemas, invalid rows and damaged files."""

import csv
import gzip
import io
import os
import pathlib
import re
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.shard_jobs import double, refuse

from pqpp_cli.main import main
from pqpp_files.errors import FileError
from pqpp_files.read_table import read_table
from pqpp_files.shards import find_shards, get_texts, run_shards

cells = st.text(st.sampled_from('ab",;\n\r é|\t'), max_size=6)


def read_shards(source, size=100_000):
    return pa.concat_tables(shard.read() for shard in find_shards(str(source), size)).to_pydict()


@given(
    st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n))),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 5),
    st.sampled_from([".csv", ".csv.gz"]),
)
def test_csv_shards_have_the_cells_of_the_file(rows, end, size, suffix):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(["x", "y", "z"][: len(rows[0]) if rows else 1])
    writer.writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "n" + suffix)
        content = b"\xef\xbb\xbf" + text.getvalue().encode()
        path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
        try:
            expected = {name: list(column) for name, column in read_table(path).columns.items()}
        except FileError as error:  # a lone carriage return ends a line
            with pytest.raises(FileError, match=re.escape(str(error))):
                find_shards(str(path), size)
            return
        if not next(iter(expected.values())):
            with pytest.raises(FileError, match="no rows"):
                find_shards(str(path))
            return
        assert read_shards(path, size) == expected
        assert max(shard.rows for shard in find_shards(str(path), size)) <= size


def test_blank_csv_lines_are_rows_only_with_one_column(tmp_path):
    (tmp_path / "one.csv").write_text("n\n\na\n\n\nb\n\n\n")
    (tmp_path / "two.csv").write_text("n;m\n\n1;2\n\n3;4\n\n")
    assert read_shards(tmp_path / "one.csv", 2) == {"n": ["", "a", "", "", "b"]}
    assert read_shards(tmp_path / "two.csv", 1) == {"n": ["1", "3"], "m": ["2", "4"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2\n3\n", "line 3"),
        ("a,b\nü,2\n".encode("utf-16"), "not UTF-8"),
        (b"a,b\n1,2\ncaf\xe9,2\n", "line 3: not UTF-8"),
        (gzip.compress(b"a\n1\n" * 99, mtime=0)[:-9], "file ended"),
    ],
)
def test_damaged_csv_is_refused_by_find_shards(content, message, tmp_path):
    path = tmp_path / ("n.csv.gz" if content[:2] == b"\x1f\x8b" else "n.csv")
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        find_shards(str(path))


def test_input_files_of_other_schemas_are_refused(tmp_path):
    pq.write_table(pa.table({"n": ["a"]}), tmp_path / "a.parquet")
    nulls = pa.table({"n": pa.array([None], pa.null())})
    pq.write_table(nulls, tmp_path / "b.parquet")  # without values, the type is open
    pq.write_table(pa.table({"n": pa.array(["c"]).dictionary_encode()}), tmp_path / "c.parquet")
    assert read_shards(tmp_path) == {"n": ["a", None, "c"]}
    assert read_shards(tmp_path / "[bc].parquet") == {"n": [None, "c"]}
    pq.write_table(pa.table({"n": [1]}), tmp_path / "d.parquet")
    with pytest.raises(FileError, match=r"d\.parquet has other"):
        find_shards(str(tmp_path))
    duplicate = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["n", "n"])
    pq.write_table(duplicate, tmp_path / "twice.parquet")
    with pytest.raises(FileError, match="duplicate column 'n'"):
        find_shards(str(tmp_path / "twice.parquet"))


def test_hidden_files_and_pipes_are_skipped_but_links_are_read(tmp_path):
    pq.write_table(pa.table({"n": ["a"]}), tmp_path / "a.table")
    (tmp_path / "a.parquet").symlink_to("a.table")
    os.mkfifo(tmp_path / "c.parquet")
    for hidden in (".b.parquet", "_b.parquet"):
        (tmp_path / hidden).write_text("half")
    assert read_shards(tmp_path / "*.parquet") == read_shards(tmp_path) == {"n": ["a"]}
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.parquet").symlink_to("../a.table")
    with pytest.raises(FileError, match="is outside"):
        find_shards(str(tmp_path / "inner"))


def test_rows_are_numbered_across_files(tmp_path):
    for name, rows in (("a", 3), ("b", 2)):
        pq.write_table(pa.table({"n": list(range(rows))}), tmp_path / f"{name}.parquet")
    shards = find_shards(str(tmp_path), 2, numbered=("id",))
    assert [id_ for shard in shards for id_ in shard.read()["id"].to_pylist()] == list("01234")
    assert find_shards(str(tmp_path), 2, numbered=("id", "n"))[0].read().column_names == ["n"]


BAD = b"caf\xe9"


def as_text(*texts):
    array = pa.array(texts, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers())


def test_invalid_utf8_gives_a_row_with_an_error(tmp_path, capsys):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"prompt": as_text(b"a cat", BAD), "by": as_text(BAD, b"me")}), path)
    words = ["predict", "--file", str(path), "--predictor", "n_words", "--workers", "1"]
    assert main([*words, "--output", str(tmp_path / "out")]) == 0
    assert "rows with an error (column `error`): 1" in capsys.readouterr().err
    rows = pq.read_table(tmp_path / "out").to_pydict()
    assert rows["error"] == [None, "the prompt is not UTF-8"]
    assert rows["prompt"] == ["a cat", "caf\ufffd"] and rows["by"] == ["caf\ufffd", "me"]


def test_get_texts_of_all_column_types():
    encoded = pa.array(["a", None, "a"]).dictionary_encode()
    assert get_texts(pa.table({"n": encoded}), "n")[0] == ["a", "", "a"]
    large = pa.table({"n": pa.array(["a"], pa.large_string())})
    assert get_texts(large, "n") == (["a"], [None])
    assert get_texts(pa.table({"n": [1]}), "n")[1] == ["the n is not text (int)"]


@pytest.mark.parametrize("workers", [1, 2])
def test_refused_job_writes_nothing(workers, tmp_path):
    pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "n.parquet")
    shards = find_shards(str(tmp_path / "n.parquet"), 1)
    with pytest.raises(FileError, match="no such column"):
        run_shards(refuse, shards, tmp_path / "out", {"a": 1}, workers=workers)
    assert not (tmp_path / "out").exists()
    assert run_shards(double, shards, tmp_path / "out", {"a": 2}).shards == 3


def test_shards_on_other_file_systems_are_the_same(tmp_path):
    """Such as `hf://`."""
    import fsspec

    pq.write_table(pa.table({"n": ["a", "b", "c"]}), tmp_path / "a.parquet", row_group_size=1)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"n\nd\ne\n"))
    memory = fsspec.filesystem("memory")
    for name in ("a.parquet", "b.csv.gz"):
        memory.pipe(f"/far/{name}", (tmp_path / name).read_bytes())
    assert read_shards("memory://far/*.parquet", 2) == {"n": ["a", "b", "c"]}
    assert read_shards("memory://far/b.csv.gz", 1) == {"n": ["d", "e"]}
    local, remote = (
        [shard.as_dict() for shard in find_shards(source)]
        for source in (str(tmp_path / "a.parquet"), "memory://far/a.parquet")
    )
    assert local == remote
    run_shards(double_texts, find_shards("memory://far/a.parquet", 2), tmp_path / "out", {})
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == ["aa", "bb", "cc"]


def double_texts(table):
    return pa.table({"n": [2 * text for text in table["n"].to_pylist()]})
