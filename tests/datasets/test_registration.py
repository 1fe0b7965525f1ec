"""`load_dataset("pqpp")` after an install: no import of ours, in every way of loading.

Each test runs a fresh interpreter outside the checkout, as a user's script does.
"""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.pqpp_folders import write_v1_0, write_v1_1
from support.processes import run, run_python

import pqpp_datasets
from pqpp_datasets import registration
from pqpp_datasets.benchmarks import BENCHMARKS

LOAD = "from datasets import load_dataset\n"


def said(code, tmp_path, **environment):
    environment = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", **environment}
    done = run_python(code, tmp_path, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()


def test_without_an_import_of_ours(tmp_path):
    code = LOAD + 'ds = load_dataset("pqpp", "sample")\nprint({k: len(v) for k, v in ds.items()})'
    assert said(code, tmp_path)[-1] == "{'train': 240, 'validation': 80, 'test': 80}"


@pytest.mark.parametrize("module", ["datasets", "datasets.load", "datasets.inspect"])
def test_any_way_to_import_the_library(tmp_path, module):
    code = f"import {module}\nimport datasets\nprint(len(datasets.load_dataset('pqpp', 'sample')))"
    assert said(code, tmp_path) == ["3"]


def test_names_of_configurations_and_splits(tmp_path):
    code = (
        "from datasets import get_dataset_config_names, get_dataset_split_names\n"
        "print(get_dataset_config_names('pqpp'))\n"
        "print(get_dataset_split_names('pqpp', 'sample'))"
    )
    configs, splits = said(code, tmp_path)
    others = ["agiqa", "conqa", "conqa-candidates", "genai", "gimbrr", "gimbrr-annotations"]
    others += ["gimbrr-automated", "richhf", "sample", "t2v", "tia2", "vistar"]
    shipped = ["pqpp", "pqpp-v1.0", "pqpp-relevance", *others]
    assert configs == str(list(BENCHMARKS))
    assert [name for name in BENCHMARKS if name in shipped] == shipped
    assert splits == "['train', 'validation', 'test']"


def test_it_wins_over_a_local_folder(tmp_path):
    (tmp_path / "pqpp").mkdir()
    (tmp_path / "pqpp" / "pqpp.py").write_text("raise SystemExit('executed')")
    (tmp_path / "pqpp" / "train.csv").write_text("a\n1\n")
    code = LOAD + 'print(load_dataset("pqpp", "sample", split="train").num_rows)'
    assert said(code, tmp_path) == ["240"]


def test_other_names_are_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "train.csv").write_text("a\n1\n2\n")
    code = LOAD + (
        'print(load_dataset("mine", split="train").num_rows)\n'
        'print(load_dataset("csv", data_files="mine/train.csv", split="train").num_rows)\n'
        'print(load_dataset("./mine", split="train").num_rows)'
    )
    assert said(code, tmp_path) == ["2", "2", "2"]


def test_a_listed_name_is_its_configuration(tmp_path):
    folder = write_v1_0(tmp_path / "data")
    (tmp_path / "genai").mkdir()
    (tmp_path / "genai" / "train.csv").write_text("a\n1\n2\n")
    code = LOAD + (
        "import time\nfrom datasets import load_dataset_builder\n"
        f"rows = load_dataset('pqpp-v1.0', data_dir={str(folder)!r}, split='train')\n"
        "print(rows.info.config_name, rows[0]['prompt'])\n"
        "start = time.process_time()\n"
        "print(load_dataset_builder('conqa').config.name, time.process_time() - start < 0.5)\n"
        "print(load_dataset('genai', split='train').num_rows)"  # a folder of one's own wins
    )
    assert said(code, tmp_path) == ["pqpp-v1.0 A cat.", "conqa True", "2"]


def test_a_dataset_of_that_name_on_the_hub_wins(monkeypatch):
    library = SimpleNamespace(
        dataset_module_factory=lambda path, **_: f"the Hub's {path}",
        DatasetModule=lambda *parts: parts,
        BuilderConfigsParameters=lambda **options: options,
    )
    registration.patch(library)
    monkeypatch.setattr("pqpp_hub.taken.is_taken", lambda names, kind: names == ["genai"])
    assert library.dataset_module_factory("genai") == "the Hub's genai"
    assert library.dataset_module_factory("conqa")[3] == {"default_config_name": "conqa"}
    assert library.dataset_module_factory("conqua") == "the Hub's conqua"


