"""RichHF-18K: records, damaged files, and prompts and images of Pick-a-Pic."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Image, load_dataset
from support.benchmark_folders import make_heatmap, make_richhf_rows, write_richhf
from support.richhf_records import encode_example, to_record, write_records, write_split

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.richhf.tfrecord import parse_example, read_records

pytestmark = pytest.mark.usefixtures("cache")


def load(folder, **options):
    return load_dataset("pqpp", "richhf", data_dir=str(folder), **options)


def test_reads_a_row(tmp_path):
    rows = load(write_richhf(tmp_path))
    assert [len(rows[split]) for split in ("train", "validation", "test")] == [4, 4, 4]
    row = rows["validation"][1]
    assert (row["uid"], row["filename"]) == ("uid-1", "train/uid-1.png")
    scores = [row[name] for name in ("plausibility", "alignment", "aesthetics", "overall")]
    assert scores == [0.25, 0.5, 0.75, 1.0]
    assert row["token_labels"] == [1, 0]
    assert row["implausibility_map"].mode == "L"
    expected = np.asarray(open_image(make_heatmap(1)))
    assert np.array_equal(np.asarray(row["implausibility_map"]), expected)
    assert "prompt" not in row


def open_image(encoded):
    from PIL import Image as Pillow

    return Pillow.open(io.BytesIO(encoded))


def test_keeps_all_features_of_a_record(tmp_path):
    path = write_richhf(tmp_path / "first", count=7) / "train.tfrecord"
    rows = load(path.parent, split="train")
    for name in ("implausibility_map", "misalignment_map"):
        rows = rows.cast_column(name, Image(decode=False))
    write_split(tmp_path / "again.tfrecord", rows)
    assert (tmp_path / "again.tfrecord").read_bytes() == path.read_bytes()


def write_changed(folder, change):
    row = make_richhf_rows(3)
    features = parse_example(to_record(row[1]))
    change(features)
    records = [to_record(row[0]), encode_example(features), to_record(row[2])]
    write_records(folder / "train.tfrecord", records)
    return folder, len(records[0]) + 16


INVALID_RECORDS = {
    "wrong key": (
        lambda f: f.__setitem__("plaus", f.pop("artifact_score")),
        "missing feature artif",
    ),
    "score too high": (lambda f: f["overall_score"].__setitem__(0, 1.5), "overall_score is 1.5"),
    "label 2": (lambda f: f.__setitem__("prompt_misalignment_label", [b"1 2"]), "contains '2'"),
}


@pytest.mark.parametrize("name", INVALID_RECORDS)
def test_error_names_record_and_offset(tmp_path, name):
    change, expected = INVALID_RECORDS[name]
    folder, offset = write_changed(tmp_path, change)
    with pytest.raises(BenchmarkError, match=rf"record 1 at offset {offset}.*{expected}") as info:
        list(load(folder, split="train"))
    assert "\n" not in str(info.value)


def test_warns_of_a_file_cut_between_records(tmp_path, caplog):
    path = write_richhf(tmp_path, count=4, splits=("train",)) / "train.tfrecord"
    *_, (location, _) = read_records(path)
    path.write_bytes(path.read_bytes()[: int(location.rpartition(" ")[2])])
    assert len(load(tmp_path, split="train")) == 3
    assert "train.tfrecord is not the published file" in caplog.text


def write_pickapic(folder, images=True):
    folder.mkdir()
    rows = {
        "caption": ["a cat, alone\n ", "two words"],
        "image_0_uid": ["uid-1", "other"],
        "image_1_uid": ["none", "uid-2"],
    }
    if images:
        rows |= {"jpg_0": [make_heatmap(21), b"unread"], "jpg_1": [b"unread", make_heatmap(22)]}
    pq.write_table(pa.table(rows), folder / "train-00000.parquet", row_group_size=1)
    return folder


def test_joins_prompts_and_images_by_uid(tmp_path):
    pickapic = write_pickapic(tmp_path / "pick")
    rows = load(write_richhf(tmp_path / "rich"), pickapic_dir=str(pickapic), split="train")
    assert rows["prompt"][:] == [None, "a cat, alone\n ", "two words", None]
    assert rows["tokens"][1:3] == [["a", "cat", "alone\n"], ["two", "words"]]
    assert rows["token_labels"][1:3] == [[1, 0], [1, 0, 1]]
    assert rows["labels_match"][:] == [None, False, False, None]  # flagged, not dropped
    assert np.array_equal(np.asarray(rows[2]["image"]), np.asarray(open_image(make_heatmap(22))))
    assert rows[0]["image"] is None
