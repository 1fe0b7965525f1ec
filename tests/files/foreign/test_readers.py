"""Damaged files give a one-line `FileError`, with every reader."""

import random
import re
import sqlite3
import warnings

import numpy as np
import pytest

from pqpp_files.errors import FileError
from pqpp_files.foreign.arrays import load_array, load_tensors
from pqpp_files.foreign.databases import open_sqlite
from pqpp_files.foreign.json_values import DEEPEST, read_json
from pqpp_files.foreign.yaml_values import parse_yaml, read_yaml


def nest_lists(times):
    return "[" * times + "]" * times


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting value"),
        (b"{", "Expecting property name"),
        (b"\xff{}", "codec can't decode"),
        (b"1" * 5000, "Exceeds the limit"),
        (nest_lists(DEEPEST + 1).encode(), "nested too deeply"),
        (nest_lists(100_000).encode(), "nested too deeply"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested too deeply"),
    ],
)
def test_invalid_json_is_one_line(content, reason, tmp_path):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(
        FileError, match=rf"a\.json is not JSON \(.*{reason}.*; copy or write"
    ) as error:
        read_json(tmp_path / "a.json")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["a: &b [1]\nc: *b", "a: !!python/object/apply:os.system [ls]", "- 2001-99-99", "[" * 5000,
     "a: !!int ''", "a: !!binary 'é'", "\x00", "? [1]: 2\n? {}"],
)  # fmt: skip
def test_invalid_yaml_is_one_line(text):
    with pytest.raises(FileError, match=r"^a text is not YAML \(.+\); check its syntax$"):
        parse_yaml(text, "a text")


def test_damaged_npy_header_is_one_line(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    content = (tmp_path / "a.npy").read_bytes()
    for shape in (b"(3, 2,", b"(3, 2}", b"(3, ))", b"(-3,2)", b"(9,99)"):
        (tmp_path / "a.npy").write_bytes(content.replace(b"(3, 2)", shape))
        with pytest.raises(FileError, match=r"a\.npy: not a \.npy file of numbers \(.*\)"):
            load_array(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(FileError, match=r"not a \.npy"):
        load_array(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.array(["a"]))
    with pytest.raises(FileError, match="dtype is <U1"):
        load_array(tmp_path / "a.npy")


def save_tensors(path):
    from safetensors.numpy import save_file

    save_file({"a": np.arange(6.0), "b": np.ones((2, 2), np.float32)}, path)


def save_sqlite(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE a (b INTEGER, c TEXT)")
        database.executemany("INSERT INTO a VALUES (?, ?)", [(n, "x" * n) for n in range(200)])
    database.close()


def count_rows(path):
    with open_sqlite(path) as database:
        assert database.execute("PRAGMA quick_check").fetchone()
        return len(database.execute("SELECT * FROM a").fetchall())


READERS = {
    "a.npy": (lambda path: np.save(path, np.arange(60.0).reshape(6, 10)), load_array),
    "a.safetensors": (save_tensors, load_tensors),
    "a.db": (save_sqlite, count_rows),
    "a.json": (lambda path: path.write_text('{"a": [1, 2.5, "x"], "b": {"c": null}}'), read_json),
    "a.yaml": (lambda path: path.write_text("a: [1, 2.5, x]\nb:\n  c: null\n"), read_yaml),
}


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_one_line_without_warnings(name, tmp_path):
    save, read = READERS[name]
    path, rng, refused = tmp_path / name, random.Random(name), 0
    save(path)
    original = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(path)
        for _ in range(100):
            content = bytearray(original)
            for _ in range(rng.randint(1, 5)):
                position = min(rng.randrange(len(content)), rng.randrange(len(content)))
                content[position] = rng.randrange(256)
            path.unlink()
            path.write_bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
            try:
                read(path)
            except FileError as error:
                refused += 1
                assert re.fullmatch(r"[^\n]{10,600}", str(error)) and name in str(error)
    assert refused > 20
