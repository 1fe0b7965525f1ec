"""Pushes and pulls through a faulty Hub.

After a push, a repository has its old files or all the new ones. A pull returns the pushed model or
fails. Both succeed when they are repeated on a healthy Hub, and no token is printed.
"""

import hashlib
import re
from dataclasses import dataclass

import pytest
from support.local_hub import DEFAULT_ACCOUNTS

SAVE_CODE = """
from pqpp_datasets.export.export import export
from pqpp_models import Predictor
export(["sample"], "bench")
predictor = Predictor.from_pretrained("static-train")
predictor.save_pretrained("model")
from pathlib import Path
from pqpp_models.hub import list_endpoint_files
served = list_endpoint_files(predictor)
Path("endpoint").mkdir()
for name, content in served.items():
    content = content if isinstance(content, bytes) else content.read_bytes()
    Path("endpoint", name).write_bytes(content)
"""
CREATE_CODE = """
from huggingface_hub import CommitOperationAdd, HfApi
api, repository = HfApi(), "{repository}"
api.create_repo(repository, repo_type="{kind}", space_sdk="gradio")
texts = {{path: "---\\nlicense: mit\\n---\\n" + path for path in {paths!r}}} | {listed!r}
files = [CommitOperationAdd(path, text.encode()) for path, text in texts.items()]
api.create_commit(repository, files, commit_message="before", repo_type="{kind}")
"""


@dataclass(frozen=True)
class Upload:
    """A dataset or model to push and pull.

    Attributes:
        kind: The repository's type.
        name: The repository's name.
        push: The words of the command before the repository.
        files: The local path of each pushed file, by its path in the repository.
        older: A file of an older push, which the next one removes.
        pull: Code that loads it from `repository`.
        listed: The path of the list of pushed files, if there is one.
    """

    kind: str
    name: str
    push: tuple[str, ...]
    files: dict[str, str]
    older: str | None
    pull: str
    listed: str | None = None


SPLITS = ("train", "validation", "test")
PARQUET = [f"data/sample/{split}-00000-of-00001.parquet" for split in SPLITS]
DATASET = Upload(
    "dataset",
    "bench",
    ("datasets", "push", "bench"),
    {path: f"bench/{path}" for path in ("README.md", "eval.yaml", *PARQUET)},
    "data/older.parquet",
    "",
    ".pqpp-export",
)
UPLOADS = {
    "dataset": DATASET,
    "model": Upload(
        "model",
        "predictor",
        ("models", "push", "model"),
        {
            **{name: f"model/{name}" for name in ("config.json", "README.md")},
            **{
                f"{name}.safetensors": f"model/{name}.safetensors"
                for name in ("model", "fitted_rows")
            },
            **{name: f"endpoint/{name}" for name in ("handler.py", "requirements.txt")},
        },
        "spiece.model",
        "from pqpp_models import Predictor\n"
        "result = Predictor.from_pretrained(repository).predict(['a man']).tolist()",
    ),
}
COMMIT, UPLOAD = "POST .*/commit/", "PUT /_lfs/"
ALWAYS = {"times": None}
PUSH_FAULTS = {
    "503 when files are listed": ("blobs=true", dict(kind="status", status=503, **ALWAYS), "(503)"),
    "an invalid JSON response": ("blobs=true", dict(kind="cut"), "try again|cannot be reached"),
    "500 at the commit": (COMMIT, dict(kind="status", **ALWAYS), "an error (500)"),
    "a commit cut in the middle": (COMMIT, dict(kind="cut_request", **ALWAYS), "be reached"),
    "a commit whose response is lost": (COMMIT, dict(kind="lost", **ALWAYS), "be reached"),
    "a token that expires at the commit": (COMMIT, dict(kind="expired", **ALWAYS), "has expired"),
    "a token that has expired": ("", dict(kind="expired", **ALWAYS), "has expired"),
    "403 at the commit": (COMMIT, dict(kind="status", status=403, **ALWAYS), "write permission"),
    "500 at an upload": (UPLOAD, dict(kind="status", **ALWAYS), "an error (500)"),
    "429 once at an upload": (UPLOAD, dict(kind="status", status=429, retry_after=1), None),
    "an upload cut once": (UPLOAD, dict(kind="cut_request"), None),
    "an altered upload": (UPLOAD, dict(kind="altered", **ALWAYS), "(400)"),
    "a slow server": ("", dict(kind="slow", seconds=0.05, **ALWAYS), None),
}


@pytest.fixture(scope="session")
def _saved(_session):
    outcome = _session.user.run(SAVE_CODE)
    assert outcome.error is None, outcome.error


@pytest.fixture(params=[pytest.param("dataset", marks=pytest.mark.daily), "model"])
def upload(request, state, _saved):
    return UPLOADS[request.param]


def read_hashes(state, upload) -> dict[str, str] | None:
    """Return the SHA-256 of every file in the repository; None if it does not exist."""
    name = f"{state.owner}/{upload.name}"
    repository = state.hub.hub.store.repositories.get((upload.kind, name))
    if repository is None:
        return None
    files = repository.commits[repository.branches["main"]].files
    return {path: entry.sha256 for path, entry in files.items() if path != ".gitattributes"}


