"""VISTAR's scores with tiny random models for all roles."""

import numpy as np
import pytest

pytest.importorskip("cv2", reason="geometry needs pqpp[assess]")
pytest.importorskip("torch")

from PIL import Image
from support.tiny_vision import save_vision

from pqpp_feedback.assess.assessor import format_evidence
from pqpp_feedback.assess.pictures import Picture, find_pictures
from pqpp_feedback.assess.run import assess
from pqpp_feedback.assess.verdicts import read_verdicts, rescore
from pqpp_feedback.vistar.scores.characters import Characters
from pqpp_feedback.vistar.scores.composed_scene import ComposedScene
from pqpp_feedback.vistar.scores.geometry import Geometry
from pqpp_feedback.vistar.scores.light import Light
from pqpp_feedback.vistar.scores.penetration import PenetrationScore
from pqpp_feedback.vistar.vision import Vision

SCORES = (Light, ComposedScene, Characters, PenetrationScore, Geometry)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return save_vision(tmp_path_factory.mktemp("models"))


@pytest.fixture
def pictures(tmp_path):
    random = np.random.default_rng(0)
    about = {"light": "light from upper-left", "count": 2, "panels": "a cat; a dog"}
    about |= {"subject": "cat", "layout": "1x2", "objects": "cat; dog"}
    folder = tmp_path / "images"
    for number, size in enumerate(((60, 40), (33, 80), (40, 40))):
        (folder / str(number)).mkdir(parents=True)
        pixels = random.integers(0, 255, (*size, 3), np.uint8)
        Image.fromarray(pixels).save(folder / str(number) / "sdxl_0.png")
    prompts = [{"prompt_id": str(n), "prompt": "a cat", **about} for n in range(3)]
    return find_pictures(folder, prompts)[0]


@pytest.mark.parametrize("score", SCORES)
def test_scores_run_and_rescore(score, models, pictures, tmp_path):
    assessor = score(Vision(models, "cpu"))
    assess(pictures, [assessor], tmp_path / "v.parquet", batch_size=2)
    rows = list(read_verdicts(tmp_path / "v.parquet"))
    assert len(rows) == 3
    for row in rows:
        assert row["score"] is None or 0 <= row["score"] <= 1
        assert row["reason"] and row["routine"].startswith("after-vistar-")
    assert list(rescore(rows, [score()])) == rows
    assess(pictures[::-1], [score(Vision(models, "cpu"))], tmp_path / "w.parquet", batch_size=1)
    assert (tmp_path / "w.parquet").read_bytes() == (tmp_path / "v.parquet").read_bytes()


def test_scores_share_model_outputs(models, pictures, tmp_path):
    vision = Vision(models, "cpu")
    light, penetration = Light(vision), PenetrationScore(vision)
    images, calls = [Image.open(p.path) for p in pictures], []
    in_memory = [Picture(tmp_path, p.prompt, p.image_id, about=p.about) for p in pictures]
    vision.get_model("depth").model.register_forward_hook(lambda *_: calls.append(1))
    light.observe(images, pictures)
    evidence = penetration.observe(images, pictures)
    assert len(calls) == len(pictures)
    assert format_evidence(evidence) == format_evidence(penetration.observe(images, in_memory))
