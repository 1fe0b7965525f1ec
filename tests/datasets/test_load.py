"""`load_benchmark` takes a listed name, a folder and what `save_to_disk` wrote."""

import re
from pathlib import Path

import datasets
import pytest
from datasets import Dataset, DatasetDict

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.load import load_benchmark

ROWS = {"prompt": ["a cat", "a dog"], "flux_hbpp": [1.0, 2.0]}


def test_folders_of_files_and_of_save_to_disk(tmp_path, cache, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = Dataset.from_dict(ROWS)
    rows.to_parquet(tmp_path / "mine" / "train.parquet")
    DatasetDict(train=rows).save_to_disk("saved")
    rows.save_to_disk("plain")
    for name in ("mine", "./saved", str(tmp_path / "mine")):
        assert load_benchmark(name, split="train")[:] == ROWS
        assert list(load_benchmark(name)) == ["train"]
    assert load_benchmark("plain")[:] == ROWS
    with pytest.raises(BenchmarkError, match=r"^split test: saved has train"):
        load_benchmark("./saved", split="test")
    with pytest.raises(BenchmarkError, match=r"^split test: plain has no splits"):
        load_benchmark("plain", split="test")
    with pytest.raises(BenchmarkError, match=r"^`data_dir`: saved was saved by save_to_disk"):
        load_benchmark("saved", data_dir="x")


def test_a_folder_is_read_as_it_is_now(tmp_path, cache, monkeypatch):
    """Not as another one of its name was, and not as it was before it was written anew."""
    from support.votes import build, write

    from pqpp_datasets.own_benchmark import write_benchmark

    for place, prompt in (("one", "A"), ("two", "B"), ("two", "C")):
        (tmp_path / place).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / place)
        built = build(write(tmp_path / "v.csv", f"{prompt},i,m,a,5"), scale="likert5")
        write_benchmark(built, "mine")
        assert load_benchmark("mine", split="train")["prompt"][:] == [prompt]
        assert datasets.load_dataset("mine", split="train")["prompt"][:] == [prompt]
    card = Path("mine/README.md").read_text("utf-8")
    Path("mine/README.md").write_text(re.sub("description:.*", "", card), "utf-8")
    for prompt in ("D", "E"):  # a card of anybody's, which tells no digest
        files = {"prompt": [prompt], "m_rating": [5.0]}
        datasets.Dataset.from_dict(files).to_parquet("mine/data/train-00000-of-00001.parquet")
        assert load_benchmark("mine", split="train")["prompt"][:] == [prompt]
