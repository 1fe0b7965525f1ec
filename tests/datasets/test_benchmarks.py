"""The entries of `benchmarks.toml`: row counts and folders."""

import pytest
from datasets import load_dataset
from support.benchmark_folders import write_conqa, write_gimbrr, write_richhf, write_vistar
from support.pqpp_folders import write_v1_0, write_v1_1
from support.rated_folders import WRITERS
from support.relevance import write_relevance

from pqpp_datasets.benchmarks import BENCHMARKS
from pqpp_datasets.location import find_local_folder, find_splits

FOLDERS = {
    "pqpp": ("pqpp/v1.1", write_v1_1),
    "pqpp-v1.0": ("pqpp/v1.0", write_v1_0),
    "pqpp-relevance": ("pqpp/v1.1", write_relevance),
    "conqa": ("conqa", write_conqa),
    "conqa-candidates": ("conqa", write_conqa),
    "gimbrr": ("gimbrr", write_gimbrr),
    "gimbrr-annotations": ("gimbrr", write_gimbrr),
    "gimbrr-automated": ("gimbrr", write_gimbrr),
    "richhf": ("richhf", write_richhf),
    "vistar": ("vistar", write_vistar),
    **{name: (name, write) for name, write in WRITERS.items()},
}

pytestmark = pytest.mark.usefixtures("cache")


@pytest.mark.realdata
@pytest.mark.parametrize(
    "config",
    [
        pytest.param(config, marks=[pytest.mark.daily] if config == "tia2" else [])
        for config in (*WRITERS, "conqa", "conqa-candidates", "gimbrr", "pqpp-v1.0")
    ],
)
def test_rows_match_the_real_data(real_data, config):
    benchmark = BENCHMARKS[config]
    folder = find_local_folder(benchmark, str(real_data))
    for split in find_splits(benchmark, folder):
        assert benchmark.read(folder, split, {}).num_rows == benchmark.rows[split]


@pytest.mark.parametrize("config", FOLDERS)
def test_data_dir_may_be_a_root_folder(tmp_path, config):
    subfolder, write = FOLDERS[config]
    write(tmp_path / subfolder)
    expected = load_dataset("pqpp", config, data_dir=str(tmp_path / subfolder))
    loaded = load_dataset("pqpp", config, data_dir=str(tmp_path))
    assert loaded.num_rows == expected.num_rows
    assert loaded.cache_files == expected.cache_files
