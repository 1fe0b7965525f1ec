"""Pushing predictors to the Hub on loopback, by processes that use the real client."""

import json
from pathlib import Path

import pytest
from support.processes import run_warm

import pqpp_models
from pqpp_models import Predictor

PRELUDE = """
import dataclasses, json
from pqpp_files.errors import PqppError
from pqpp_models import Predictor
from pqpp_models.hub import push_to_hub
def push(*arguments, **details):
    try:
        return dataclasses.asdict(push_to_hub(*arguments, **details))
    except PqppError as error:
        return [type(error).__name__, str(error)]
"""
ENDPOINT = """
import importlib.util
from huggingface_hub import snapshot_download
place, needed = snapshot_download("pqpp/static"), "/requirements.txt"
spec = importlib.util.spec_from_file_location("handler", place + "/handler.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
handler = module.EndpointHandler(place)
one = handler({"inputs": ["a man near a wave", " "], "parameters": {"targets": "mean_rr"}})
"""
SERVED = ["handler.py", "requirements.txt"]
PROMPTS = ["a man near a wave", "?", "zebra \U0001f993 4"]


@pytest.fixture
def run(hub, printed, tmp_path):
    """Run Python against the Hub, return what it prints as JSON."""

    def run(code: str, token: str | None = "hf_tester", **extra: str):
        if not extra:
            return printed(PRELUDE + code, token)
        environment = hub.environment(tmp_path / "home", token)
        environment["PYTHONPATH"] = str(Path(pqpp_models.__file__).parents[1])
        done = run_warm(PRELUDE + code, tmp_path, **{**environment, **extra})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture
def saved(tmp_path) -> Path:
    """A predictor with weights."""
    return Predictor.from_pretrained("static-train").save_pretrained(tmp_path / "saved")


def pushing(*arguments, **details) -> str:
    given = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in details.items())]
    return f"print(json.dumps(push({', '.join(given)})))"


def refusal(found, *said: str) -> str:
    kind, message = found
    assert kind == "HubError" and "\n" not in message
    for part in said:
        assert part in message
    return message


def writes(hub) -> list[str]:
    harmless = ("GET", "HEAD")
    return [one for one in hub.requests if not one.startswith(harmless)]


class TestPushAndPull:
    @pytest.mark.parametrize("private", [True, False])
    def test_the_shipped_predictor_says_the_same_when_pulled(self, run, hub, private):
        report = run(pushing("static", "pqpp/static", private=private))
        weights = ["model.safetensors", "README.md", "fitted_rows.safetensors"]
        assert report["added"] == ["config.json", *weights, *SERVED]
        assert report["new_repository"] and not report["new_branch"]
        assert report["url"] == f"{hub.url}/pqpp/static"
        predict = f"predict({PROMPTS!r}).tolist()))"
        pulled = run(f"print(json.dumps(Predictor.from_pretrained('pqpp/static').{predict}")
        assert pulled == Predictor.from_pretrained("static").predict(PROMPTS).tolist()
        if not private:  # as the toolkit of Inference Endpoints starts it
            served = run(ENDPOINT + f"print(json.dumps([handler({{'inputs': {PROMPTS!r}}}), one]))")
            assert [list(row.values()) for row in served[0]] == pulled
            rr = Predictor.from_pretrained("static").targets.index("mean_rr")
            assert served[1] == [{"mean_rr": pytest.approx(pulled[0][rr])}, {"mean_rr": None}]
            assert "pqpp" in run(ENDPOINT + "print(json.dumps(open(place + needed).read()))")
        repository = hub.hub.store.repositories["model", "pqpp/static"]
        assert repository.private == private
        assert repository.branches["main"] == report["commit"]
        # One commit on top of the one that every repository begins with.
        assert len(repository.commits) == 2

    def test_the_card_names_the_repository_and_a_second_push_changes_nothing(self, run):
        code = "from pqpp_models.text.ridge.fitting import fit\n"
        code += (
            "fit([f'{n} cats ' + 'x ' * (n % 7) for n in range(30)], list(range(30)), 'x_score')"
        )
        run(code + ".save_pretrained('mine')\nprint(0)")
        first = run(pushing("mine", "pqpp/mine", anyway=True))
        kept, text = run(
            "from huggingface_hub import hf_hub_download\n"
            "paths = 'mine/README.md', hf_hub_download('pqpp/mine', 'README.md')\n"
            "print(json.dumps([open(path).read() for path in paths]))"
        )
        assert first["commit"]
        assert 'from_pretrained("pqpp/mine")' in text
        assert text == kept.replace("FOLDER_OR_REPOSITORY", "pqpp/mine") != kept
        assert run(pushing("mine", "pqpp/mine", anyway=True))["commit"] is None

    def test_tokenizer_files_go_along_and_nothing_else(self, run, hub, saved):
        (saved / "tokenizer.json").write_text("{}")
        (saved / "secret.pickle").write_bytes(b"no")
        (saved / "run.py").write_text("no")
        report = run(pushing(str(saved), "pqpp/m"))
        kept = {"config.json", "model.safetensors", "fitted_rows.safetensors", "README.md"}
        assert set(report["added"]) == {*kept, "tokenizer.json", *SERVED}
        repository = hub.hub.store.repositories["model", "pqpp/m"]
        files = repository.commits[report["commit"]].files
        assert sorted(files) == [".gitattributes", *sorted(report["added"])]

    def test_a_branch_of_its_own(self, run, hub, saved):
        first = run(pushing("n_words", "pqpp/m"))
        report = run(pushing(str(saved), "pqpp/m", revision="try/2", commit_message="second try"))
        assert (report["new_repository"], report["new_branch"]) == (False, True)
        assert report["added"] == ["model.safetensors", "fitted_rows.safetensors"]
        assert report["changed"] == ["config.json", "README.md"]
        repository = hub.hub.store.repositories["model", "pqpp/m"]
        assert repository.branches == {"main": first["commit"], "try/2": report["commit"]}
        assert repository.commits[report["commit"]].title == "second try"
        names = run(
            "print(json.dumps([Predictor.from_pretrained('pqpp/m', revision=r).name "
            "for r in ('main', 'try/2', None)]))"
        )
        assert names == ["n_words", "static", "n_words"]


