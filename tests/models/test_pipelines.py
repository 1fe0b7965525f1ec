"""`pipeline("prompt-performance-prediction")` for the neural predictors."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pipelines need torch")
pytest.importorskip("transformers", reason="pipelines need transformers")

from support.tiny_models import save_bert, save_clip  # noqa: E402

from pqpp_models import Predictor, registration  # noqa: E402

GRAY = np.full((16, 16, 3), 128, dtype=np.uint8)


@pytest.fixture(scope="module")
def text_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text") / "saved"
    return str(save_bert(folder, ["mean_rr", "mean_hbpp"]))


@pytest.fixture
def make_pipeline():
    registration.register()
    from transformers import pipeline

    return lambda model, **options: pipeline(registration.TASK, model=model, **options)


def test_pipeline_matches_predictor(text_folder, make_pipeline):
    pipe = make_pipeline(text_folder)
    result = pipe(prompts := ["a cat", "a red dog", "?"])
    expected = Predictor.from_pretrained(text_folder).predict(prompts)
    assert [list(one) for one in result] == [["mean_rr", "mean_hbpp"]] * 3
    assert np.allclose([list(one.values()) for one in result], expected, atol=1e-6)
    assert pipe("a cat", num_workers=0) == pytest.approx(result[0])
    assert pipe(["a cat"], targets="mean_hbpp", batch_size=1)[0].keys() == {"mean_hbpp"}
    assert pipe.predictor.batch_size == 64  # options apply to one call
    pipe = make_pipeline(text_folder, targets="mean_rr")
    assert pipe({"prompt": "a cat"}) == {"mean_rr": pytest.approx(result[0]["mean_rr"])}


def test_pipeline_accepts_images(make_pipeline, tmp_path):
    from PIL import Image
    from transformers import AutoProcessor

    from pqpp_models.clip.modeling_clip_predictor import ClipForPerformancePrediction
    from pqpp_models.clip.predictor import ClipPredictor

    backbone = str(save_clip(tmp_path / "clip"))
    model = ClipForPerformancePrediction.from_backbone(backbone)
    predictor = ClipPredictor(model, AutoProcessor.from_pretrained(backbone))
    folder = str(predictor.save_pretrained(tmp_path / "saved"))
    row = {"prompt": "a cat", "images": Image.fromarray(GRAY)}
    expected = predictor.predict([{**row, "images": [GRAY]}])[0, 0]
    assert make_pipeline(folder)(row) == {"mean_hbpp": pytest.approx(expected)}
