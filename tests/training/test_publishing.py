"""From a recipe by `accelerate launch` to the Hub on loopback, and back in a fresh process."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from support import local_hub  # noqa: E402
from support.processes import run_python  # noqa: E402
from support.tiny_models import REPOSITORY, save_clip, save_text_encoder  # noqa: E402

from pqpp_models import Predictor  # noqa: E402

pytestmark = pytest.mark.slow
PULL = """
import json, sys
import numpy as np
from pqpp_models import Predictor
rows = json.loads(sys.stdin.read())
predictor = Predictor.from_pretrained("pqpp/made")
from transformers import AutoModel, pipeline
assert type(AutoModel.from_pretrained("pqpp/made")) is type(predictor.model)
found = pipeline("prompt-performance-prediction", model="pqpp/made")(rows)
print(json.dumps([[list(one.values()) for one in found], predictor.predict(rows).tolist()]))
"""


@pytest.fixture
def hub():
    with local_hub.serve() as running:
        yield running


def parquet(folder, columns):
    datasets = pytest.importorskip("datasets")
    for name in ("train", "validation"):
        (folder / "data").mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_dict(columns).to_parquet(folder / "data" / f"{name}.parquet")
    return str(folder)


def text(folder):
    rows = ["a cat", "", "three red dogs"]
    encoder = str(save_text_encoder(folder / "encoder"))
    recipe = {"subset": "sample", "model": encoder, "targets": ["mean_hbpp", "mean_rr"]}
    return "bert", recipe, rows


def clip(folder):
    from PIL import Image

    files = []
    for number in range(16):
        files.append([str(folder / f"{number}.png")])
        gray = np.full((16, 16, 3), 16 * number, dtype=np.uint8)
        Image.fromarray(gray).save(files[-1][0])
    scores = [number / 8 - 0.5 for number in range(16)]
    columns = {"prompt": ["a cat"] * 16, "images": files, "mean_hbpp": scores}
    recipe = {"dataset": parquet(folder / "made", columns), "model": str(save_clip(folder / "c"))}
    recipe |= {"targets": ["mean_hbpp"], "tuning": "lora"}
    return "clip", recipe, [{"prompt": "a cat", "images": one} for one in files[:3]]


def cnn(folder):
    random = np.random.default_rng(0)
    matrices = [np.corrcoef(random.normal(size=(4, 6))).tolist() for _ in range(16)]
    columns = {"prompt": ["a"] * 16, "similarities": matrices}
    columns["mean_p10"] = [number / 16 for number in range(16)]
    recipe = {"dataset": parquet(folder / "made", columns), "targets": ["mean_p10"]}
    return "correlation_cnn", recipe, [{"similarities": one} for one in matrices[:3]]


def launch(script, recipe, folder, *flags, **environment):
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(recipe))  # JSON is YAML
    command = [sys.executable, "-m", "accelerate.commands.launch", "--cpu"]
    command += ["--num_processes", "1", str(REPOSITORY / "training" / f"train_{script}.py")]
    command += ["--config", str(path), "--output_dir", str(folder / "run"), *flags]
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", **environment}
    more = {"env": env, "capture_output": True, "text": True, "timeout": 900}
    done = subprocess.run(command, cwd=folder, **more)
    assert done.returncode == 0, done.stderr[-3000:]
    (folder / "said.txt").write_text(done.stdout)
    return folder / "run"


@pytest.mark.parametrize("make", [text, clip, cnn], ids=lambda make: make.__name__)
def test_what_is_pushed_predicts_the_same_when_pulled(make, hub, tmp_path):
    script, recipe, rows = make(tmp_path)
    recipe |= {"num_train_epochs": 1, "per_device_train_batch_size": 8, "learning_rate": 1e-3}
    recipe |= {"push_to_hub": True, "hub_model_id": "pqpp/made", "hub_private_repo": True}
    here = hub.environment(tmp_path / "home")
    run = launch(script, recipe, tmp_path, **here)
    repository = hub.hub.store.repositories["model", "pqpp/made"]
    assert repository.private
    said = (tmp_path / "said.txt").read_text()
    assert "pushed to pqpp/made: commit " in said and f"at {hub.url}/pqpp/made\n" in said
    assert 'from_pretrained("pqpp/made")' in (run / "model" / "README.md").read_text()
    expected = Predictor.from_pretrained(run / "model").predict(rows)
    # Another home: nothing is in its cache.
    there = {**hub.environment(tmp_path / "elsewhere"), "PYTHONPATH": str(REPOSITORY)}
    done = run_python(
        f"import io, sys; sys.stdin = io.StringIO({json.dumps(rows)!r})\n"
        "import pqpp_autoload; pqpp_autoload.start()\n" + PULL,
        tmp_path,
        **there,
    )
    assert done.returncode == 0, done.stderr
    for found in json.loads(done.stdout.splitlines()[-1]):
        np.testing.assert_allclose(found, expected, atol=1e-6)
