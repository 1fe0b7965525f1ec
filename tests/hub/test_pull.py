"""Checks of downloads, and pulls without a network: no retries, errors that name the fix."""

import json
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest

from pqpp_cli.main import main
from pqpp_files.errors import PqppError
from pqpp_hub import pull
from pqpp_hub.push import HubError
from pqpp_models.hub import push_to_hub

CLOSED_PORT = "http://127.0.0.1:9"
PUSH_CODE = """
from huggingface_hub import HfApi
HfApi().create_repo({0!r})
HfApi().upload_folder(repo_id={0!r}, folder_path={1!r})
"""
LOAD_ENCODER_CODE = """
from pqpp_backbones.encoder.pretrained import load_text_encoder
from pqpp_backbones.pretrained import load_tokenizer
result = load_text_encoder({0!r}).config.num_hidden_layers, len(load_tokenizer({0!r}))
"""
LOAD_BERT_CODE = """
from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
BertForPerformancePrediction.from_pretrained({0!r})
"""


@pytest.fixture
def endless_lookup(monkeypatch):
    """Make name lookups last longer than the test; the list is empty if nothing waited for them."""
    finished, waits = threading.Event(), []

    def look_up(*_, **__):
        waits.append(finished.wait(60))
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield waits
    finished.set()


@pytest.fixture
def sleeps(monkeypatch):
    """Record the delays between retries."""
    seconds = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


@pytest.fixture
def unreachable(monkeypatch):
    """Set the Hub's address to a closed port."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", CLOSED_PORT)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)


def push_and_run(state, folder, name, code):
    """Push a folder to a repository, and run code that loads it."""
    return state.user.run((PUSH_CODE + code).format(f"{state.owner}/{name}", str(folder)))


def test_reachable_host(monkeypatch):
    monkeypatch.setattr(pull, "REACHED_SECONDS", 60.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert pull.is_reachable(f"http://127.0.0.1:{server.getsockname()[1]}/x")
    assert not pull.is_reachable(CLOSED_PORT)


def test_offline_mode_makes_no_request(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("asked"))
    assert not pull.is_reachable("https://huggingface.co")


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "--dataset", "nobody/nothing"),
        ("predict", "a cat", "--predictor", "nobody/nothing"),
    ],
)
def test_unknown_host_is_not_retried(unreachable, sleeps, words, capsys):
    assert main(words) == 2
    assert sleeps == []
    (line,) = capsys.readouterr().err.splitlines()
    assert "nobody/nothing" in line and "is not cached and the Hub cannot be reached" in line


@pytest.mark.parametrize("revision", ["../../commit", "{}/commit"])
def test_revision_is_no_path(revision, unreachable, tmp_path):
    (tmp_path / "models--a--b/refs").mkdir(parents=True)
    (tmp_path / "models--a--b/snapshots/0").mkdir(parents=True)
    (tmp_path / "commit").write_text("0")
    with pytest.raises(PqppError, match="revision"):
        pull.pull_files("a/b", ["*"], revision.format(tmp_path), str(tmp_path))


def test_dry_run_of_a_push_works_offline(unreachable, sleeps, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_tester")
    report = push_to_hub("n_words", "pqpp/m", dry_run=True)
    assert report.added == ["config.json", "README.md", "handler.py", "requirements.txt"]
    assert "cannot be reached" in report.not_compared
    assert sleeps == []
    with pytest.raises(HubError, match="cannot be reached"):
        push_to_hub("n_words", "pqpp/m")


def test_download_error_names_the_local_folder(monkeypatch, tmp_path, cache, endless_lookup):
    from datasets import load_dataset

    monkeypatch.delenv("PQPP_DATA_DIR", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)
    with pytest.raises(PqppError) as caught:
        load_dataset("pqpp", "pqpp-v1.0", split="validation")
    assert endless_lookup == []
    message = str(caught.value)
    assert message.startswith("pqpp/v1.0/dataset/") and "no connection to raw.github" in message
    assert "PQPP_DATA_DIR" in message and "data_dir=" in message and "\n" not in message


def test_repository_is_checked_before_the_model(state, tmp_path):
    """Downloaded repositories are checked like local folders."""
    pytest.importorskip("torch", reason="encoders need torch")
    from support.tiny_models import save_text_encoder

    folder = save_text_encoder(tmp_path / "encoder")
    config = json.loads((folder / "config.json").read_text())

    def load(name, **fields):
        (folder / "config.json").write_text(json.dumps(config | fields))
        return push_and_run(state, folder, name, LOAD_ENCODER_CODE)

    assert load("sound").value == [2, 57]
    error = load("layers", num_hidden_layers=10**7).error.splitlines()[-1]
    assert "ModelError" in error and "'num_hidden_layers' is 1e+07, but the weights have" in error
    error = load("code", auto_map={"AutoModel": "me--x.X"}).error.splitlines()[-1]
    assert "ModelError" in error and "needs custom code" in error


def test_from_pretrained_checks_a_repository(state, tmp_path):
    pytest.importorskip("torch", reason="the model needs torch")
    checkpoint = Path(__file__).parents[1] / "models/checkpoints/bert"
    folder = shutil.copytree(checkpoint, tmp_path / "bert")
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "other/base"}')
    outcome = push_and_run(state, folder, "bert", LOAD_BERT_CODE)
    assert "ModelError" in outcome.error and "belongs to an adapter; merge" in outcome.error


def test_threads_take_turns_in_offline_mode(unreachable):
    from huggingface_hub import constants

    def load():
        with pull.use_cache_if_unreachable("nobody/other"):
            pass

    thread = threading.Thread(target=load)
    with pull.use_cache_if_unreachable("nobody/nothing"):
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    thread.join()
    assert not constants.HF_HUB_OFFLINE
