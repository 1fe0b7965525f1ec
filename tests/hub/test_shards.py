"""Shards of a job that lie in a repository of the Hub: many of them are one commit."""

RUN = """
import pathlib, tempfile
import pyarrow as pa
from huggingface_hub import HfApi
from pqpp_files.errors import FileError
from pqpp_files.shards import hold_shards, run_shards
repository, place = "{owner}/done", "hf://datasets/{owner}/done/out"
api = HfApi()
api.create_repo(repository, repo_type="dataset")
commits = lambda: len(api.list_repo_commits(repository, repo_type="dataset"))
first, shards = commits(), hold_shards(pa.table({{"n": range(60)}}), 1)
def fails(table):
    if table["n"][0].as_py() == 40:
        raise FileError("no more")
    return table
try:
    run_shards(fails, shards, place, {{}})
except FileError:
    result = [commits() - first]
done = run_shards(lambda table: table, shards, place, {{}})
result += [done.shards, done.skipped, commits() - first]
try:
    run_shards(fails, shards, place, {{"other": 1}})
except FileError as error:
    result.append("made with other None, not 1" in str(error))
here = pathlib.Path(tempfile.mkdtemp())
run_shards(lambda table: table, shards, here / "out", {{}})
api.snapshot_download(repository, repo_type="dataset", local_dir=here / "there")
contents = lambda folder: {{path.name: path.read_bytes() for path in folder.iterdir()}}
result.append(contents(here / "there/out") == contents(here / "out"))
"""


def test_shards_are_gathered_and_what_was_done_before_a_failure_stays(shared):
    done = shared.user.run(RUN.format(owner=shared.owner))
    assert done.error is None, done.error
    assert done.value == [2, 20, 40, 3, True, True]
