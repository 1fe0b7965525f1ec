"""Training with `accelerate launch`, pushing to a Hub on loopback, and pulling."""

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
PULL_CODE = """
import json, sys
import numpy as np
from pqpp_models import Predictor
rows = json.loads(sys.stdin.read())
predictor = Predictor.from_pretrained("pqpp/made")
from transformers import AutoModel, pipeline
assert type(AutoModel.from_pretrained("pqpp/made")) is type(predictor.model)
results = pipeline("prompt-performance-prediction", model="pqpp/made")(rows)
print(json.dumps([[list(one.values()) for one in results], predictor.predict(rows).tolist()]))
"""


@pytest.fixture
def hub():
    with local_hub.serve() as running:
        yield running


def write_parquet(folder, columns):
    datasets = pytest.importorskip("datasets")
    for name in ("train", "validation"):
        (folder / "data").mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_dict(columns).to_parquet(folder / "data" / f"{name}.parquet")
    return str(folder)


def prepare_text(folder):
    rows = ["a cat", "", "three red dogs"]
    encoder = str(save_text_encoder(folder / "encoder"))
    recipe = {"subset": "sample", "model": encoder, "targets": ["mean_hbpp", "mean_rr"]}
    return "bert", recipe, rows


def prepare_clip(folder):
    from PIL import Image

    files = []
    for number in range(16):
        files.append([str(folder / f"{number}.png")])
        pixels = np.full((16, 16, 3), 16 * number, dtype=np.uint8)
        Image.fromarray(pixels).save(files[-1][0])
    scores = [number / 8 - 0.5 for number in range(16)]
    columns = {"prompt": ["a cat"] * 16, "images": files, "mean_hbpp": scores}
    recipe = {"dataset": write_parquet(folder / "made", columns)}
    recipe |= {"model": str(save_clip(folder / "clip"))}
    recipe |= {"targets": ["mean_hbpp"], "tuning": "lora"}
    return "clip", recipe, [{"prompt": "a cat", "images": one} for one in files[:3]]


def prepare_cnn(folder):
    random = np.random.default_rng(0)
    matrices = [np.corrcoef(random.normal(size=(4, 6))).tolist() for _ in range(16)]
    columns = {"prompt": ["a"] * 16, "similarities": matrices}
    columns["mean_p10"] = [number / 16 for number in range(16)]
    recipe = {"dataset": write_parquet(folder / "made", columns), "targets": ["mean_p10"]}
    return "correlation_cnn", recipe, [{"similarities": one} for one in matrices[:3]]


def launch(script, recipe, folder, *flags, **environment):
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(recipe))  # JSON is YAML
    command = [sys.executable, "-m", "accelerate.commands.launch", "--cpu"]
    command += ["--num_processes", "1", str(REPOSITORY / "training" / f"train_{script}.py")]
    command += ["--config", str(path), "--output_dir", str(folder / "run"), *flags]
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", **environment}
    options = {"env": env, "capture_output": True, "text": True, "timeout": 900}
    process = subprocess.run(command, cwd=folder, **options)
    assert process.returncode == 0, process.stderr[-3000:]
    (folder / "log.txt").write_text(process.stdout)
    return folder / "run"


@pytest.mark.parametrize("prepare", [prepare_text, prepare_clip, prepare_cnn])
def test_pulled_model_predicts_the_same(prepare, hub, tmp_path):
    script, recipe, rows = prepare(tmp_path)
    recipe |= {"num_train_epochs": 1, "per_device_train_batch_size": 8, "learning_rate": 1e-3}
    recipe |= {"push_to_hub": True, "hub_model_id": "pqpp/made", "hub_private_repo": True}
    environment = hub.environment(tmp_path / "home")
    run = launch(script, recipe, tmp_path, **environment)
    repository = hub.hub.store.repositories["model", "pqpp/made"]
    assert repository.private
    log = (tmp_path / "log.txt").read_text()
    assert "pushed to pqpp/made: commit " in log and f"at {hub.url}/pqpp/made\n" in log
    assert 'from_pretrained("pqpp/made")' in (run / "model" / "README.md").read_text()
    expected = Predictor.from_pretrained(run / "model").predict(rows)
    # A new home has an empty cache.
    environment = {**hub.environment(tmp_path / "elsewhere"), "PYTHONPATH": str(REPOSITORY)}
    process = run_python(
        f"import io, sys; sys.stdin = io.StringIO({json.dumps(rows)!r})\n"
        "import pqpp_autoload; pqpp_autoload.start()\n" + PULL_CODE,
        tmp_path,
        **environment,
    )
    assert process.returncode == 0, process.stderr
    for predictions in json.loads(process.stdout.splitlines()[-1]):
        np.testing.assert_allclose(predictions, expected, atol=1e-6)
