"""PQPP's relevance judgments, and hostile pickles."""

import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from datasets import load_dataset
from support.pqpp_folders import write_v1_0
from support.relevance import make_records, write_relevance

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.restricted_pickle import read_pickle


def load(folder, **options):
    return load_dataset("pqpp", "pqpp-relevance", data_dir=str(folder), **options)


pytestmark = pytest.mark.usefixtures("cache")


def write_pickle(path, value, protocol=pickle.DEFAULT_PROTOCOL):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


def test_reads_v1_1_records(tmp_path):
    rows = load(write_relevance(tmp_path))["validation"]
    assert rows[:] == {"prompt_id": ["mscoco-1001", "drawbench-5"], "image_ids": [[7, 3], []]}


@pytest.mark.parametrize(
    "value",
    [
        [[1], [2], [3], [4], [5], [6, 7]],
        {5: [6, 7], 4: [5], 3: [4], 2: [3], 1: [2], 0: [1]},
        [np.array([n]) for n in range(5)] + [np.array([6, 7])],
        [{1}, {2}, {3}, {4}, {5}, {7, 6}],
    ],
    ids=["lists", "numbered", "arrays", "sets"],
)
def test_v1_0_numbers_queries_across_splits(tmp_path, value):
    write_v1_0(tmp_path)
    write_pickle(tmp_path / "dataset/retrieval_groundtruth.pickle", value)
    rows = load(tmp_path)
    assert rows["validation"]["prompt_id"][:] == ["mscoco-111", "mscoco-112", "mscoco-113"]
    assert rows["validation"]["image_ids"][2] == [6, 7]


def test_sorts_rows_of_v1_0_parquet(tmp_path):
    write_v1_0(tmp_path)
    table = pa.table({"query_index": [5, 4, 3, 2, 1, 0], "image_ids": [[n] for n in range(6)]})
    pa.parquet.write_table(table, tmp_path / "dataset/retrieval_groundtruth.part.parquet")
    assert load(tmp_path)["train"]["image_ids"][:] == [[5], [4], [3]]


INVALID_RECORDS = {
    "not a list": {"gt": []},
    "missing key": [{"source": "mscoco", "gt": [], "prompt": ""}],
    "negative id": make_records([{**make_records()[0], "gt": [-1]}]),
    "unknown prompt": make_records([{**make_records()[1], "prompt": "A blue car."}]),
}


@pytest.mark.parametrize("name", INVALID_RECORDS)
def test_rejects_invalid_records(tmp_path, name):
    with pytest.raises(BenchmarkError, match=r"retrieval_train_gt\.pickle"):
        load(write_relevance(tmp_path, INVALID_RECORDS[name]))


class Evil:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_execute_nothing(tmp_path, protocol):
    import os

    canary = tmp_path / "executed"
    path = write_pickle(tmp_path / "evil.pickle", [Evil(os.system, (f"touch {canary}",))], protocol)
    with pytest.raises(BenchmarkError, match=r"it calls (posix|nt)\.system"):
        read_pickle(path)
    assert not canary.exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_reads_plain_values(tmp_path, protocol):
    value = [{"a": [1, 2.5, "é", None, True], "b": {3}, "c": (4,)}, np.arange(3), np.int64(7)]
    loaded = read_pickle(write_pickle(tmp_path / "plain.pickle", value, protocol))
    assert loaded == [value[0], [0, 1, 2], 7]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", ["<i8", ">i4", "f4", "u2", "?"])
def test_reads_arrays_as_lists(tmp_path, protocol, dtype):
    value = np.array([[0, 1], [1, 0]]).astype(dtype)
    assert read_pickle(write_pickle(tmp_path / "a.pickle", value, protocol)) == value.tolist()


class ForgedDtype:
    """A dtype with a forged state."""

    def __init__(self, state):
        self.state = state

    def __reduce__(self):
        return np.dtype, ("i8", False, True), self.state


