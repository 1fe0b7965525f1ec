"""Pushes of predictors to a Hub on loopback, with the real client."""

from pathlib import Path

import pytest

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
HANDLER = """
import importlib.util
from huggingface_hub import snapshot_download
folder = snapshot_download("pqpp/static")
spec = importlib.util.spec_from_file_location("handler", folder + "/handler.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
handler = module.EndpointHandler(folder)
rr = handler({"inputs": ["a man near a wave", " "], "parameters": {"targets": "mean_rr"}})
"""
ENDPOINT_FILES = ["handler.py", "requirements.txt"]
PROMPTS = ["a man near a wave", "?", "zebra \U0001f993 4"]


@pytest.fixture
def run(run_python):
    """Return a function that runs Python against the Hub and parses its last line as JSON."""
    return lambda code, token="hf_tester": run_python(PRELUDE + code, token)


@pytest.fixture
def model(tmp_path) -> Path:
    """A predictor with weights."""
    return Predictor.from_pretrained("static-train").save_pretrained(tmp_path / "saved")


def push_code(*arguments, **details) -> str:
    texts = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in details.items())]
    return f"print(json.dumps(push({', '.join(texts)})))"


def check_error(result, *phrases: str) -> str:
    kind, message = result
    assert kind == "HubError" and "\n" not in message
    for part in phrases:
        assert part in message
    return message


def list_writes(hub) -> list[str]:
    reads = ("GET", "HEAD")
    return [one for one in hub.requests if not one.startswith(reads)]


class TestPushAndPull:
    @pytest.mark.parametrize("private", [True, False])
    def test_pulled_predictor_predicts_the_same(self, run, hub, private):
        report = run(push_code("static", "pqpp/static", private=private))
        weights = ["model.safetensors", "README.md", "fitted_rows.safetensors"]
        assert report["added"] == ["config.json", *weights, *ENDPOINT_FILES]
        assert report["new_repository"] and not report["new_branch"]
        assert report["url"] == f"{hub.url}/pqpp/static"
        predict = f"predict({PROMPTS!r}).tolist()))"
        pulled = run(f"print(json.dumps(Predictor.from_pretrained('pqpp/static').{predict}")
        assert pulled == Predictor.from_pretrained("static").predict(PROMPTS).tolist()
        if not private:  # as Inference Endpoints load the handler
            served = run(HANDLER + f"print(json.dumps([handler({{'inputs': {PROMPTS!r}}}), rr]))")
            assert [list(row.values()) for row in served[0]] == [pulled[0], [None] * 10, pulled[2]]
            rr = Predictor.from_pretrained("static").targets.index("mean_rr")
            assert served[1] == [{"mean_rr": pytest.approx(pulled[0][rr])}, {"mean_rr": None}]
            code = HANDLER + "print(json.dumps(open(folder + '/requirements.txt').read()))"
            assert "pqpp" in run(code)
        repository = hub.hub.store.repositories["model", "pqpp/static"]
        assert repository.private == private
        assert repository.branches["main"] == report["commit"]
        # The Hub's initial commit, and one more.
        assert len(repository.commits) == 2

    def test_card_names_repository_and_second_push_is_empty(self, run):
        code = "from pqpp_models.text.ridge.fitting import fit\n"
        code += (
            "fit([f'{n} cats ' + 'x ' * (n % 7) for n in range(30)], list(range(30)), 'x_score')"
        )
        run(code + ".save_pretrained('mine')\nprint(0)")
        first = run(push_code("mine", "pqpp/mine", anyway=True))
        saved_card, text = run(
            "from huggingface_hub import hf_hub_download\n"
            "paths = 'mine/README.md', hf_hub_download('pqpp/mine', 'README.md')\n"
            "print(json.dumps([open(path).read() for path in paths]))"
        )
        assert first["commit"]
        assert 'from_pretrained("pqpp/mine")' in text
        assert text == saved_card.replace("FOLDER_OR_REPOSITORY", "pqpp/mine") != saved_card
        assert run(push_code("mine", "pqpp/mine", anyway=True))["commit"] is None

    def test_pushes_only_model_and_tokenizer_files(self, run, hub, model):
        (model / "tokenizer.json").write_text("{}")
        (model / "secret.pickle").write_bytes(b"no")
        (model / "run.py").write_text("no")
        report = run(push_code(str(model), "pqpp/m"))
        names = {"config.json", "model.safetensors", "fitted_rows.safetensors", "README.md"}
        assert set(report["added"]) == {*names, "tokenizer.json", *ENDPOINT_FILES}
        repository = hub.hub.store.repositories["model", "pqpp/m"]
        files = repository.commits[report["commit"]].files
        assert sorted(files) == [".gitattributes", *sorted(report["added"])]

    def test_pushes_to_new_branch(self, run, hub, model):
        first = run(push_code("n_words", "pqpp/m"))
        code = push_code(str(model), "pqpp/m", revision="try/2", commit_message="second try")
        report = run(code)
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


class TestDryRun:
    def test_dry_run_writes_nothing_and_reports_the_push(self, run, hub, model):
        for folder, branch in ((str(model), None), ("n_words", None), (str(model), "side")):
            before = len(list_writes(hub))
            planned = run(push_code(folder, "pqpp/m", revision=branch, dry_run=True))
            assert len(list_writes(hub)) == before
            pushed = run(push_code(folder, "pqpp/m", revision=branch))
            assert planned["commit"] is None and pushed["commit"]
            for report in (planned, pushed):
                del report["commit"], report["dry_run"]
            assert planned == pushed


class TestRefusals:
    @pytest.mark.parametrize(
        ("token", "message"),
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
    def test_rejects_invalid_tokens(self, run, hub, token, message):
        check_error(run(push_code("n_words", "pqpp/m"), token), message, "'pqpp/m'")
        assert not hub.hub.store.repositories
        report = run(push_code("n_words", "pqpp/m", dry_run=True), token)
        assert report["commit"] is None
        assert report["added"] == ["config.json", "README.md", *ENDPOINT_FILES]

    def test_rejects_private_push_to_public_repository(self, run, hub):
        run(push_code("n_words", "pqpp/m"))
        before = len(list_writes(hub))
        check_error(run(push_code("n_synsets", "pqpp/m", private=True)), "exists and is public")
        assert len(list_writes(hub)) == before

    def test_rejects_invalid_card_metadata(self, run, hub, model):
        (model / "README.md").write_text("---\nlicense: [\n---\n")
        check_error(run(push_code(str(model), "pqpp/m")), "metadata at the top of README.md")

    def test_rejects_damaged_or_missing_model(self, run, hub, model, tmp_path):
        weights = (model / "model.safetensors").read_bytes()
        (model / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
        kind, message = run(push_code(str(model), "pqpp/m"))
        assert kind == "ModelError" and "does not match" in message
        kind, message = run(push_code(str(tmp_path / "none"), "pqpp/m"))
        assert kind == "ModelError" and "is not a folder" in message
        assert not hub.requests


class TestConcurrentPush:
    def test_rejects_push_after_concurrent_commit(self, run, hub, model):
        run(push_code("n_words", "pqpp/m"))
        code = """
from huggingface_hub import HfApi
before = HfApi.create_commit
def commit(self, *arguments, **details):
    HfApi.create_commit = before
    HfApi().upload_file(path_or_fileobj=b"x", path_in_repo="other.txt", repo_id="pqpp/m")
    return before(self, *arguments, **details)
HfApi.create_commit = commit
"""
        result = run(code + push_code(str(model), "pqpp/m"))
        check_error(result, "was changed by someone else; review the change and try again")
