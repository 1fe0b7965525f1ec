"""`load_benchmark`: names, folders, saved datasets and refused inputs."""

import json
import os
import re
import sys
import traceback
from pathlib import Path
from unittest.mock import Mock

import datasets
import pytest
from datasets import Dataset, DatasetDict
from support.benchmark_folders import write_vistar
from support.pqpp_folders import write_v1_0

from pqpp_cli.main import main
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.load import load_benchmark
from pqpp_datasets.vistar import vistar
from pqpp_files.errors import MissingExtraError, PqppError

ROWS = {"prompt": ["a cat", "a dog"], "flux_hbpp": [1.0, 2.0]}


def test_loads_folders_and_saved_datasets(tmp_path, cache, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = Dataset.from_dict(ROWS)
    rows.to_parquet(tmp_path / "mine" / "train.parquet")
    DatasetDict(train=rows).save_to_disk("saved")
    rows.save_to_disk("plain")
    for name in ("mine", "./saved", str(tmp_path / "mine")):
        assert load_benchmark(name, split="train")[:] == ROWS
        assert list(load_benchmark(name)) == ["train"]
    assert load_benchmark("plain")[:] == ROWS
    with pytest.raises(BenchmarkError, match=r"^split test not found in saved"):
        load_benchmark("./saved", split="test")
    with pytest.raises(BenchmarkError, match=r"^split test not found in plain"):
        load_benchmark("plain", split="test")
    with pytest.raises(BenchmarkError, match=r"^`data_dir` does not apply to saved"):
        load_benchmark("saved", data_dir="x")
    state = Path("plain/state.json")
    state.write_text(state.read_text().replace("data-", "../saved/train/data-"))
    with pytest.raises(PqppError, match="copy the file into this folder"):
        load_benchmark("plain")
    for content in ("{}", '{"_data_files": [{"filename": 3}]}', "["):
        state.write_text(content)
        with pytest.raises(PqppError, match=r"^plain.*; .* again"):
            load_benchmark("plain")
    Path("saved/dataset_dict.json").write_text('{"splits": ["train", "../plain"]}')
    with pytest.raises(PqppError, match=r"^\.\./plain is outside saved; copy the file"):
        load_benchmark("saved")


@pytest.mark.parametrize("path", ["mine.png", "http://127.0.0.1/mine.png"])
def test_rejects_images_outside_the_folder(tmp_path, cache, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    cell = {"bytes": datasets.Value("binary"), "path": datasets.Value("string")}
    cells = {"images": [[{"bytes": None, "path": path}]]}
    rows = Dataset.from_dict(cells, datasets.Features({"images": [cell]}))
    features = datasets.Features({"images": [datasets.Image()]})
    rows.to_parquet(tmp_path / "files" / "train.parquet")
    rows.save_to_disk("saved")
    info = Path("saved/dataset_info.json")
    info.write_text(json.dumps(json.loads(info.read_text()) | {"features": features.to_dict()}))
    for name in ("files", "saved"):
        with pytest.raises(PqppError, match=f"is outside .*{name}; copy the file"):
            load_benchmark(name)
    with pytest.raises(PqppError, match=r"is outside .*files; copy the file"):
        list(load_benchmark("files", split="train", streaming=True))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("", {}), (" ", {}), ("nobody/nothing", {}), (Path("nowhere"), {})),
        *(("mine", {"subset": "a/b/c"}), ("mine", {"split": "none"})),
    ],
)
def test_rejects_names_of_no_dataset(tmp_path, cache, monkeypatch, name, options):
    monkeypatch.chdir(tmp_path)
    Dataset.from_dict(ROWS).to_parquet(tmp_path / "mine" / "train.parquet")
    with pytest.raises(BenchmarkError):
        load_benchmark(name, **options)


def test_errors_have_a_short_traceback(cache, tmp_path):
    with pytest.raises(BenchmarkError, match=r"not found; set data_dir=") as caught:
        datasets.load_dataset("pqpp", data_dir=str(tmp_path))
    assert len(traceback.format_exception(caught.value)) < 10