class TestWhatChanges:
    def test_dry_run_writes_nothing_and_tells_the_same(self, run, hub, saved):
        for folder, branch in ((str(saved), None), ("n_words", None), (str(saved), "side")):
            before = len(writes(hub))
            would = run(pushing(folder, "pqpp/m", revision=branch, dry_run=True))
            assert len(writes(hub)) == before
            did = run(pushing(folder, "pqpp/m", revision=branch))
            assert would["commit"] is None and did["commit"]
            differing = {"commit", "dry_run"}
            assert {k: v for k, v in would.items() if k not in differing} == {
                k: v for k, v in did.items() if k not in differing
            }


class TestRefusals:
    @pytest.mark.parametrize(
        ("token", "said"),
        [
            (
                "hf_expired",
                "refuses the access token: it has expired; create a new one in your Hub settings",
            ),
            ("hf_unknown", "refuses the access token: it is not valid; check the token, or run"),
            ("hf_reader", "write permission"),
            ("hf_other", "write permission"),
            (None, "needs an access token: run `hf auth login`"),
        ],
    )
    def test_tokens(self, run, hub, token, said):
        refusal(run(pushing("n_words", "pqpp/m"), token), said, "'pqpp/m'")
        assert not hub.hub.store.repositories
        dry = run(pushing("n_words", "pqpp/m", dry_run=True), token)
        assert dry["added"] == ["config.json", "README.md", *SERVED] and dry["commit"] is None

    def test_without_a_network_a_dry_run_says_what_would_be_pushed(self, run):
        nobody = {"HF_ENDPOINT": "http://127.0.0.1:9"}
        timed = "import time\nslept = []\ntime.sleep = slept.append\n"
        code = f"found = {pushing('n_words', 'pqpp/m', dry_run=True)[17:-2]}\n"
        found, slept = run(timed + code + "print(json.dumps([found, slept]))", **nobody)
        assert found["added"] == ["config.json", "README.md", *SERVED]
        assert "cannot be reached" in found["not_compared"]
        assert slept == []  # nobody is asked again and again
        refusal(run(pushing("n_words", "pqpp/m"), **nobody), "cannot be reached; connect")

    def test_private_to_a_public_repository(self, run, hub):
        run(pushing("n_words", "pqpp/m"))
        before = len(writes(hub))
        refusal(run(pushing("n_synsets", "pqpp/m", private=True)), "exists and is public")
        assert len(writes(hub)) == before

    def test_a_card_that_the_hub_refuses(self, run, hub, saved):
        (saved / "README.md").write_text("---\nlicense: [\n---\n")
        refusal(run(pushing(str(saved), "pqpp/m")), "metadata at the top of README.md")

    def test_nothing_unusable_is_published(self, run, hub, saved, tmp_path):
        weights = (saved / "model.safetensors").read_bytes()
        (saved / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
        kind, message = run(pushing(str(saved), "pqpp/m"))
        assert kind == "ModelError" and "does not match" in message
        kind, message = run(pushing(str(tmp_path / "none"), "pqpp/m"))
        assert kind == "ModelError" and "is not a folder" in message
        assert not hub.requests


class TestThingsGoWrong:
    def test_somebody_else_writes_meanwhile(self, run, hub, saved):
        run(pushing("n_words", "pqpp/m"))
        code = """
from huggingface_hub import HfApi
before = HfApi.create_commit
def commit(self, *arguments, **details):
    HfApi.create_commit = before
    HfApi().upload_file(path_or_fileobj=b"x", path_in_repo="other.txt", repo_id="pqpp/m")
    return before(self, *arguments, **details)
HfApi.create_commit = commit
"""
        found = run(code + pushing(str(saved), "pqpp/m"))
        refusal(found, "was changed by someone else; review the change and try again")