def test_streaming_num_proc_and_cache(tmp_path):
    folder = write_v1_1(tmp_path / "data")
    code = LOAD + (
        f"options = dict(data_dir={str(folder)!r})\n"
        "a = load_dataset('pqpp', num_proc=2, **options)\n"
        "b = load_dataset('pqpp', **options)\n"
        "c = load_dataset('pqpp', streaming=True, **options)\n"
        "print(a['train'].cache_files == b['train'].cache_files)\n"
        "print(list(c['train']) == list(a['train']))\n"
        "print(a['train'].map(lambda r: {'n': len(r['prompt'])}, num_proc=2)['n'][:])"
    )
    assert said(code, tmp_path) == ["True", "True", "[6, 10, 9, 8, 15]"]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_in_processes_of_a_pool(tmp_path, start):
    script = tmp_path / "job.py"
    script.write_text(
        "import multiprocessing\n"
        "def job(n):\n"
        "    from datasets import load_dataset\n"
        "    return load_dataset('pqpp', 'sample', split='test').num_rows\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({start!r}).Pool(2) as pool:\n"
        "        print(pool.map(job, range(2)))\n"
    )
    done = run([sys.executable, str(script)], tmp_path, HF_HOME=str(tmp_path / "hf"))
    assert done.stdout.strip() == "[80, 80]", done.stderr


def test_second_load_comes_from_the_cache(tmp_path):
    folder = write_v1_0(tmp_path / "data")
    code = LOAD + (
        f"rows = load_dataset('pqpp', 'pqpp-v1.0', data_dir={str(folder)!r}, split='train')\n"
        "print(rows[0]['prompt'])"
    )
    assert said(code, tmp_path) == ["A cat."]
    assert said(code, tmp_path) == ["A cat."]


def test_cache_key_holds_the_data_version(tmp_path):
    code = LOAD + (
        "from pqpp_datasets.registration import data_version\n"
        "files = load_dataset('pqpp', 'sample', split='test').cache_files\n"
        "print(data_version() in files[0]['filename'])"
    )
    assert said(code, tmp_path) == ["True"]


@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_switched_off_by_the_environment(tmp_path, value):
    code = (
        "import sys\n"
        "print('pqpp_autoload' in sys.modules, any('pqpp' in repr(f) for f in sys.meta_path))"
    )
    assert said(code, tmp_path) == ["True True"]
    assert said(code, tmp_path, PQPP_NO_AUTOLOAD=value) == ["True False"]


def test_by_hand(tmp_path):
    first = "import pqpp_datasets\n" + LOAD
    last = LOAD + "import pqpp_datasets\n"
    for imports in (first, last):
        code = imports + "print(load_dataset('pqpp', 'sample', split='test').num_rows)"
        assert said(code, tmp_path, PQPP_NO_AUTOLOAD="1") == ["80"]


def test_hub_options_are_refused(tmp_path):
    code = LOAD + (
        "for options in (dict(revision='main'), dict(data_files='a.csv')):\n"
        "    try: load_dataset('pqpp', **options)\n"
        "    except ValueError as error: print(type(error).__name__, error)"
    )
    revision, files = said(code, tmp_path)
    assert (
        revision.startswith("OptionError") and "choose a release by its configuration" in revision
    )
    assert files.startswith("OptionError") and "data_dir=" in files


@pytest.mark.parametrize(
    "path",
    [
        "pqpp_datasets/conqa.py",
        "pqpp_files/table_formats/separated.py",
        "pqpp_metrics/functional/aggregation.py",
    ],
)
def test_cache_key_changes_with_the_code_that_decides_the_rows(tmp_path, path):
    here = Path(pqpp_datasets.__file__).parents[1]
    for package in ("pqpp_datasets", "pqpp_files", "pqpp_hub", "pqpp_metrics"):
        shutil.copytree(here / package, tmp_path / package)
    shutil.copy(here / "pqpp_autoload.py", tmp_path)
    code = "import pqpp_datasets.registration as r\nprint(r.__file__, r.data_version())"
    first = run([sys.executable, "-c", code], tmp_path, PYTHONPATH=str(tmp_path)).stdout.split()
    assert first[0].startswith(str(tmp_path))
    with (tmp_path / path).open("a") as file:
        file.write("\n# corrected\n")
    second = run([sys.executable, "-c", code], tmp_path, PYTHONPATH=str(tmp_path)).stdout.split()
    assert first[0] == second[0] and first[1] != second[1]
