"""Every push and pull of a dataset, a metric and a model, with everything that can go wrong.

Whatever happens, a repository holds the files of before or those of the push, never a mixture; a
pull gives what was pushed or an error, never something else; repeated on a healthy Hub both go
well; and no token is ever said.
"""

import hashlib
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.local_hub import DEFAULT_ACCOUNTS

MAKE = """
from pqpp_datasets.export.export import export
from pqpp_models.measures.caption_statistics import CaptionStatistics
from pqpp_models.measures.predictor import MeasurePredictor
export(["sample"], "bench")
statistics = CaptionStatistics.from_texts(["a man", "a wave near a man", "a zebra"])
MeasurePredictor("avg_idf", statistics).save_pretrained("model")
from pathlib import Path
from pqpp_metrics.app import metric_files
from pqpp_models.hub import endpoint_files
served = endpoint_files(MeasurePredictor("avg_idf", statistics))
for folder, files in {"endpoint": served, "space": metric_files("ndcg")}.items():
    Path(folder).mkdir()
    for name, content in files.items():
        content = content if isinstance(content, bytes) else content.read_bytes()
        Path(folder, name).write_bytes(content)
"""
MAKE_RAHF = """
import sys
sys.path.insert(0, {tests!r})
from support.tiny_rahf import tiny_feedback
tiny_feedback().save_pretrained("rahf")
"""

BEFORE = """
from huggingface_hub import CommitOperationAdd, HfApi
api, repository = HfApi(), "{repository}"
api.create_repo(repository, repo_type="{kind}", space_sdk="gradio")
texts = {{path: "---\\nlicense: mit\\n---\\n" + path for path in {paths!r}}} | {listed!r}
files = [CommitOperationAdd(path, text.encode()) for path, text in texts.items()]
api.create_commit(repository, files, commit_message="before", repo_type="{kind}")
"""


@dataclass(frozen=True)
class Thing:
    """What is pushed and pulled.

    Attributes:
        kind: What it is on the Hub.
        name: Of its repository.
        push: The words of the command before the repository.
        files: What the repository then holds: its paths there to places here.
        older: A file of an older push, which the next one removes.
        listed: The path of the list of what was pushed, where there is one.
        pull: Code that gets it from `repository` with the options `how`.
        again: The options with which what is cached is downloaded once more.
    """

    kind: str
    name: str
    push: tuple[str, ...]
    files: dict[str, str]
    older: str | None
    pull: str
    again: str
    listed: str | None = None


