"""Subsets of images and votes, and the privacy of annotators."""

import io

import pytest
import yaml
from datasets import Image, load_dataset
from support.votes import build, write

from pqpp_cli.main import main
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.load import load_benchmark
from pqpp_datasets.own_benchmark.images import add_saved_images
from pqpp_datasets.own_benchmark.write import WriteOptions, write_benchmark
from pqpp_files.errors import FileError

LABELS = {"ada": 2, "bob": 1, "cleo": 2}

pytestmark = pytest.mark.usefixtures("cache")


def write_votes(path, image="{n}.png"):
    """Write votes 2, 1 and 2 of ada, bob and cleo on ten images; one vote of bob is 0."""
    lines = []
    for n in range(10):
        for name, label in LABELS.items():
            label = 0 if (name, n) == ("bob", 3) else label
            lines.append(f"Prompt {n}.,{image.format(n=n)},sdxl,{name},{label},{n + 1}")
    return write(path, *lines, header="prompt,image,model,annotator,label,seconds")


def read_rows(folder, subset):
    splits = load_dataset(str(folder), subset)
    return [dict(row, split=split) for split, rows in splits.items() for row in rows]


def test_writes_subsets_of_images_and_votes(tmp_path):
    built = build(write_votes(tmp_path / "votes.csv"), scale="pqpp")
    folder = write_benchmark(built, tmp_path / "out")
    prompts = {row["prompt_id"]: row for row in read_rows(folder, None)}
    assert len(prompts) == 10 and read_rows(folder, None) == read_rows(folder, "default")
    images = read_rows(folder, "images")
    # The mean of the majority: of 2, 1 and 2 all votes; of 2, 0 and 2 the votes of 2.
    assert {row["prompt"]: row["score"] for row in images} == {
        f"Prompt {n}.": 2.0 if n == 3 else pytest.approx(5 / 3) for n in range(10)
    }
    votes = read_rows(folder, "votes")
    assert len(votes) == 30 and all(row["counts"] and not row["control"] for row in votes)
    for row in (*images, *votes):
        assert row["split"] == prompts[row["prompt_id"]]["split"]
        assert row["prompt"] == prompts[row["prompt_id"]]["prompt"] and row["model"] == "sdxl"
    numbers = {row["image_number"]: row["image"] for row in images}
    for row in votes:
        assert numbers[row["image_number"]] == f"{row['prompt'][7:-1]}.png"
        assert row["seconds"] == int(row["prompt"][7:-1]) + 1
    # Each annotator has a number; only bob voted 1.
    values_by_annotator = {}
    for row in votes:
        values_by_annotator.setdefault(row["annotator"], set()).add(row["value"])
    assert sorted(values_by_annotator) == [1, 2, 3]
    assert sorted(map(sorted, values_by_annotator.values())) == [[0, 1], [2], [2]]
    loaded = load_benchmark(str(folder), subset="votes")
    assert loaded.num_rows == load_dataset(str(folder), "votes").num_rows


def test_hides_annotator_names_by_default(tmp_path, capsys):
    path = str(write_votes(tmp_path / "votes.csv"))
    command = ["build", path, "--scale", "pqpp", "--output"]
    assert main([*command, str(tmp_path / "out")]) == 0
    for file in (tmp_path / "out").glob("*.*"):
        assert not any(name in file.read_text() for name in LABELS), file
    assert not {"ada", "bob", "cleo"} & {
        str(value) for row in read_rows(tmp_path / "out", "votes") for value in row.values()
    }
    capsys.readouterr()
    assert main([*command, str(tmp_path / "named"), "--keep-annotators"]) == 0
    assert "annotators' names" in capsys.readouterr().err
    assert {row["annotator"] for row in read_rows(tmp_path / "named", "votes")} == set(LABELS)
    assert main([*command, str(tmp_path / "less"), "--no-votes", "--keep-images", "none"]) == 0
    configs = yaml.safe_load((tmp_path / "less/README.md").read_text().split("---")[1])["configs"]
    assert [config["config_name"] for config in configs] == ["default", "images"]
    assert "image" not in read_rows(tmp_path / "less", "images")[0]


def test_stores_image_files_unchanged(tmp_path):
    pil = pytest.importorskip("PIL.Image")
    for n in range(10):
        pil.new("RGB", (4, 4), (n, 0, 0)).save(tmp_path / f"{n}.png")
    built = build(write_votes(tmp_path / "votes.csv"), scale="pqpp")
    folder = write_benchmark(built, tmp_path / "out", extras=WriteOptions(images="bytes"))
    rows = load_dataset(str(folder), "images", split="train")
    assert rows.features["image"] == Image() and rows[0]["image"].size == (4, 4)
    for row in rows.cast_column("image", Image(decode=False)):
        n = int(row["prompt"][7:-1])
        assert row["image"]["bytes"] == (tmp_path / f"{n}.png").read_bytes()
        assert pil.open(io.BytesIO(row["image"]["bytes"])).getpixel((0, 0))[0] == n
    prompts = load_benchmark(str(folder), split="train")
    assert add_saved_images(prompts, str(folder)).split == "train"
    (tmp_path / "3.png").write_text("a web page")
    with pytest.raises(FileError, match=r"3\.png cannot be read"):
        write_benchmark(built, tmp_path / "b", extras=WriteOptions(images="bytes"))
    (tmp_path / "3.png").unlink()
    (tmp_path / "3.png").symlink_to("/etc/hostname")  # would publish another file
    with pytest.raises(FileError, match=r"3\.png is outside .*; copy the file into this folder"):
        write_benchmark(built, tmp_path / "b", extras=WriteOptions(images="bytes"))
    assert not (tmp_path / "b").exists()


def test_strips_folders_of_local_paths_only(tmp_path):
    built = build(write_votes(tmp_path / "votes.csv", "https://example.org/{n}.png"), scale="pqpp")
    folder = write_benchmark(built, tmp_path / "url")
    assert read_rows(folder, "images")[0]["image"].startswith("https://example.org/")
    built = build(write_votes(tmp_path / "votes.csv", "/home/ada/study/{n}.png"), scale="pqpp")
    folder = write_benchmark(built, tmp_path / "path")
    assert {row["image"] for row in read_rows(folder, "images")} == {f"{n}.png" for n in range(10)}
    options = WriteOptions(image_dir="/home/ada")
    folder = write_benchmark(built, tmp_path / "below", extras=options)
    assert read_rows(folder, "images")[0]["image"].startswith("study/")
    with pytest.raises(BenchmarkError, match="not all images are in /data"):
        write_benchmark(built, tmp_path / "b", extras=WriteOptions(image_dir="/data"))
