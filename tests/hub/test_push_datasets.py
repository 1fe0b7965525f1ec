"""Pushes of datasets to a Hub on loopback, and pulls by another process."""

import pytest
from support.benchmark_folders import write_conqa

from pqpp_datasets.export.export import export
from pqpp_datasets.export.parquet_folder import MARK


@pytest.fixture
def folder(tmp_path, cache):
    export(["sample"], tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def push(run_python):
    def run(folder, options="", token="hf_tester"):
        return run_python(
            "import dataclasses, json\n"
            "from pqpp_datasets.export.parquet_folder import push_folder\n"
            f"try: print(json.dumps(dataclasses.asdict(push_folder({str(folder)!r}, "
            f"'tester/bench'{options}))))\n"
            "except ValueError as error: print(json.dumps([type(error).__name__, str(error)]))",
            token,
        )

    return run


@pytest.fixture
def pull(plain_worker, tmp_path):
    def run(arguments):
        outcome = plain_worker.run(
            "from datasets import load_dataset\n"
            f"rows = load_dataset('tester/bench', {arguments}, cache_dir='{tmp_path}/cache')\n"
            "result = [rows.num_rows, list(rows)[0]]",
            home=tmp_path,
        )
        assert outcome.error is None, outcome.error
        return outcome.value

    return run


def test_pulled_rows_equal_exported_ones(folder, push, pull, cache):
    from datasets import load_dataset

    report = push(folder)
    assert report["new_repository"] and report["commit"] and "README.md" in report["added"]
    expected = load_dataset("pqpp", "sample", split="validation")
    assert pull("split='validation'") == [80, expected[0]]


def test_modified_folder_is_not_pushed(folder, push, state):
    push(folder)
    shard = folder / "data/sample/test-00000-of-00001.parquet"
    data = shard.read_bytes()
    shard.unlink()
    kind, text = push(folder)
    assert kind == "BenchmarkError" and "\n" not in text
    assert "data/sample/test-00000-of-00001.parquet is missing; write" in text
    shard.write_bytes(data)
    shard.with_name("test-00001-of-00002.parquet").write_bytes(data)
    kind, text = push(folder)
    assert kind == "BenchmarkError" and "test-00001-of-00002.parquet was added" in text
    shard.with_name("test-00001-of-00002.parquet").unlink()
    (folder / "NOTES.md").write_text("mine")  # is not pushed
    assert push(folder)["commit"] is None
    repository = state.hub.hub.store.repositories["dataset", "tester/bench"]
    files = repository.commits[repository.branches["main"]].files
    assert "data/sample/test-00000-of-00001.parquet" in files and "NOTES.md" not in files


def test_reports_changed_and_removed_files(folder, push, tmp_path):
    push(folder)
    data = write_conqa(tmp_path / "conqa")
    export(["conqa"], folder, str(data), overwrite=True)
    report = push(folder)
    assert sorted(report["changed"]) == [MARK, "README.md"]
    assert [path.split("/")[1] for path in report["added"]] == ["conqa"] * 2
    *data, tasks = report["removed"]
    assert [path.split("/")[1] for path in data] == ["sample"] * 3 and tasks == "eval.yaml"


FOREIGN = ("data/train-00000-of-00001.parquet", "data/mine/train-00000-of-00001.parquet", "a.html")


@pytest.mark.parametrize("listed", [None, "", "/etc/passwd\n../x\nREADME.md\n\x00\xff\n"])
def test_foreign_files_in_the_repository_are_kept(folder, push, state, listed):
    code = "from huggingface_hub import CommitOperationAdd, HfApi\napi = HfApi()\n"
    code += "api.create_repo('tester/bench', repo_type='dataset')\n"
    texts = {**dict.fromkeys(FOREIGN, "mine"), **({} if listed is None else {MARK: listed})}
    code += f"files = [CommitOperationAdd(k, v.encode('latin-1')) for k, v in {texts!r}.items()]\n"
    code += "api.create_commit('tester/bench', files, commit_message='x', repo_type='dataset')"
    assert state.user.run(code).error is None
    assert push(folder)["removed"] == []
    # The next push, which finds pqpp's list of files, keeps them too.
    (folder / "eval.yaml").unlink()
    (folder / MARK).write_text((folder / MARK).read_text().replace("eval.yaml\n", ""))
    assert push(folder)["removed"] == ["eval.yaml"]
    repository = state.hub.hub.store.repositories["dataset", "tester/bench"]
    assert set(FOREIGN) <= set(repository.commits[repository.branches["main"]].files)