SPLITS = ("train", "validation", "test")
PARQUET = [f"data/sample/{split}-00000-of-00001.parquet" for split in SPLITS]
LOAD = "from datasets import load_dataset\nrows = load_dataset(repository, split='test', **how)\n"
DATASET = Thing(
    "dataset",
    "bench",
    ("datasets", "push", "bench"),
    {path: f"bench/{path}" for path in ("README.md", "eval.yaml", *PARQUET)},
    "data/older.parquet",
    LOAD + "result = [rows[0], rows[79], rows.num_rows]",
    "dict(download_mode='force_redownload')",
    ".pqpp-export",
)
RAHF = """
from pqpp_feedback.rahf import FeedbackModel
import numpy as np
image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
model = FeedbackModel.from_pretrained(repository, device="cpu", **how)
(one,) = model.judge([image], ["a red cat"])
result = [*one.scores.values(), *one.probabilities]
"""
RAHF_FILES = (
    *("config.json", "model.safetensors", "processor_config.json"),
    *("tokenizer.json", "tokenizer_config.json"),
)
THINGS = {
    "dataset": DATASET,
    "metric": Thing(
        "space",
        "ndcg",
        ("metrics", "push", "ndcg"),
        {name: f"space/{name}" for name in ("ndcg.py", "README.md", "app.py", "requirements.txt")},
        None,
        "import evaluate\nmetric = evaluate.load(repository, **how)\n"
        "result = metric.compute(predictions=[[0.9, 0.8, 0.7]], references=[[0, 2, 1]])",
        "dict(download_config=__import__('evaluate').utils.file_utils.DownloadConfig(force_download=True))",
    ),
    "model": Thing(
        "model",
        "predictor",
        ("models", "push", "model"),
        {
            **{name: f"model/{name}" for name in ("config.json", "model.safetensors", "README.md")},
            **{name: f"endpoint/{name}" for name in ("handler.py", "requirements.txt")},
        },
        "model.onnx",
        "from pqpp_models import Predictor\n"
        "result = Predictor.from_pretrained(repository, **how).predict(['a man']).tolist()",
        "{}",
    ),
    "rahf": Thing(
        "model",
        "rahf",
        ("models", "push", "rahf"),
        {name: f"rahf/{name}" for name in RAHF_FILES},
        "spiece.model",
        RAHF,
        "{}",
    ),
}
COMMIT, UPLOAD = "POST .*/commit/", "PUT /_lfs/"
ALWAYS = {"times": None}
PUSH_FAULTS = {
    "503 when files are listed": ("blobs=true", dict(kind="status", status=503, **ALWAYS), "(503)"),
    "an answer that is no JSON": ("blobs=true", dict(kind="cut"), "try again|cannot be reached"),
    "500 at the commit": (COMMIT, dict(kind="status", **ALWAYS), "an error (500)"),
    "429 at the commit": (
        COMMIT,
        dict(kind="status", status=429, retry_after=1, **ALWAYS),
        "too many requests",
    ),
    "a commit cut in the middle": (COMMIT, dict(kind="cut_request", **ALWAYS), "be reached"),
    "a commit that is not answered": (COMMIT, dict(kind="drop", **ALWAYS), "be reached"),
    "a commit whose answer is lost": (COMMIT, dict(kind="lost", **ALWAYS), "be reached"),
    "a token that expires at the commit": (COMMIT, dict(kind="expired", **ALWAYS), "has expired"),
    "a token that has expired": ("", dict(kind="expired", **ALWAYS), "has expired"),
    "403 at the commit": (COMMIT, dict(kind="status", status=403, **ALWAYS), "write permission"),
    "a commit that takes its time": (COMMIT, dict(kind="slow", seconds=1.5), None),
    "500 at an upload": (UPLOAD, dict(kind="status", **ALWAYS), "an error (500)"),
    "429 once at an upload": (UPLOAD, dict(kind="status", status=429, retry_after=1), None),
    "an upload cut in the middle": (UPLOAD, dict(kind="cut_request", **ALWAYS), "be reached"),
    "an upload cut once": (UPLOAD, dict(kind="cut_request"), None),
    "an upload that arrives altered": (UPLOAD, dict(kind="altered", **ALWAYS), "(400)"),
    "a slow server": ("", dict(kind="slow", seconds=0.05, **ALWAYS), None),
}


@pytest.fixture(scope="session")
def _made(_running):
    made = _running.user.run(MAKE)
    assert made.error is None, made.error


@pytest.fixture(scope="session")
def _made_rahf(_running):
    made = _running.user.run(MAKE_RAHF.format(tests=str(Path(__file__).parents[1])))
    assert made.error is None, made.error


def often(name: str):
    """A parameter of every run for a model, of the daily one for a dataset or a metric.

    RAHF, slow to load, goes the way of a model.
    """
    marks = {"model": (), "rahf": pytest.mark.slow}.get(name, pytest.mark.daily)
    return pytest.param(name, marks=marks)


@pytest.fixture(params=[often(name) for name in THINGS])
def thing(request, shared, _made):
    if request.param == "rahf":
        request.getfixturevalue("_made_rahf")
    return THINGS[request.param]


def contents(shared, thing) -> dict[str, str] | None:
    """Return the sha256 of every file of the repository, None where there is none."""
    repository = shared.hub.hub.store.repositories.get((thing.kind, f"{shared.owner}/{thing.name}"))
    if repository is None:
        return None
    files = repository.commits[repository.branches["main"]].files
    return {path: entry.sha256 for path, entry in files.items() if path != ".gitattributes"}