@pytest.mark.parametrize(
    "value",
    [
        np.array([object], dtype=object),
        np.array(["text"]),
        np.zeros(1, dtype=[("a", "i8")]),
        ForgedDtype((3, "|", None, ("x",), {"x": (1, 1 << 40)}, 8, 1, 63)),
        ForgedDtype(("not", "an order")),
        Evil(np.dtype("i8").newbyteorder, (">",)),
    ],
    ids=["objects", "texts", "structured", "forged fields", "forged order", "method"],
)
def test_rejects_forged_numpy_state(tmp_path, value):
    try:
        loaded = read_pickle(write_pickle(tmp_path / "evil.pickle", value))
    except BenchmarkError:
        return
    assert isinstance(loaded, int) or "Dtype" in type(loaded).__name__  # not numpy's


def make_nested_memo(times):
    """Return opcodes that replace the last value by a pair of it, repeatedly, by the memo."""
    steps = (bytes([i]).join((b"h", b"h", b"\x86q")) + bytes([i + 1]) for i in range(times))
    return b"Nq\0" + b"".join(steps)


BOMBS = {
    "bytes": b"\x8e" + (2 << 30).to_bytes(8, "little"),
    "bytearray": b"\x96" + (2 << 30).to_bytes(8, "little"),
    "long_binput": b"Nr" + (1 << 27).to_bytes(4, "little") + b".",
    "put": b"Np134217728\n.",
    "doubled": b"cbuiltins\nstr\n" + b"N" + 24 * b"2\x86" + b"\x85R.",
    "nested": make_nested_memo(24) + b"cbuiltins\nstr\nh\x18\x85R.",
}
DAILY_BOMBS = {"bytearray", "put", "nested"}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(content, id=name, marks=[pytest.mark.daily] if name in DAILY_BOMBS else [])
        for name, content in BOMBS.items()
    ],
)
def test_rejects_pickle_bombs(tmp_path, content):
    path = tmp_path / "bomb.pickle"
    path.write_bytes(content)
    script = (
        "import pathlib, resource, sys\n"
        "from pqpp_datasets.restricted_pickle import read_pickle\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "size = lambda: int(next(line for line in open('/proc/self/status') if 'VmPeak' in line)"
        ".split()[1]) << 10\n"
        "before = size()\n"
        "try: read_pickle(pathlib.Path(sys.argv[1]))\n"
        "except ValueError as error: print(type(error).__name__, size() - before, sep='\\n')\n"
    )
    process = subprocess.run([sys.executable, "-c", script, path], capture_output=True, timeout=900)
    error, memory = process.stdout.decode().split()
    assert error == "BenchmarkError" and int(memory) < 50_000_000


@pytest.mark.parametrize("keep", [0, 1, 10, 40])
def test_rejects_truncated_pickles(tmp_path, keep):
    path = write_pickle(tmp_path / "cut.pickle", make_records())
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BenchmarkError, match=r"cut\.pickle, byte \d+"):
        read_pickle(path)


@pytest.mark.realdata
def test_real_judgments(real_data):
    rows = load(real_data / "pqpp" / "v1.0")
    assert rows.num_rows == {"train": 6000, "validation": 2000}
    expected_records = {
        "train": [("mscoco-319365", 1), ("mscoco-310536", 43), ("mscoco-733632", 10)],
        "validation": [("mscoco-518276", 2), ("mscoco-81715", 3), ("mscoco-784032", 3)],
    }
    for name, expected in expected_records.items():
        records = [rows[name][index] for index in (0, 9, -1)]
        assert [(row["prompt_id"], len(row["image_ids"])) for row in records] == expected
    assert rows["train"][0]["image_ids"] == [363951]
    assert rows["validation"][-1]["image_ids"] == [320014, 399009, 419327]
    sizes = [len(ids) for split in rows.values() for ids in split["image_ids"]]
    assert np.mean(sizes) == pytest.approx(44.9895) and max(sizes) == 1223
