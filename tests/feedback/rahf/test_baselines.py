"""CLIP as it is: the similarity, and what its gradient shows."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="baselines need torch")
transformers = pytest.importorskip("transformers", reason="baselines need transformers")

from support.tiny_models import save_clip  # noqa: E402

from pqpp_feedback.rahf.bench import similarity_and_gradient  # noqa: E402

IMAGES = list(np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), dtype=np.uint8))
PROMPTS = ["a red cat", "a dog", "birds"]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = save_clip(tmp_path_factory.mktemp("clip"))
    processor = transformers.AutoProcessor.from_pretrained(folder)
    return transformers.CLIPModel.from_pretrained(folder).eval(), processor


def test_similarity_is_the_cosine(clip):
    found, _ = similarity_and_gradient(*clip, IMAGES, PROMPTS, 16)
    batch = clip[1](images=IMAGES, text=PROMPTS, return_tensors="pt", padding=True)
    with torch.no_grad():
        logits = clip[0](**batch).logits_per_image.diagonal() / clip[0].logit_scale.exp()
    assert np.allclose(found, logits.numpy(), atol=1e-5)


def test_a_gradient_heatmap_is_the_gradient(clip):
    _, found = similarity_and_gradient(*clip, IMAGES[:1], PROMPTS[:1], 16)
    assert found.shape == (1, 16, 16) and found.min() >= 0 and found.max() == pytest.approx(1)
    # Against finite differences of the similarity at the strongest pixel and a weak one.
    batch = clip[1](images=IMAGES[:1], text=PROMPTS[:1], return_tensors="pt", padding=True)

    def similarity(pixels):
        out = clip[0](**{**batch, "pixel_values": pixels})
        return (out.logits_per_image / clip[0].logit_scale.exp()).item()

    def size_at(row, column):
        total = 0.0
        for channel in range(3):
            step = torch.zeros_like(batch["pixel_values"])
            step[0, channel, row, column] = 0.05
            up, down = (similarity(batch["pixel_values"] + sign * step) for sign in (1, -1))
            total += abs(up - down)
        return total

    with torch.no_grad():
        strong = np.unravel_index(found[0].argmax(), (16, 16))
        weak = np.unravel_index(np.argsort(found[0], axis=None)[40], (16, 16))
        ratio = size_at(*weak) / size_at(*strong)
    assert ratio == pytest.approx(float(found[0][weak]), abs=0.05)