def expected(shared, thing, *others: str) -> dict[str, str]:
    """Return what `contents` must be after a push into a repository that held other files."""
    digests = {
        path: hashlib.sha256((shared.place / file).read_bytes()).hexdigest()
        for path, file in thing.files.items()
    }
    if thing.listed:
        text = "".join(f"{path}\n" for path in sorted(thing.files))
        digests[thing.listed] = hashlib.sha256(text.encode()).hexdigest()
    return digests | {path: contents(shared, thing)[path] for path in others}


def push(shared, thing, *options: str):
    outcome = shared.user.pqpp(*thing.push, f"{shared.owner}/{thing.name}", *options)
    assert outcome.error is None, outcome.error
    says_no_token(outcome)
    if outcome.value:
        assert outcome.value == 2 and not outcome.stdout
        (line,) = outcome.stderr.splitlines()
        assert line.startswith("pqpp: error: the Hub ")
    return outcome


def pull(shared, thing, how: str = "{}"):
    code = f"repository, how = '{shared.owner}/{thing.name}', {how}\n{thing.pull}"
    outcome = shared.user.run(code)
    says_no_token(outcome)
    return outcome


def says_no_token(outcome):
    for secret in DEFAULT_ACCOUNTS:
        assert secret not in outcome.said


def hit(shared, on: str) -> bool:
    return any(re.search(on, one) for one in shared.hub.requests)


@pytest.mark.parametrize("fault", PUSH_FAULTS)
def test_push(shared, thing, fault):
    on, details, said = PUSH_FAULTS[fault]
    paths = [next(iter(thing.files)), "notes.txt", *([thing.older] if thing.older else [])]
    repository = f"{shared.owner}/{thing.name}"
    listed = {thing.listed: f"{thing.older}\n"} if thing.listed else {}
    about = {"repository": repository, "kind": thing.kind, "paths": paths, "listed": listed}
    made = shared.user.run(BEFORE.format(**about))
    assert made.error is None, made.error
    before = contents(shared, thing)
    shared.hub.requests.clear()
    shared.hub.faults.add(on=on, **details)
    outcome = push(shared, thing)
    after = expected(shared, thing, "notes.txt")
    if said is None or not hit(shared, on):
        assert outcome.value == 0 and contents(shared, thing) == after
    else:
        assert outcome.value == 2
        assert any(part in outcome.stderr for part in said.split("|")), outcome.stderr
        found = contents(shared, thing)
        assert found == (after if details["kind"] == "lost" else before)
    shared.hub.faults.clear()
    assert push(shared, thing).value == 0
    assert contents(shared, thing) == after
    assert "nothing to do" in push(shared, thing).stdout


# Where the process is killed, what it has done by then, and how many uploads are left to do.
KILLED = {
    "dataset": (UPLOAD, "POST /_lfs/.*/verify", 2),
    "metric": ("/preupload/", "/preupload/", 0),
    "model": (UPLOAD, UPLOAD, 1),
}


@pytest.mark.parametrize("name", [often(name) for name in KILLED])
def test_a_push_that_is_killed_resumes(shared, _made, name):
    thing, (on, done, left) = THINGS[name], KILLED[name]
    shared.hub.faults.add("slow", on=on, seconds=6, skip=int(on != done), times=None)
    command = [sys.executable, "-m", "pqpp_cli.main", *thing.push, f"{shared.owner}/{thing.name}"]
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    environment = {**os.environ, **shared.environment}
    with subprocess.Popen(command, cwd=shared.place, env=environment, **quiet) as process:
        while not hit(shared, done):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    assert contents(shared, thing) == {}
    shared.hub.faults.clear()
    shared.hub.requests.clear()
    assert push(shared, thing).value == 0
    assert contents(shared, thing) == expected(shared, thing)
    # On a slow machine the Hub may have finished what the killed process had sent.
    assert sum(one.startswith("PUT") for one in shared.hub.requests) <= left


