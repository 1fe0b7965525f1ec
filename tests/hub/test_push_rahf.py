"""Errors in loading RAHF models and encoders from a Hub on loopback."""

import pytest

pytest.importorskip("torch", reason="RAHF needs torch")
pytest.importorskip("transformers", reason="RAHF needs transformers")

from support import local_hub

from pqpp_backbones.pretrained import explain_failure

CALL_CODE = """
from pqpp_files.errors import PqppError
def call(function, *arguments, **details):
    try:
        return function(*arguments, **details)
    except PqppError as error:
        assert error.__cause__ is None
        assert error.__suppress_context__ or error.__context__ is None
        return [type(error).__name__, str(error)]
"""
LOADERS = {
    "RAHF": "from pqpp_feedback.rahf import FeedbackModel\nload = FeedbackModel.from_pretrained",
    "CLIP": "from pqpp_backbones.images.embedding import load_backbone as load",
    "towers": "import pqpp_training.train_rahf as script\n"
    "both = lambda name: script.RahfRecipe(vision_model=name, text_model=name)\n"
    "load = lambda name: script.join_towers(both(name), {})",
}


@pytest.fixture
def run(state, tmp_path):
    """Return a function that runs Python and returns its `result`; no token is printed."""

    def run_code(code, token="hf_tester"):
        tests = str(local_hub.__file__).rsplit("/support/", 1)[0]
        setup = f"import sys\nsys.path.insert(0, {tests!r})\n"
        outcome = state.user.run(setup + CALL_CODE + code, token, tmp_path)
        assert outcome.error is None, outcome.error
        for secret in (*local_hub.DEFAULT_ACCOUNTS, "hf_secret"):
            # The debug log, which contains requests, is not checked.
            assert secret not in f"{outcome.value}{outcome.stdout}{outcome.stderr}"
        return outcome.value

    return run_code


@pytest.mark.parametrize("token", ["hf_secret\n", "hf_secret\u00e9", "hf_secret\r\nX: y"])
def test_malformed_token_is_never_printed(run, state, token):
    load = f"result = call(load, '{state.owner}/none', token={token!r})"
    kind, text = run(f"{LOADERS['RAHF']}\n{load}")
    assert kind == "ModelError" and "access token, which is malformed" in text


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("hf_expired", "refuses the access token: it has expired; create a new one"),
        ("hf_unknown", "refuses the access token: it is not valid; check the token, or run"),
        ("hf_tester", "does not exist or is private"),
    ],
)
def test_load_errors_give_the_hubs_reason(run, state, loader, token, reason):
    load = f"result = call(load, '{state.owner}/none')"
    kind, text = run(f"{LOADERS[loader]}\n{load}", token)
    assert kind == "ModelError" and "\n" not in text
    assert reason in text and "valid model identifier" not in text


def test_client_messages_are_shown_only_for_folders(tmp_path):
    error = ValueError("no vision_config in\nhf_secret")
    assert explain_failure(error, str(tmp_path)) == "no vision_config in hf_secret"
    message = explain_failure(error, str(tmp_path), "a/b")
    assert message == "a/b is incomplete, or a model of another type: ValueError"
