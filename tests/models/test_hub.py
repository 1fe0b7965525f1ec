"""Loading a predictor from the Hub with the real client, in separate processes."""

import json
from pathlib import Path

import pytest
from support import local_hub
from support.processes import run_warm

import pqpp_models

LOAD = """
import json
from pqpp_models import Predictor
predictor = Predictor.from_pretrained(REPOSITORY, **OPTIONS)
print(json.dumps(predictor.predict(["a man near a wave"], "mean_rr").tolist()))
"""


@pytest.fixture(scope="module")
def hub():
    with local_hub.serve() as running:
        yield running


@pytest.fixture(scope="module")
def pushed(hub, ridge, tmp_path_factory) -> str:
    """A repository with a predictor, and with files that must not be fetched."""
    folder = ridge.save_pretrained(tmp_path_factory.mktemp("pushed") / "model")
    (folder / "training.pickle").write_bytes(b"not to be fetched")
    (folder / "run_me.py").write_text("raise SystemExit")
    home = tmp_path_factory.mktemp("home")
    code = f"""
from huggingface_hub import HfApi
api = HfApi()
api.create_repo("pqpp/ridge-test", private=True)
api.upload_folder(repo_id="pqpp/ridge-test", folder_path={str(folder)!r})
"""
    done = run_warm(code, home, **hub.environment(home))
    assert done.returncode == 0, done.stderr
    return "pqpp/ridge-test"


def test_loads_from_hub_and_cache(hub, pushed, ridge, tmp_path):
    environment = hub.environment(tmp_path / "home")
    environment["PYTHONPATH"] = str(Path(pqpp_models.__file__).parents[1])
    expected = ridge.predict(["a man near a wave"], "mean_rr").tolist()
    for offline, options in (("0", {}), ("0", {"revision": "main"}), ("1", {})):
        prelude = f"REPOSITORY, OPTIONS = {pushed!r}, {options!r}\n"
        done = run_warm(prelude + LOAD, tmp_path, **{**environment, "HF_HUB_OFFLINE": offline})
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1]) == expected
    fetched = {path.name for path in (tmp_path / "home").rglob("snapshots/*/*")}
    expected = {"config.json", "model.safetensors", "README.md", "fitted_rows.safetensors"}
    assert fetched == expected