GET, HEAD, FILES = "GET .*/resolve/", "HEAD .*/resolve/", "(GET|HEAD) .*/resolve/"
# The content that no reader of its own checks while it parses: data, code, weights.
CONTENT = r"GET .*/resolve/.*(\.parquet|ndcg\.py|\.safetensors)"
HEALS, FAILS = "heals", "fails"
TOO_SLOW = "a server that is too slow"
PATIENCE = """
from huggingface_hub import constants
constants.HF_HUB_DOWNLOAD_TIMEOUT = constants.HF_HUB_ETAG_TIMEOUT = {}
"""
# What comes of each, where every thing that is pulled must agree. None: either is right, as long as
# nothing else than what was pushed comes out; evaluate retries less than the others.
PULL_FAULTS = {
    "500 at every file": (FILES, dict(kind="status", **ALWAYS), FAILS),
    "503 at the content of every file": (CONTENT, dict(kind="status", status=503, **ALWAYS), FAILS),
    "500 at the content once": (CONTENT, dict(kind="status"), None),
    "429 once": (HEAD, dict(kind="status", status=429, retry_after=1), None),
    "a body cut in the middle": (CONTENT, dict(kind="cut", **ALWAYS), FAILS),
    "a body cut once": (CONTENT, dict(kind="cut"), None),
    "a connection that drops": (FILES, dict(kind="drop", **ALWAYS), FAILS),
    "a connection that drops once": (CONTENT, dict(kind="drop"), None),
    "a token that has expired": ("", dict(kind="expired", **ALWAYS), FAILS),
    "403": (FILES, dict(kind="status", status=403, **ALWAYS), FAILS),
    "a slow server": ("", dict(kind="slow", seconds=0.05, **ALWAYS), HEALS),
    TOO_SLOW: (FILES, dict(kind="slow", seconds=0.7, **ALWAYS), None),
}
STREAM = "rows = list(load_dataset(repository, split='test', streaming=True, **how))\n"
FOLDER = """
import evaluate, huggingface_hub
folder = huggingface_hub.snapshot_download(repository, repo_type="space", **how)
metric = evaluate.load(folder + "/ndcg.py")
"""
METRIC = THINGS["metric"]
PULLS = {
    "dataset": DATASET,
    "streamed dataset": replace(
        DATASET,
        pull="from datasets import load_dataset\n"
        + STREAM
        + "result = [rows[0], rows[79], len(rows)]",
        again="{}",
    ),
    "metric": METRIC,
    "metric by its folder": replace(
        METRIC, pull=FOLDER + METRIC.pull.splitlines()[-1], again="dict(force_download=True)"
    ),
    "model": THINGS["model"],
    "rahf": THINGS["rahf"],
}


@pytest.fixture(scope="session")
def _pushed(_running, _made):
    """What a healthy pull of each gives, by the code that pulls it."""
    return {}


@pytest.mark.parametrize("fault", PULL_FAULTS)
@pytest.mark.parametrize("name", [often(name) for name in PULLS])
def test_pull(shared, _made, _pushed, name, fault, request):
    if name == "rahf":
        request.getfixturevalue("_made_rahf")
    thing, (on, details, comes) = PULLS[name], PULL_FAULTS[fault]
    assert push(shared, thing).value == 0
    shared.hub.faults.add(on=on, **details)
    shared.user.run(PATIENCE.format(0.4 if fault == TOO_SLOW else 60))
    first = pull(shared, thing)
    shared.user.run(PATIENCE.format(60))
    assert hit(shared, on)
    shared.hub.faults.clear()
    second = pull(shared, thing, thing.again)
    assert second.error is None, (first.error, second.error)
    assert second.value == _pushed.setdefault(name, second.value) and second.value
    if comes == FAILS:
        assert first.error is not None
    if comes == HEALS or first.error is None:
        assert first.error is None and first.value == second.value
    elif name in ("model", "rahf"):  # ours: one typed line
        assert "pqpp_backbones.errors.ModelError: the Hub repository" in first.error
        assert "During handling" not in first.error
