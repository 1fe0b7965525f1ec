"""`load_dataset("pqpp")` without an import of pqpp.

Tests that depend on the order of imports run in new interpreters, outside the checkout.
"""

import shutil
import sys
from pathlib import Path

import pytest
from datasets import load_dataset
from support.pqpp_folders import write_v1_1
from support.processes import run, run_warm

import pqpp_datasets

LOAD = "from datasets import load_dataset\n"


def run_code(code, tmp_path, runs=run_warm, **environment):
    environment = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", **environment}
    process = runs(code, tmp_path, **environment)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip().splitlines()


def test_load_dataset_needs_no_import(tmp_path):
    code = LOAD + 'ds = load_dataset("pqpp", "sample")\nprint({k: len(v) for k, v in ds.items()})'
    assert run_code(code, tmp_path)[-1] == "{'train': 240, 'validation': 80, 'test': 80}"


@pytest.fixture
def local_folders(tmp_path, monkeypatch):
    """Write folders with names of datasets, such as `pqpp`, to the working directory."""
    for name in ("pqpp", "genai", "mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.csv").write_text("a\n1\n2\n")
    (tmp_path / "pqpp" / "pqpp.py").write_text("raise SystemExit('executed')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)


@pytest.mark.parametrize(
    ("arguments", "rows"),
    # Only `pqpp` takes precedence over a local folder; `genai` is a configuration of it.
    [(["pqpp", "sample"], 240), (["mine"], 2), (["./mine"], 2), (["genai"], 2)],
)
def test_pqpp_overrides_a_local_folder_of_that_name(local_folders, arguments, rows):
    assert load_dataset(*arguments, split="train").num_rows == rows


def test_streaming_num_proc_and_cache(tmp_path, local_folders):
    options = {"data_dir": str(write_v1_1(tmp_path / "data"))}
    parallel = load_dataset("pqpp", num_proc=2, **options)["train"]
    sequential = load_dataset("pqpp", **options)["train"]
    streamed = load_dataset("pqpp", streaming=True, **options)["train"]
    assert parallel.cache_files == sequential.cache_files and list(streamed) == list(parallel)
    lengths = parallel.map(lambda row: {"n": len(row["prompt"])}, num_proc=2)
    assert lengths["n"][:] == [6, 10, 9, 8, 15]


def test_cache_key_depends_on_the_parsers(tmp_path):
    root = Path(pqpp_datasets.__file__).parents[1]
    for package in ("pqpp_datasets", "pqpp_files", "pqpp_hub", "pqpp_metrics"):
        shutil.copytree(root / package, tmp_path / package)
    shutil.copy(root / "pqpp_autoload.py", tmp_path)
    paths = ["datasets/conqa.py", "files/table_formats.py"]
    paths += ["metrics/functional/aggregation.py"]
    code = (
        "import pqpp_datasets.registration as r\nprint(r.__file__)\nprint(r.get_data_version())\n"
        f"for path in {paths}:\n"
        "    open('pqpp_' + path, 'a').write('\\n# corrected\\n')\n"
        "    r.get_data_version.cache_clear()\n    print(r.get_data_version())"
    )
    process = run([sys.executable, "-c", code], tmp_path, PYTHONPATH=str(tmp_path))
    path, *versions = process.stdout.split()
    assert path.startswith(str(tmp_path))
    assert len(set(versions)) == 4, process.stderr