def get_expected_hashes(state, upload, *others: str) -> dict[str, str]:
    """Return the hashes after a push to a repository that also has the files `others`."""
    digests = {
        path: hashlib.sha256((state.folder / file).read_bytes()).hexdigest()
        for path, file in upload.files.items()
    }
    if upload.listed:
        text = "".join(f"{path}\n" for path in sorted(upload.files))
        digests[upload.listed] = hashlib.sha256(text.encode()).hexdigest()
    return digests | {path: read_hashes(state, upload)[path] for path in others}


def push(state, upload, *options: str):
    outcome = state.user.pqpp(*upload.push, f"{state.owner}/{upload.name}", *options)
    assert outcome.error is None, outcome.error
    assert_no_token(outcome)
    if outcome.value:
        assert outcome.value == 2 and not outcome.stdout
        (line,) = outcome.stderr.splitlines()
        assert line.startswith("pqpp: error: the Hub ")
    return outcome


def pull(state, upload):
    code = f"repository = '{state.owner}/{upload.name}'\n{upload.pull}"
    outcome = state.user.run(code)
    assert_no_token(outcome)
    return outcome


def assert_no_token(outcome):
    for secret in DEFAULT_ACCOUNTS:
        assert secret not in outcome.output


def was_requested(state, pattern: str) -> bool:
    return any(re.search(pattern, one) for one in state.hub.requests)


@pytest.mark.parametrize("fault", PUSH_FAULTS)
def test_push_is_atomic(state, upload, fault):
    pattern, details, message = PUSH_FAULTS[fault]
    paths = [next(iter(upload.files)), "notes.txt", *([upload.older] if upload.older else [])]
    repository = f"{state.owner}/{upload.name}"
    listed = {upload.listed: f"{upload.older}\n"} if upload.listed else {}
    values = {"repository": repository, "kind": upload.kind, "paths": paths, "listed": listed}
    outcome = state.user.run(CREATE_CODE.format(**values))
    assert outcome.error is None, outcome.error
    before = read_hashes(state, upload)
    state.hub.requests.clear()
    state.hub.faults.add(on=pattern, **details)
    outcome = push(state, upload)
    after = get_expected_hashes(state, upload, "notes.txt")
    if message is None or not was_requested(state, pattern):
        assert outcome.value == 0 and read_hashes(state, upload) == after
    else:
        assert outcome.value == 2
        assert any(part in outcome.stderr for part in message.split("|")), outcome.stderr
        files = read_hashes(state, upload)
        assert files == (after if details["kind"] == "lost" else before)
    state.hub.faults.clear()
    assert push(state, upload).value == 0
    assert read_hashes(state, upload) == after
    assert "nothing to do" in push(state, upload).stdout


FILES = "(GET|HEAD) .*/resolve/"
WEIGHTS = r"GET .*/resolve/.*\.safetensors"
SUCCEEDS, FAILS = "succeeds", "fails"
TIMEOUT = "a server that is too slow"
TIMEOUT_CODE = """
from huggingface_hub import constants
constants.HF_HUB_DOWNLOAD_TIMEOUT = constants.HF_HUB_ETAG_TIMEOUT = {}
"""
# The expected outcome of each fault; None if a pull may succeed or fail.
PULL_FAULTS = {
    "500 at every file": (FILES, dict(kind="status", **ALWAYS), FAILS),
    "a body cut in the middle": (WEIGHTS, dict(kind="cut", **ALWAYS), FAILS),
    "a body cut once": (WEIGHTS, dict(kind="cut"), None),
    "a connection that drops": (FILES, dict(kind="drop", **ALWAYS), FAILS),
    "a token that has expired": ("", dict(kind="expired", **ALWAYS), FAILS),
    "403": (FILES, dict(kind="status", status=403, **ALWAYS), FAILS),
    "a slow server": ("", dict(kind="slow", seconds=0.05, **ALWAYS), SUCCEEDS),
    TIMEOUT: (FILES, dict(kind="slow", seconds=0.7, **ALWAYS), None),
}


@pytest.mark.parametrize("fault", PULL_FAULTS)
def test_pull_is_complete_or_fails(state, _saved, fault):
    upload, (pattern, details, expectation) = UPLOADS["model"], PULL_FAULTS[fault]
    assert push(state, upload).value == 0
    state.hub.faults.add(on=pattern, **details)
    state.user.run(TIMEOUT_CODE.format(0.4 if fault == TIMEOUT else 60))
    first = pull(state, upload)
    state.user.run(TIMEOUT_CODE.format(60))
    assert was_requested(state, pattern)
    state.hub.faults.clear()
    second = pull(state, upload)
    assert second.error is None and second.value, (first.error, second.error)
    if expectation == FAILS:
        assert first.error is not None
    if expectation == SUCCEEDS or first.error is None:
        assert first.error is None and first.value == second.value
    else:  # one typed line
        assert "pqpp_backbones.errors.ModelError: the Hub repository" in first.error
        assert "During handling" not in first.error
