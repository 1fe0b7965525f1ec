"""The Hub on loopback, used by the real clients in processes of their own."""

import hashlib
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from support import local_hub
from support.processes import run_python

TESTS = Path(__file__).parents[1]


PRELUDE = """
import json
from pathlib import Path
from huggingface_hub import *
api = HfApi()
def refused(function, *arguments, **details):
    try:
        function(*arguments, **details)
    except Exception as error:
        response = getattr(error, 'response', None)
        return [type(error).__name__, response.status_code if response is not None else None]
    return 'granted'
"""


@pytest.fixture
def client(shared, tmp_path):
    """Run Python against the Hub and return what it prints, read as JSON."""

    def run(code: str):
        outcome = shared.user.run(PRELUDE + code, home=tmp_path)
        assert outcome.error is None, outcome.error
        return json.loads(outcome.stdout.splitlines()[-1])

    return run


def put(hub, method: str, path: str, token: str | None = None, body: bytes = b"", **headers: str):
    """Send one request without a client's help; return status, headers and body."""
    given = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(
        hub.url + path, body or None, {**given, **headers}, method=method
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


class TestModels:
    def test_folder_is_pushed_listed_and_pulled(self, client, tmp_path):
        (tmp_path / "model" / "in ner").mkdir(parents=True)
        (tmp_path / "model" / "config.json").write_text('{"a": 1}')
        (tmp_path / "model" / "model.safetensors").write_bytes(b"\0" * 100_000)
        (tmp_path / "model" / "in ner" / "ü#?.txt").write_text("text")
        files, commit, pulled, info, paths = client("""
api.create_repo("pqpp/m")
commit = api.upload_folder(repo_id="pqpp/m", folder_path="model")
folder = Path(snapshot_download("pqpp/m", revision=commit.oid))
info = api.model_info("pqpp/m", files_metadata=True)
read = {one: one.read_bytes().hex() for one in folder.rglob("*") if one.is_file()}
pulled = {str(one.relative_to(folder)): content for one, content in read.items()}
lfs = {s.rfilename: s.lfs.sha256 for s in info.siblings if s.lfs}
paths = [one.path for one in api.get_paths_info("pqpp/m", ["in ner", "config.json", "none"])]
print(json.dumps([api.list_repo_files("pqpp/m"), commit.oid, pulled, [info.sha, lfs], paths]))
""")
        assert files == [".gitattributes", "config.json", "in ner/ü#?.txt", "model.safetensors"]
        for path in ("config.json", "model.safetensors", "in ner/ü#?.txt"):
            assert bytes.fromhex(pulled[path]) == (tmp_path / "model" / path).read_bytes()
        sha256 = hashlib.sha256(b"\0" * 100_000).hexdigest()
        assert info == [commit, {"model.safetensors": sha256}]
        assert paths == ["in ner", "config.json"]

    def test_branches_tags_and_history(self, client):
        found = client("""
api.create_repo("pqpp/m")
first = api.upload_file(path_or_fileobj=b"1", path_in_repo="a.txt", repo_id="pqpp/m")
api.create_tag("pqpp/m", tag="v1")
api.create_branch("pqpp/m", branch="try/this")
api.create_branch("pqpp/m", branch="try/this", exist_ok=True)
api.upload_file(path_or_fileobj=b"2", path_in_repo="a.txt", repo_id="pqpp/m", revision="try/this")
read = lambda revision: Path(hf_hub_download("pqpp/m", "a.txt", revision=revision)).read_text()
texts = [read("main"), read("try/this"), read("v1"), read(first.oid)]
titles = [one.title for one in api.list_repo_commits("pqpp/m", revision="try/this")]
refs = api.list_repo_refs("pqpp/m")
api.delete_branch("pqpp/m", branch="try/this")
gone = refused(api.model_info, "pqpp/m", revision="try/this")
print(json.dumps([texts, titles, [one.name for one in refs.branches + refs.tags], gone]))
""")
        texts, titles, names, gone = found
        assert texts == ["1", "2", "1", "1"]
        assert titles[-1] == "initial commit" and len(titles) == 3
        assert names == ["main", "try/this", "v1"]
        assert gone == ["RevisionNotFoundError", 404]

    def test_one_commit_adds_and_deletes_at_once(self, client):
        before, after, empty = client("""
api.create_repo("pqpp/m")
add = lambda path: CommitOperationAdd(path, path.encode())
api.create_commit("pqpp/m", [add("a"), add("b/c"), add("b/d"), add("e")], commit_message="1")
before = api.list_repo_files("pqpp/m")
gone = [CommitOperationDelete("a"), CommitOperationDelete("b/")]
api.create_commit("pqpp/m", [add("f"), *gone], commit_message="2")
again = api.create_commit("pqpp/m", [add("f")], commit_message="3")
titles = [one.title for one in api.list_repo_commits("pqpp/m")]
print(json.dumps([before, api.list_repo_files("pqpp/m"), titles[0]]))
""")
        assert before == [".gitattributes", "a", "b/c", "b/d", "e"]
        assert after == [".gitattributes", "e", "f"]
        assert empty == "2", "a commit that changes nothing is not made"

    def test_commit_on_an_old_state_is_refused(self, client):
        found = client("""
api.create_repo("pqpp/m")
add = lambda text: [CommitOperationAdd("a", text)]
old = api.create_commit("pqpp/m", add(b"1"), commit_message="1").oid
api.create_commit("pqpp/m", add(b"2"), commit_message="2", parent_commit=old)
late = dict(commit_message="3", parent_commit=old)
print(json.dumps(refused(api.create_commit, "pqpp/m", add(b"3"), **late)))
""")
        assert found == ["HfHubHTTPError", 412]

    def test_large_trees_come_in_pages(self, tmp_path):
        with local_hub.serve(page_size=7) as hub:
            done = run_python(
                """
from huggingface_hub import *
api = HfApi()
api.create_repo("pqpp/m")
adds = [CommitOperationAdd(f"f/{n:02}", b"x") for n in range(30)]
api.create_commit("pqpp/m", adds, commit_message="1")
print(len(list(api.list_repo_tree("pqpp/m", "f"))), len(api.list_repo_files("pqpp/m")))
""",
                tmp_path,
                **hub.environment(tmp_path / "home"),
            )
            assert done.stdout.split() == ["30", "31"], done.stderr
            assert sum("cursor=" in one for one in hub.requests) >= 4


class TestDatasets:
    def test_dataset_is_pushed_and_loaded(self, client, hub):
        found = client("""
from datasets import Dataset, load_dataset
rows = {"prompt": ["a", "b", None], "score": [0.5, -1.0, 2.0]}
Dataset.from_dict(rows).push_to_hub("pqpp/d", split="train")
Dataset.from_dict(rows).select([1]).push_to_hub("pqpp/d", split="test")
Dataset.from_dict(rows).push_to_hub("pqpp/d", config_name="other", revision="side")
loaded = load_dataset("pqpp/d")
streamed = list(load_dataset("pqpp/d", "other", revision="side", split="train", streaming=True))
sizes = {split: len(rows) for split, rows in loaded.items()}
files = api.list_repo_files("pqpp/d", repo_type="dataset")
print(json.dumps([sizes, loaded["train"].to_dict(), streamed[2], files]))
""")
        sizes, rows, last, files = found
        assert sizes == {"train": 3, "test": 1}
        assert rows == {"prompt": ["a", "b", None], "score": [0.5, -1.0, 2.0]}
        assert last == {"prompt": None, "score": 2.0}
        assert "data/train-00000-of-00001.parquet" in files
        repository = hub.hub.store.repositories["dataset", "pqpp/d"]
        head = repository.commits[repository.branches["main"]]
        assert head.files["data/train-00000-of-00001.parquet"].lfs

    def test_space_keeps_its_sdk_and_a_model_of_the_same_name_is_another(self, client):
        found = client("""
api.create_repo("pqpp/x", repo_type="space", space_sdk="gradio")
api.create_repo("pqpp/x")
api.upload_file(path_or_fileobj=b"1", path_in_repo="app.py", repo_id="pqpp/x", repo_type="space")
files = [api.list_repo_files("pqpp/x", repo_type=kind) for kind in ("model", "space")]
print(json.dumps([api.space_info("pqpp/x").sdk, *files]))
""")
        assert found == ["gradio", [".gitattributes"], [".gitattributes", "app.py"]]


class TestPermissions:
    def test_each_token_may_do_what_it_may(self, client):
        found = client("""
api.create_repo("pqpp/open")
api.create_repo("pqpp/closed", private=True)
results = {}
for token in ("hf_tester", "hf_reader", "hf_other", "hf_expired", "hf_unknown", False):
    other = HfApi(token=token)
    results[str(token)] = [
        refused(other.model_info, "pqpp/open"),
        refused(other.model_info, "pqpp/closed"),
        refused(other.upload_file, path_or_fileobj=b"1", path_in_repo="a", repo_id="pqpp/open"),
        refused(other.create_repo, "tester/new", exist_ok=True),
    ]
print(json.dumps(results))
""")
        missing, away = ["RepositoryNotFoundError", 404], ["RepositoryNotFoundError", 401]
        forbidden, unknown = ["HfHubHTTPError", 403], ["HfHubHTTPError", 401]
        assert found["hf_tester"] == ["granted"] * 4
        assert found["hf_reader"] == ["granted", missing, forbidden, "granted"]
        assert found["hf_other"] == ["granted", missing, forbidden, "granted"]
        assert found["hf_expired"] == [away] * 4
        assert found["hf_unknown"] == [unknown] * 4
        assert found["False"] == ["granted", away, unknown, "granted"]

    def test_missing_things_have_the_code_that_clients_read(self, hub, client):
        client('api.create_repo("pqpp/m")\nprint(0)')
        token = "hf_tester"
        for path, code in {
            "/api/models/pqpp/none": "RepoNotFound",
            "/api/models/pqpp/m/revision/none": "RevisionNotFound",
            "/api/models/pqpp/m/tree/main/none": "EntryNotFound",
            "/pqpp/m/resolve/main/none.txt": "EntryNotFound",
            "/pqpp/m/resolve/none/a.txt": "RevisionNotFound",
        }.items():
            status, headers, _ = put(hub, "GET", path, token)
            assert (status, headers["X-Error-Code"]) == (404, code), path

    def test_repository_that_exists_is_a_conflict(self, client):
        found = client("""
api.create_repo("pqpp/m")
again = refused(api.create_repo, "pqpp/m")
url = api.create_repo("pqpp/m", exist_ok=True)
api.delete_repo("pqpp/m")
print(json.dumps([again, url.repo_id, api.repo_exists("pqpp/m")]))
""")
        assert found == [["HfHubHTTPError", 409], "pqpp/m", False]


class TestFiles:
    @pytest.fixture
    def file(self, client, hub):
        """Push a file of ten bytes and return its path."""
        client("""
api.create_repo("pqpp/m")
api.upload_file(path_or_fileobj=b"0123456789", path_in_repo="a/b.txt", repo_id="pqpp/m")
print(0)
""")
        return "/pqpp/m/resolve/main/a%2Fb.txt"

    @pytest.mark.parametrize(
        ("wanted", "status", "body", "said"),
        [
            ("bytes=0-", 206, b"0123456789", "bytes 0-9/10"),
            ("bytes=3-5", 206, b"345", "bytes 3-5/10"),
            ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
            ("bytes=-4", 206, b"6789", "bytes 6-9/10"),
            ("bytes=10-", 416, b"", "bytes */10"),
            ("lines=1", 200, b"0123456789", None),
        ],
    )
    def test_ranges(self, hub, file, wanted, status, body, said):
        found = put(hub, "GET", file, Range=wanted)
        assert (found[0], found[2], found[1]["Content-Range"]) == (status, body, said)

    def test_head_tells_all_but_the_body(self, hub, file):
        status, headers, body = put(hub, "HEAD", file)
        assert (status, body, headers["Content-Length"]) == (200, b"", "10")
        # What `git hash-object` says of these ten bytes.
        assert headers["ETag"] == '"ad471007bd7f5983d273b9584e5629230150fd54"'
        assert len(headers["X-Repo-Commit"]) == 40

    def test_large_file_must_be_what_its_hash_says(self, hub, file):
        oid = hashlib.sha256(b"right").hexdigest()
        batch = json.dumps({"objects": [{"oid": oid, "size": 5}]}).encode()
        _, _, answer = put(hub, "POST", "/pqpp/m.git/info/lfs/objects/batch", "hf_tester", batch)
        actions = json.loads(answer)["objects"][0]["actions"]
        place = actions["upload"]["href"].removeprefix(hub.url)
        check = actions["verify"]["href"].removeprefix(hub.url)
        assert put(hub, "PUT", place, body=b"wrong")[0] == 400
        assert put(hub, "POST", check, body=json.dumps({"oid": oid}).encode())[0] == 404
        assert put(hub, "PUT", place, body=b"right")[0] == 200
        assert put(hub, "POST", check, body=json.dumps({"oid": oid}).encode())[0] == 200
        assert put(hub, "PUT", f"/_lfs/invented/{oid}", body=b"right")[0] == 403

    @pytest.mark.parametrize("path", ["/etc/x", "a/../../x", ""])
    def test_paths_stay_inside(self, hub, file, path):
        lines = [
            {"key": "header", "value": {"summary": "x"}},
            {"key": "file", "value": {"path": path, "content": ""}},
        ]
        body = b"\n".join(json.dumps(line).encode() for line in lines)
        assert put(hub, "POST", "/api/models/pqpp/m/commit/main", "hf_tester", body)[0] == 400


class TestFaults:
    READ = """
api.create_repo("pqpp/m", exist_ok=True)
api.upload_file(path_or_fileobj=b"x" * 1000, path_in_repo="a.bin", repo_id="pqpp/m")
get = lambda **details: Path(hf_hub_download("pqpp/m", "a.bin", **details)).read_bytes().hex()
"""

    def test_cut_body_is_resumed_by_the_client(self, client, hub):
        hub.faults.add("cut", on="GET .*resolve")
        assert client(self.READ + "print(json.dumps(get()))") == (b"x" * 1000).hex()
        assert sum("GET /pqpp/m/resolve" in one for one in hub.requests) == 2

    def test_wrong_bytes_have_the_right_length(self, client, hub):
        hub.faults.add("wrong_bytes", on="GET .*resolve")
        found = bytes.fromhex(client(self.READ + "print(json.dumps(get()))"))
        assert len(found) == 1000 and sum(one != ord("x") for one in found) == 1

    def test_status_is_tried_again_by_the_client(self, client, hub):
        hub.faults.add("status", on="POST .*preupload", status=503, times=1)
        assert client(self.READ + "print(json.dumps(get()))") == (b"x" * 1000).hex()

    def test_token_that_runs_out(self, client, hub):
        hub.faults.add("expired", on="POST .*commit")
        code = 'api.create_repo("pqpp/m")\nprint(json.dumps(refused(api.upload_file, '
        code += 'path_or_fileobj=b"x", path_in_repo="a", repo_id="pqpp/m")))'
        assert client(code) == ["RepositoryNotFoundError", 401]

    def test_dropped_connection_and_slow_answer(self, client, hub):
        hub.faults.add("drop", on="whoami")
        hub.faults.add("slow", on="whoami", seconds=0.3)
        found = client("""
import time
first = refused(api.whoami)
start = time.perf_counter()
second = refused(api.whoami)
print(json.dumps([first[0], second, time.perf_counter() - start]))
""")
        assert found[0] == "RemoteProtocolError" and found[1] == "granted" and found[2] >= 0.3

    def test_faults_are_used_up_in_order(self):
        faults = local_hub.Faults()
        faults.add("status", on="GET /a", status=500, skip=1)
        faults.add("cut", on="/a", times=None)
        taken = [faults.take(one) for one in ("POST /b", "GET /a", "GET /a", "GET /a")]
        assert [one and one.kind for one in taken] == [None, "cut", "status", "cut"]
        faults.clear()
        assert faults.take("GET /a") is None
        with pytest.raises(ValueError, match="`kind` is 'explode'"):
            faults.add("explode")


def test_folder_outlives_the_process_and_faults_come_over_http(tmp_path):
    command = [sys.executable, "-m", "support.local_hub", "--folder", str(tmp_path / "store")]
    code = "from huggingface_hub import *\napi = HfApi()\nname = 'pqpp/m'\n"
    texts = [
        "api.create_repo(name)\n"
        'api.upload_file(path_or_fileobj=b"kept", path_in_repo="a", repo_id=name)',
        'print(open(hf_hub_download("pqpp/m", "a")).read())',
    ]
    for text in texts:
        with subprocess.Popen(
            command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            url = json.loads(process.stdout.readline())["url"]
            running = local_hub.LocalHub(None, url)
            done = run_python(code + text, tmp_path, **running.environment(tmp_path / "home"))
            order = json.dumps({"faults": [{"kind": "status", "status": 418}]}).encode()
            assert put(running, "POST", "/_control", body=order)[0] == 200
            assert put(running, "GET", "/api/models")[0] == 418
            listed = json.loads(put(running, "GET", "/_control")[2])["requests"]
            process.stdin.close()
        assert done.returncode == 0, done.stderr
        assert listed[-1] == "GET /api/models"
    assert done.stdout.strip() == "kept"
