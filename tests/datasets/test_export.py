"""Exported folders: rows, card and failed exports."""

import re

import pytest
import yaml
from datasets import Image, load_dataset
from support.benchmark_folders import write_conqa, write_gimbrr, write_richhf, write_vistar
from support.pqpp_folders import write_v1_0
from support.rated_folders import WRITERS

from pqpp_datasets.benchmarks import BENCHMARKS
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.export.export import export

pytestmark = pytest.mark.usefixtures("cache")


EXPORTS = {
    "sample": (["sample"], lambda folder: None),
    "pqpp": (["pqpp-v1.0"], write_v1_0),
    "conqa": (["conqa", "conqa-candidates"], write_conqa),
    "gimbrr": (["gimbrr", "gimbrr-annotations", "gimbrr-automated"], write_gimbrr),
    "richhf": (["richhf"], write_richhf),
    "vistar": (["vistar"], write_vistar),
    **{name: ([name], write) for name, write in WRITERS.items()},
}


@pytest.fixture(params=EXPORTS)
def export_result(request, tmp_path):
    configs, write = EXPORTS[request.param]
    data = write(tmp_path / "data")
    rows = export(configs, tmp_path / "out", data and str(data))
    return request.param, tmp_path / "out", data, rows


def undecode(rows):
    for name, feature in rows.features.items():
        if isinstance(feature, Image):
            rows = rows.cast_column(name, Image(decode=False))
    return list(rows)


def test_plain_load_dataset_returns_same_rows(export_result):
    _, folder, data, rows = export_result
    for config in {config for config, _ in rows}:
        direct = load_dataset("pqpp", config, data_dir=data and str(data))
        loaded = load_dataset(str(folder), config)
        assert set(loaded) == set(direct)
        for split, dataset in direct.items():
            assert loaded[split].features == dataset.features
            assert len(dataset) == rows[config, split]
            streamed = load_dataset(str(folder), config, split=split, streaming=True)
            assert undecode(loaded[split]) == undecode(dataset) == undecode(streamed)


def test_card_describes_the_files(export_result):
    family, folder, _, rows = export_result
    text = (folder / "README.md").read_text()
    metadata = yaml.safe_load(text.split("---")[1])
    assert metadata["license"] and metadata["pretty_name"]
    assert metadata["size_categories"] == ["n<1K"] and metadata["task_categories"]
    assert metadata["annotations_creators"]
    splits = [(c["config_name"], f["split"]) for c in metadata["configs"] for f in c["data_files"]]
    assert splits == list(rows)
    for config, split in rows:
        assert f"| `{config}` | {BENCHMARKS[config].version} | `{split}` | " in text
        for column in BENCHMARKS[config].features({}):
            assert re.search(rf"`{column}[`.]", text), (config, column)
    assert "Known issues" in text and "{{ " not in text and "{%" not in text
    citation = BENCHMARKS[next(iter(rows))[0]].citation
    assert citation in text and (citation or family == "sample")


def test_failed_export_keeps_the_older_one(tmp_path):
    data = write_conqa(tmp_path / "data")
    export(["conqa"], tmp_path / "out", str(data))
    (data / "mturk.json").write_text("{")
    contents = {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    with pytest.raises(BenchmarkError):
        export(["conqa"], tmp_path / "out", str(data), overwrite=True)
    assert contents == {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "data", "out"]
