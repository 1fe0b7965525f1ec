"""Datasets pushed to a Hub on loopback and pulled from it, each time by a process of its own."""

import json

import pytest
from support import local_hub
from support.benchmark_folders import write_conqa
from support.processes import run_python

from pqpp_datasets.export import export


@pytest.fixture
def hub():
    with local_hub.serve() as running:
        yield running


@pytest.fixture
def folder(tmp_path, cache):
    export(["sample"], tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def push(hub, tmp_path):
    def run(folder, options="", token="hf_tester"):
        code = (
            "import dataclasses, json\nfrom pqpp_datasets.hub import HubError, push_folder\n"
            f"try: print(json.dumps(dataclasses.asdict(push_folder({str(folder)!r}, "
            f"'tester/bench'{options}))))\n"
            "except ValueError as error: print(json.dumps([type(error).__name__, str(error)]))"
        )
        done = run_python(code, tmp_path, **hub.environment(tmp_path / "home", token))
        assert done.returncode == 0, done.stderr
        assert "hf_" not in done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture
def pull(hub, tmp_path):
    def run(arguments):
        code = (
            "import sys; sys.modules['pqpp_datasets'] = None\n"
            "import json\nfrom datasets import load_dataset\n"
            f"rows = load_dataset('tester/bench', {arguments})\n"
            "print(json.dumps([rows.num_rows, list(rows)[0]]))"
        )
        environment = hub.environment(tmp_path / "other-home")
        done = run_python(code, tmp_path, PQPP_NO_AUTOLOAD="1", **environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_pushed_and_pulled(folder, push, pull, cache):
    from datasets import load_dataset

    report = push(folder)
    assert report["new_repository"] and report["commit"] and "README.md" in report["added"]
    expected = load_dataset("pqpp", "sample", split="validation")
    assert pull("split='validation'") == [80, expected[0]]


def test_dry_run_writes_nothing_and_a_second_push_does_nothing(folder, push):
    dry = push(folder, ", dry_run=True")
    assert dry["new_repository"] and dry["commit"] is None and len(dry["added"]) == 5
    assert push(folder)["added"] == dry["added"]
    again = push(folder)
    assert (again["added"], again["changed"], again["unchanged"]) == ([], [], 5)
    assert again["commit"] is None


def test_changed_and_removed_files(folder, push, tmp_path):
    push(folder)
    data = write_conqa(tmp_path / "conqa")
    export(["conqa"], folder, str(data))
    report = push(folder)
    assert sorted(report["changed"]) == ["README.md", "croissant.json"]
    assert [path.split("/")[1] for path in report["added"]] == ["conqa"] * 2
    assert [path.split("/")[1] for path in report["removed"]] == ["sample"] * 3


def test_branch_of_its_own(folder, push, pull):
    push(folder)
    report = push(folder, ", revision='v2', dry_run=True")
    assert report["new_branch"] and report["commit"] is None
    (folder / "README.md").write_text((folder / "README.md").read_text() + "\nMore.\n")
    assert push(folder, ", revision='v2'")["changed"] == ["README.md"]
    assert pull("split='test', revision='v2'")[0] == 80


def test_refusals_are_one_line_without_the_token(folder, push, tmp_path):
    kind, text = push(folder, token="hf_nobody_knows_this")
    assert kind == "HubError" and "token" in text and "\n" not in text
    push(folder)
    kind, text = push(folder, ", private=True")
    assert kind == "HubError" and "is public" in text
    (tmp_path / "mine").mkdir()
    assert push(tmp_path / "mine")[0] == "MissingFileError"


FAULTS = {
    "the commit fails": dict(kind="status", on="POST .*/commit/", times=None, status=500),
    "the connection drops at the commit": dict(kind="drop", on="POST .*/commit/", times=None),
    "an upload fails": dict(kind="status", on="PUT ", times=None, status=500),
    "the token expires": dict(kind="expired", on="POST .*/commit/", times=None),
    "the list of files fails": dict(kind="status", on="GET .*/tree/", times=None, status=503),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_failed_push_leaves_all_as_it_was_and_a_second_one_succeeds(
    folder, push, pull, hub, tmp_path, name
):
    push(folder)
    before = pull("split='train'")
    # Other rows, so that a half-done push would show.
    export(["conqa"], folder, str(write_conqa(tmp_path / "conqa")))
    fault = dict(FAULTS[name])
    hub.faults.add(fault.pop("kind"), **fault)
    kind, text = push(folder)
    assert kind == "HubError" and "\n" not in text
    hub.faults.clear()
    assert pull("split='train', download_mode='force_redownload'") == before
    assert push(folder)["commit"]
    assert pull("'conqa', split='conceptual'")[0] == 1


def test_pull_resumes_after_a_cut(folder, push, pull, hub):
    push(folder)
    hub.faults.add("cut", on=r"GET .*resolve.*\.parquet")
    assert pull("split='validation'")[0] == 80


def test_failed_pull_leaves_nothing_that_a_later_one_would_take(folder, push, pull, hub):
    push(folder)
    hub.faults.add("status", on=r"GET .*resolve.*\.parquet", times=None, status=503)
    with pytest.raises(AssertionError, match="503"):
        pull("split='validation'")
    hub.faults.clear()
    assert pull("split='validation'")[0] == 80
