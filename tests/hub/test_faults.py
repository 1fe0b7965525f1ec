"""Every push of a dataset and a model, and every pull of a model, with all that can go wrong.

Whatever happens, a repository holds the files of before or those of the push, never a mixture; a
pull gives what was pushed or an error, never something else; repeated on a healthy Hub both go
well; and no token is ever said.
"""

import hashlib
import re
from dataclasses import dataclass

import pytest
from support.local_hub import DEFAULT_ACCOUNTS

MAKE = """
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
DATASET = Thing(
    "dataset",
    "bench",
    ("datasets", "push", "bench"),
    {path: f"bench/{path}" for path in ("README.md", "eval.yaml", *PARQUET)},
    "data/older.parquet",
    "",
    ".pqpp-export",
)
THINGS = {
    "dataset": DATASET,
    "model": Thing(
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
    "an answer that is no JSON": ("blobs=true", dict(kind="cut"), "try again|cannot be reached"),
    "500 at the commit": (COMMIT, dict(kind="status", **ALWAYS), "an error (500)"),
    "a commit cut in the middle": (COMMIT, dict(kind="cut_request", **ALWAYS), "be reached"),
    "a commit whose answer is lost": (COMMIT, dict(kind="lost", **ALWAYS), "be reached"),
    "a token that expires at the commit": (COMMIT, dict(kind="expired", **ALWAYS), "has expired"),
    "a token that has expired": ("", dict(kind="expired", **ALWAYS), "has expired"),
    "403 at the commit": (COMMIT, dict(kind="status", status=403, **ALWAYS), "write permission"),
    "500 at an upload": (UPLOAD, dict(kind="status", **ALWAYS), "an error (500)"),
    "429 once at an upload": (UPLOAD, dict(kind="status", status=429, retry_after=1), None),
    "an upload cut once": (UPLOAD, dict(kind="cut_request"), None),
    "an upload that arrives altered": (UPLOAD, dict(kind="altered", **ALWAYS), "(400)"),
    "a slow server": ("", dict(kind="slow", seconds=0.05, **ALWAYS), None),
}


@pytest.fixture(scope="session")
def _made(_running):
    made = _running.user.run(MAKE)
    assert made.error is None, made.error


@pytest.fixture(params=[pytest.param("dataset", marks=pytest.mark.daily), "model"])
def thing(request, shared, _made):
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


def pull(shared, thing):
    code = f"repository = '{shared.owner}/{thing.name}'\n{thing.pull}"
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


FILES = "(GET|HEAD) .*/resolve/"
CONTENT = r"GET .*/resolve/.*\.safetensors"
HEALS, FAILS = "heals", "fails"
TOO_SLOW = "a server that is too slow"
PATIENCE = """
from huggingface_hub import constants
constants.HF_HUB_DOWNLOAD_TIMEOUT = constants.HF_HUB_ETAG_TIMEOUT = {}
"""
# What comes of each; None: either is right, as long as nothing else than what was pushed comes out.
PULL_FAULTS = {
    "500 at every file": (FILES, dict(kind="status", **ALWAYS), FAILS),
    "a body cut in the middle": (CONTENT, dict(kind="cut", **ALWAYS), FAILS),
    "a body cut once": (CONTENT, dict(kind="cut"), None),
    "a connection that drops": (FILES, dict(kind="drop", **ALWAYS), FAILS),
    "a token that has expired": ("", dict(kind="expired", **ALWAYS), FAILS),
    "403": (FILES, dict(kind="status", status=403, **ALWAYS), FAILS),
    "a slow server": ("", dict(kind="slow", seconds=0.05, **ALWAYS), HEALS),
    TOO_SLOW: (FILES, dict(kind="slow", seconds=0.7, **ALWAYS), None),
}


@pytest.mark.parametrize("fault", PULL_FAULTS)
def test_pull(shared, _made, fault):
    thing, (on, details, comes) = THINGS["model"], PULL_FAULTS[fault]
    assert push(shared, thing).value == 0
    shared.hub.faults.add(on=on, **details)
    shared.user.run(PATIENCE.format(0.4 if fault == TOO_SLOW else 60))
    first = pull(shared, thing)
    shared.user.run(PATIENCE.format(60))
    assert hit(shared, on)
    shared.hub.faults.clear()
    second = pull(shared, thing)
    assert second.error is None and second.value, (first.error, second.error)
    if comes == FAILS:
        assert first.error is not None
    if comes == HEALS or first.error is None:
        assert first.error is None and first.value == second.value
    else:  # one typed line
        assert "pqpp_backbones.errors.ModelError: the Hub repository" in first.error
        assert "During handling" not in first.error
