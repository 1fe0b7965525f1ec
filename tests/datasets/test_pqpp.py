"""PQPP: rows of both releases, damaged files and pinned records."""

import csv
import json
from pathlib import Path

import pytest
from datasets import load_dataset
from support.pqpp_folders import write_v1_0, write_v1_1

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.load import load_benchmark
from pqpp_datasets.pqpp import SCHEMA, TARGETS

COLUMNS = ["prompt_id", "source", "prompt", "caption_id", "image_id", "category", *TARGETS]


def load(*arguments, **options):
    return load_dataset("pqpp", *arguments, **options)


pytestmark = pytest.mark.usefixtures("cache")


def test_reads_v1_0_rows(tmp_path):
    rows = load("pqpp-v1.0", data_dir=str(write_v1_0(tmp_path)), split="train")
    assert COLUMNS == SCHEMA.names == rows.column_names
    assert rows[1] == {
        "prompt_id": "mscoco-12",
        "source": "mscoco",
        "prompt": "Two dogs,\nin the rain ",
        "caption_id": 12,
        "image_id": 102,
        "category": None,
        "glide_hbpp": -1.0,
        "sdxl_hbpp": 2.0,
        "mean_hbpp": 0.5,
        "clip_p10": 0.1,
        "blip2_p10": 0.1,
        "mean_p10": 0.1,
        "clip_rr": 1.0,
        "blip2_rr": 1.0,
        "mean_rr": 1.0,
    }
    assert rows["prompt"][2] == 'A sign that says "go"'


def test_v1_1_joins_tasks_on_text_and_source(tmp_path):
    rows = load(data_dir=str(write_v1_1(tmp_path)), split="validation")
    assert rows["prompt_id"][:] == [
        "mscoco-1001",
        "drawbench-5",
        "mscoco-2002",
        "mscoco-image-30",
        "mscoco-4004",
    ]
    assert rows["image_id"][:] == [10, None, 20, 30, None]
    assert rows["category"][:] == [None, "Colors", None, None, None]
    assert rows["glide_hbpp"][:] == [0.5, -1.0, 1.0, 2.0, None]  # its file has the reverse order
    assert rows["clip_p10"][:] == [0.3, None, 0.1, None, 0.2]
    assert rows["mean_rr"][:] == [0.5, None, 0.75, None, 0.5]


@pytest.mark.parametrize("streaming", [False, True])
def test_rejects_a_split_without_files(tmp_path, streaming):
    folder = str(write_v1_0(tmp_path))
    assert set(load("pqpp-v1.0", data_dir=folder)) == {"train", "validation"}
    with pytest.raises(BenchmarkError, match="test"):
        load_benchmark("pqpp-v1.0", split="test", data_dir=folder, streaming=streaming)


DAMAGED_FILES = {
    "cut inside a quoted cell": (lambda b: b[: b.index(b"in the rain")], r"train\.csv, line [34]"),
    "out of range": (lambda b: b.replace(b"0.75", b"1.75"), r"line 2.*'1\.75'.*from 0 to 1"),
    "not UTF-8": (lambda b: b.replace(b"go", b"\xff"), r"line 5: not UTF-8"),
    "duplicate id": (lambda b: b.replace(b"\n12,", b"\n11,"), r"duplicate id 11"),
}


@pytest.mark.parametrize("name", DAMAGED_FILES)
def test_error_names_place_and_remedy(tmp_path, name):
    change, expected = DAMAGED_FILES[name]
    path = write_v1_0(tmp_path) / "dataset" / "train.csv"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(BenchmarkError, match=expected) as excinfo:
        load("pqpp-v1.0", data_dir=str(tmp_path), split="train")
    assert "\n" not in str(excinfo.value) and "restore" in str(excinfo.value)


def test_keeps_both_rows_of_a_repeated_text(tmp_path):
    folder = write_v1_1(tmp_path)
    for path in (folder / "dataset/generative/ground_truth").glob("*/*_train.csv"):
        header, *rows = path.read_text().splitlines(keepends=True)
        path.write_text("".join([header, *rows, "77,A cat.,1.5,mscoco\n"]))
    rows = load(data_dir=str(folder), split="train")
    cats = [row for row in rows if row["prompt"] == "A cat."]
    assert [(row["image_id"], row["clip_p10"]) for row in cats] == [(10, 0.3), (77, None)]


def test_rereads_changed_data_only(tmp_path, cache):
    folder = write_v1_0(tmp_path / "one")
    first = load("pqpp-v1.0", data_dir=str(folder))
    copied = load("pqpp-v1.0", data_dir=str(write_v1_0(tmp_path / "two")))
    assert first["train"].cache_files == copied["train"].cache_files
    write_v1_0(folder, splits=("train", "validation", "test"))
    assert "test" in load("pqpp-v1.0", data_dir=str(folder))


