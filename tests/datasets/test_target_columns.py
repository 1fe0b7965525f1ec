"""Descriptions of targets in tables, files and datasets."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from datasets import Dataset, load_dataset, load_from_disk

from pqpp_datasets.export.parquet_folder import write_split
from pqpp_datasets.own_benchmark.build import BuildOptions, build_benchmark
from pqpp_datasets.own_benchmark.write import write_benchmark
from pqpp_datasets.target_columns import Target, describe_targets, get_targets, to_targets

TARGETS = [
    *to_targets(["mini-dalle", "SD 1.5"], "hbpp"),
    *to_targets(["mini-dalle", "SD 1.5"], "rating", (1.0, 5.0)),
]


def make_table():
    columns = {target.name: [1.0, 2.0] for target in TARGETS}
    return describe_targets(
        pa.table({"prompt": ["a cat", "a dog"], "seed_score": [1, 2], **columns}), TARGETS
    )


def test_descriptions_survive_parquet_and_datasets(tmp_path, cache):
    write_split(tmp_path / "mine" / "data", "train", [make_table()])
    loaded = load_dataset(str(tmp_path / "mine"), split="train")
    expected = {target.name: target for target in TARGETS}
    assert get_targets(loaded.features) == expected
    assert expected["sd-1.5_rating"] == Target("sd-1.5_rating", "SD 1.5", (1.0, 5.0))
    assert expected["mean_hbpp"] == Target("mean_hbpp", None, (-1.0, 2.0))
    loaded.save_to_disk(tmp_path / "disk")
    loaded.to_parquet(tmp_path / "one.parquet")
    reloaded = load_dataset("parquet", data_files=str(tmp_path / "one.parquet"), split="train")
    saved = load_from_disk(tmp_path / "disk")
    for dataset in (saved, reloaded, loaded.select([0]), loaded.filter(bool)):
        assert get_targets(dataset.features) == expected
    streamed = load_dataset(str(tmp_path / "mine"), split="train", streaming=True)
    assert get_targets(streamed.features) == expected


def test_infers_targets_from_column_names():
    dataset = Dataset.from_dict(
        {"prompt": ["a"], "flux_hbpp": [1.0], "mean_p5": [1], "n_words": [2], "note_rating": ["x"]}
    )
    assert list(get_targets(dataset.features)) == ["flux_hbpp", "mean_p5"]


def test_built_dataset_describes_targets_and_splits(tmp_path, cache):
    votes = [f"p{n},{n}.png,{m},a,{n % 3}" for n in range(20) for m in ("mini-dalle", "SD 1.5")]
    judgments = tmp_path / "votes.csv"
    judgments.write_text("\n".join(["prompt,image,model,annotator,label", *votes]))
    built = build_benchmark(judgments, options=BuildOptions(seed=3))
    folder = write_benchmark(built, tmp_path / "mine")
    loaded = load_dataset(str(folder), split="validation")
    assert get_targets(loaded.features) == {target.name: target for target in built.targets}
    assert [target.model for target in built.targets] == ["mini-dalle", "SD 1.5", None]
    card = yaml.safe_load((folder / "README.md").read_text("utf-8").split("---\n")[1])
    assert card["pqpp"]["targets"] == [target.as_dict() for target in built.targets]
    metadata = pq.read_schema(next((folder / "data").glob("test-*"))).metadata
    rule = json.loads(metadata[b"pqpp"])["splits"]
    assert rule == card["pqpp"]["splits"]
    assert rule["seed"] == 3 and rule["shares"] == {"train": 0.6, "validation": 0.2, "test": 0.2}
