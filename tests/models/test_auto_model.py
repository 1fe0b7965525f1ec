"""`pipeline`, `AutoModel` and `AutoConfig` for predictors without torch."""

import filecmp
import shutil

import pytest

torch = pytest.importorskip("torch", reason="transformers' models need torch")
pytest.importorskip("transformers", reason="needs transformers")

from support.processes import run_warm  # noqa: E402
from support.tiny_models import REPOSITORY  # noqa: E402

import pqpp  # noqa: E402
from pqpp_backbones.errors import ModelError  # noqa: E402
from pqpp_models import Predictor, registration, registry  # noqa: E402

PROMPTS = ["a red cat", "two dogs on a table", "a man riding a wave on a surfboard", "trees"] * 5


@pytest.fixture(scope="module")
def ridge(tmp_path_factory):
    """The folder of a fitted predictor, and its predictions."""
    prompts = [f"{number} {prompt}" for number, prompt in enumerate(PROMPTS)]
    scores = [[float(len(prompt) % 7)] for prompt in prompts]
    folder = tmp_path_factory.mktemp("fitted") / "mine"
    pqpp.fit(prompts, scores, ["mean_rating"]).save_pretrained(folder)
    return str(folder), Predictor.from_pretrained(folder).predict(PROMPTS)


@pytest.fixture
def transformers():
    registration.register()
    import transformers

    return transformers


def test_default_pipeline_works_offline(tmp_path):
    code = """
import pqpp_autoload; pqpp_autoload.start()
from transformers import pipeline
print(pipeline("prompt-performance-prediction")("a cat")["alignment"])
print(pipeline("prompt-performance-prediction", model="static-train")("a cat")["mean_hbpp"])
print(pipeline("prompt-performance-prediction")("ein Hund auf dem Sofa")["alignment"])
"""
    done = run_warm(code, tmp_path, PYTHONPATH=str(REPOSITORY), HF_HUB_OFFLINE="1")
    result = [float(line) for line in done.stdout.splitlines()]
    shipped = [("static", "alignment"), ("static-train", "mean_hbpp")]
    expected = [Predictor.from_pretrained(n).predict(["a cat"], t)[0, 0] for n, t in shipped]
    assert result == pytest.approx([*expected, float("nan")], abs=1e-6, nan_ok=True), done.stderr


def test_auto_classes_load_fitted_folder(ridge, transformers):
    folder, expected = ridge
    config = transformers.AutoConfig.from_pretrained(folder)
    assert (config.targets, config.predictor_type) == (["mean_rating"], "ridge")
    model = transformers.AutoModel.from_pretrained(folder)
    assert torch.allclose(model(PROMPTS).scores, torch.from_numpy(expected), atol=1e-6)
    pipe = transformers.pipeline(registration.TASK, model=folder)
    assert [row["mean_rating"] for row in pipe(PROMPTS)] == pytest.approx(expected[:, 0].tolist())
    assert pipe("trees", targets="mean_rating").keys() == {"mean_rating"}


def test_round_trip(ridge, transformers, tmp_path):
    folder, _ = ridge
    transformers.AutoModel.from_pretrained(folder).save_pretrained(tmp_path / "again")
    names = ["config.json", "model.safetensors", "README.md"]
    same, _, _ = filecmp.cmpfiles(folder, tmp_path / "again", names, shallow=False)
    assert same == names


def test_auto_model_rejects_other_weights(ridge, transformers, tmp_path):
    folder = shutil.copytree(ridge[0], tmp_path / "damaged")
    shutil.copy(registry.SHIPPED / "static" / "model.safetensors", folder)
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        transformers.AutoModel.from_pretrained(str(folder))