def test_error_names_missing_file_of_split(cache, tmp_path):
    write_v1_0(tmp_path)
    for split in ("test", "train+test[:1]"):
        with pytest.raises(BenchmarkError, match=r"test\.csv not found; set data_dir="):
            datasets.load_dataset("pqpp", "pqpp-v1.0", split=split, data_dir=str(tmp_path))


def test_error_names_missing_extra(cache, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lark", None)
    vistar._get_parser.cache_clear()
    with pytest.raises(MissingExtraError, match=r"needs lark; run: pip install"):
        datasets.load_dataset("pqpp", "vistar", data_dir=str(write_vistar(tmp_path)))


@pytest.mark.parametrize(
    "setting",
    [
        *("data_files: ../secret.csv", "data_files: /etc/passwd", "data_dir: ..", "a: '*'*"),
        *("data_files: link.csv", "data_files: http://127.0.0.1:9/a.csv"),
    ],
)
@pytest.mark.parametrize("start", ["---\n", "\ufeff---\n", "---\r# a comment\r---\r"])
def test_rejects_cards_that_list_outside_files(
    tmp_path, cache, capsys, monkeypatch, setting, start
):
    connect = Mock(side_effect=OSError("refused"))
    monkeypatch.setattr("socket.socket.connect", connect)
    secret, folder = tmp_path / "secret.csv", tmp_path / "theirs"
    secret.write_text("prompt\nmy password\n")
    folder.mkdir()
    (folder / "a.csv").write_text("prompt\na cat\n")
    if "link" in setting:
        (folder / "link.csv").symlink_to(secret)
    card = f"{start}configs:\n- config_name: default\n  {setting}\n---\n"
    (folder / "README.md").write_text(card, newline="")
    assert main(["predict", "--dataset", str(folder), "--split", "train"]) == 2
    output = capsys.readouterr()
    assert "password" not in output.out + output.err and output.err.count("\n") == 1
    assert not connect.called


def test_rereads_a_changed_folder(tmp_path, cache, monkeypatch):
    from support.votes import build, write

    from pqpp_datasets.own_benchmark.write import write_benchmark

    for folder, prompt in (("one", "A"), ("two", "B"), ("two", "C")):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        built = build(write(tmp_path / "v.csv", f"{prompt},i,m,a,5"), scale="likert5")
        write_benchmark(built, "mine")
        assert load_benchmark("mine", split="train")["prompt"][:] == [prompt]
        assert datasets.load_dataset("mine", split="train")["prompt"][:] == [prompt]
    card = Path("mine/README.md").read_text("utf-8")
    Path("mine/README.md").write_text(re.sub("description:.*", "", card), "utf-8")
    for prompt in ("D", "E"):  # without a digest in the card
        files = {"prompt": [prompt], "m_rating": [5.0]}
        datasets.Dataset.from_dict(files).to_parquet("mine/data/train-00000-of-00001.parquet")
        assert load_benchmark("mine", split="train")["prompt"][:] == [prompt]


@pytest.mark.parametrize("name", [".huggingface.yaml", "more.csv", "state.json"])
def test_rejects_pipes_without_waiting(tmp_path, cache, capsys, name):
    (tmp_path / "a.csv").write_text("prompt,mean_hbpp\na cat,1\n")
    os.mkfifo(tmp_path / name)
    assert main(["predict", "--dataset", str(tmp_path), "--predictor", "n_words"]) == 2
    assert "is a pipe or a device; remove it" in capsys.readouterr().err


def test_rejects_saved_datasets_with_outside_links(tmp_path, cache):
    info = tmp_path / "mine" / "dataset_info.json"
    datasets.Dataset.from_dict({"prompt": ["a cat"]}).save_to_disk(info.parent)
    info.rename(tmp_path / "theirs")
    info.symlink_to("../theirs")
    with pytest.raises(PqppError, match="is outside"):
        load_benchmark(str(info.parent))
    # `datasets` reads this file beside task.toml, though the card does not list it.
    info.with_name("state.json").unlink()
    info.rename(info.with_name("instruction.md"))
    info.with_name("task.toml").write_text("a = 1\n")
    card = "---\nconfigs:\n- config_name: default\n  data_files: task.toml\n---\n"
    info.with_name("README.md").write_text(card)
    with pytest.raises(PqppError, match="is outside"):
        load_benchmark(str(info.parent))
