"""Downloads without a network: fast failure, no retries, and errors that name the fix."""

import json
import socket
import threading
import time

import pytest

from pqpp_cli.main import main
from pqpp_files.errors import PqppError
from pqpp_hub import pull

CLOSED_PORT = "http://127.0.0.1:9"


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


def test_reachable_host(monkeypatch):
    monkeypatch.setattr(pull, "REACHED_SECONDS", 60.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert pull.is_reachable(f"http://127.0.0.1:{server.getsockname()[1]}/x")
    assert not pull.is_reachable(CLOSED_PORT)


def test_slow_name_lookup_times_out(endless_lookup):
    assert not pull.is_reachable("https://example.invalid")
    assert endless_lookup == []


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


def test_repository_is_checked_before_the_model(shared, tmp_path):
    """Downloaded repositories are checked like local folders."""
    pytest.importorskip("torch", reason="encoders need torch")
    from support.tiny_models import save_text_encoder

    folder = save_text_encoder(tmp_path / "encoder")
    owner = shared.owner
    code = (
        "from huggingface_hub import HfApi\n"
        "from pqpp_backbones.encoder.pretrained import load_text_encoder\n"
        "from pqpp_backbones.pretrained import load_tokenizer\n"
        "HfApi().create_repo({0!r}, exist_ok=True)\n"
        "HfApi().upload_folder(repo_id={0!r}, folder_path={1!r})\n"
        "try:\n"
        "    result = [str(load_text_encoder({0!r}).config.num_hidden_layers)]\n"
        "    result.append(str(len(load_tokenizer({0!r}))))\n"
        "except ValueError as error:\n"
        "    result = [type(error).__name__, str(error)]\n"
    )

    def load(name, **fields):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | fields))
        outcome = shared.user.run(code.format(f"{owner}/{name}", str(folder)))
        (folder / "config.json").write_text(json.dumps(config))
        assert outcome.error is None, outcome.error
        return outcome.value

    assert load("sound") == ["2", "57"]
    kind, message = load("layers", num_hidden_layers=10**7)
    assert kind == "ModelError" and "'num_hidden_layers' is 1e+07, but the weights have" in message
    kind, message = load("code", auto_map={"AutoModel": "me--x.X"})
    assert kind == "ModelError" and "needs custom code" in message
    assert "\n" not in message
