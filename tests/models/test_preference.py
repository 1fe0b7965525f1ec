"""Off-the-shelf scorers on a small random CLIP-like model."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the scorers need torch")
pytest.importorskip("transformers", reason="the scorers need transformers")
Image = pytest.importorskip("PIL.Image", reason="the scorers need pillow")

from support.tiny_models import save_clip  # noqa: E402

from pqpp_models.clip.preference import SCORERS, PreferencePredictor  # noqa: E402

BLACK, WHITE = (np.full((16, 16, 3), value, dtype=np.uint8) for value in (0, 255))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(save_clip(tmp_path_factory.mktemp("clip")))


def cosine(folder, prompt, image):
    from transformers import CLIPModel, CLIPProcessor

    model, processor = CLIPModel.from_pretrained(folder), CLIPProcessor.from_pretrained(folder)
    inputs = processor(text=[prompt], images=[Image.fromarray(image)], return_tensors="pt")
    with torch.inference_mode():
        output = model(**inputs)
        return (output.logits_per_image / model.logit_scale.exp()).item()


def test_the_scores_are_those_of_the_papers(folder):
    rows = [{"prompt": "a cat", "images": [WHITE]}]
    found = {
        name: PreferencePredictor.from_folder(name, folder).predict(rows, "mean_hbpp")[0, 0]
        for name in SCORERS
    }
    plain = cosine(folder, "a cat", WHITE)
    assert found["clip_score"] == pytest.approx(
        2.5 * max(0, cosine(folder, "A photo depicts a cat", WHITE)), abs=1e-5
    )
    assert found["pick_score"] == pytest.approx(np.exp(2.6592) * plain, rel=1e-4)
    assert found["hps_v2"] == pytest.approx(100 * plain, rel=1e-4)


def test_a_prompt_gets_the_mean_over_its_images_and_models(folder):
    scorer = PreferencePredictor.from_folder("pick_score", folder)
    alone = [scorer.predict([{"prompt": "a", "images": [i]}])[0, 0] for i in (BLACK, WHITE)]
    both = scorer.predict([{"prompt": "a", "glide_images": [BLACK], "sdxl_images": [WHITE]}])
    assert both[0] == pytest.approx([*alone, np.mean(alone)], rel=1e-5)