def test_rounds_means_so_that_equal_ones_tie(tmp_path):
    rows = [
        # RR and P@10 of BLIP-2 and CLIP, and their mean in floating point
        (11, 101, "A", 0.5, 1.0, 0.75, 0.4, 0.2, (0.4 + 0.2) / 2, 0.5, 1.5, 1.0),
        (12, 102, "B", 0.5, 1.0, 0.75, 0.3, 0.3, 0.3, 0.5, 1.5, 1.0),
    ]
    assert rows[0][8] != rows[1][8]
    folder = write_v1_0(tmp_path, rows=rows)
    assert load("pqpp-v1.0", data_dir=str(folder), split="train")["mean_p10"][:] == [0.3, 0.3]


@pytest.mark.realdata
@pytest.mark.parametrize("lines", [500, 5999])
def test_rejects_truncated_published_file_at_each_load(real_data, tmp_path, lines):
    folder = tmp_path / "cut"
    (folder / "dataset").mkdir(parents=True)
    for name in ("train.csv", "validation.csv"):
        content = (real_data / "pqpp" / "v1.0" / "dataset" / name).read_bytes()
        if name == "train.csv":
            content = b"".join(content.splitlines(True)[:lines])
        (folder / "dataset" / name).write_bytes(content)
    for _ in range(2):
        with pytest.raises(
            BenchmarkError, match=r"train\.csv: truncated file: expected \d+ bytes, got"
        ):
            load("pqpp-v1.0", data_dir=str(folder))


# First, tenth and last row of each split: id, prompt, and one score of each task.
RECORDS = json.loads(Path(__file__).with_name("pinned_pqpp.json").read_text("utf-8"))


@pytest.mark.realdata
@pytest.mark.parametrize("name", RECORDS)
def test_pinned_records(real_data, name):
    config, split = name.split()
    release = "v1.1" if config == "pqpp" else "v1.0"
    rows = load(config, data_dir=str(real_data / "pqpp" / release), split=split)
    for index, (prompt_id, prompt, mean_hbpp, clip_rr) in RECORDS[name].items():
        row = rows[int(index)]
        assert (row["prompt_id"], row["prompt"]) == (prompt_id, prompt)
        assert row["mean_hbpp"] == pytest.approx(mean_hbpp, abs=1e-9)
        assert row["clip_rr"] == pytest.approx(clip_rr, abs=1e-9)


@pytest.mark.realdata
@pytest.mark.parametrize("config", ["pqpp", "pqpp-v1.0"])
def test_real_counts_and_values(real_data, config):
    release = "v1.1" if config == "pqpp" else "v1.0"
    rows = load(config, data_dir=str(real_data / "pqpp" / release))
    extra = 0 if config == "pqpp-v1.0" else 80  # prompts of DrawBench
    assert rows.num_rows == {"train": 6000 + extra, "validation": 2000 + extra // 2}
    for split in rows.values():
        table = split.data.table
        assert len(set(split["prompt_id"])) == len(split)
        for target in TARGETS:
            nulls = table[target].null_count
            assert nulls == (
                0 if "hbpp" in target else sum(s == "drawbench" for s in split["source"])
            )
        means = [(a + b) / 2 for a, b in zip(split["glide_hbpp"], split["sdxl_hbpp"], strict=True)]
        assert max(abs(a - b) for a, b in zip(means, split["mean_hbpp"], strict=True)) < 1e-9


@pytest.mark.realdata
def test_real_categories(real_data):
    rows = load(data_dir=str(real_data / "pqpp" / "v1.1"))
    drawbench = [row for split in rows.values() for row in split if row["source"] == "drawbench"]
    assert len(drawbench) == 120
    categories = {row["prompt_id"]: row["category"] for row in drawbench}
    with (real_data / "prompts" / "drawbench.csv").open(newline="") as file:
        for index, row in enumerate(csv.DictReader(file)):
            if (prompt_id := f"drawbench-{index}") in categories:
                assert categories[prompt_id] == row["Category"].strip()
    assert "Gary Marcus et al." in categories.values()


@pytest.mark.realdata
def test_retrieval_scores_match_published_v1_1(real_data):
    rows = load(data_dir=str(real_data / "pqpp" / "v1.1"), split="validation")
    by_id = {row["prompt_id"]: row for row in rows}
    path = real_data / "pqpp" / "v1.1_published_rows" / "retrieval_val.csv"
    with path.open(newline="") as file:
        published = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    assert len(published) == 19
    for row in published:
        loaded = by_id[f"mscoco-{int(row['caption_id'])}"]
        assert loaded["mean_p10"] == pytest.approx(row["average_precision_at_10"], abs=1e-11)
        assert loaded["mean_rr"] == pytest.approx(row["average_reciprocal_rank"], abs=1e-11)
        assert loaded["clip_p10"] == pytest.approx(row["clip_precision_at_10"], abs=1e-11)
        assert loaded["clip_rr"] == pytest.approx(row["clip_reciprocal_rank"], abs=1e-11)
