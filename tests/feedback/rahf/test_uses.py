"""Uses of feedback: pipeline, masks, inpainting and selection."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="RAHF needs torch")
pytest.importorskip("transformers", reason="RAHF needs transformers")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.tiny_rahf import PROMPTS, make_diffusion, make_feedback  # noqa: E402

from pqpp_feedback import registration  # noqa: E402
from pqpp_feedback.assess.pictures import find_pictures  # noqa: E402
from pqpp_feedback.errors import FeedbackError  # noqa: E402
from pqpp_feedback.rahf.uses import heatmap_to_mask  # noqa: E402


def make_picture(seed, size=(32, 32)):
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


@pytest.fixture(scope="module")
def feedback():
    return make_feedback()


def test_pipeline_returns_scores_heatmaps_and_words(feedback, tmp_path):
    from transformers import pipeline

    registration.register()
    saved = feedback.save_pretrained(tmp_path / "saved")
    pipe = pipeline("rich-human-feedback", model=str(saved), device="cpu")
    image = make_picture(0, (40, 24))
    output = pipe({"image": image, "prompt": PROMPTS[0]}, threshold=0.0)
    (expected,) = feedback.predict([image], [PROMPTS[0]])
    assert output["scores"] == pytest.approx(expected.scores, abs=1e-6)
    assert {image.size for image in output["heatmaps"].values()} == {(40, 24)}
    words = [PROMPTS[0][w["start"] : w["end"]] for w in output["misaligned_words"]]
    assert words == PROMPTS[0].split()
    outputs = pipe(({"image": image, "prompt": PROMPTS[0]},) * 3, batch_size=2)
    assert len(outputs) == 3 and outputs[2]["scores"] == pytest.approx(expected.scores, abs=1e-5)
    stream = pipe(({"image": image, "prompt": prompt} for prompt in PROMPTS[:1]), num_workers=1)
    assert [entry["scores"] for entry in stream] == [output["scores"]]
    for incomplete in ("a.png", {"image": image}, {"image": image, "prompt": None}):
        with pytest.raises(FeedbackError):
            pipe(incomplete)


@pytest.mark.slow
def test_transformers_knows_the_pipeline(feedback, tmp_path):
    from support.processes import run_warm

    saved = feedback.save_pretrained(tmp_path / "saved")
    make_picture(0).save(tmp_path / "a.png")
    code = f"""
import json
from transformers import AutoModel, AutoProcessor, pipeline
pipe = pipeline("rich-human-feedback", model={str(saved)!r}, device="cpu")
found = pipe({{"image": "a.png", "prompt": "a red cat"}}, threshold=0.0)
loaded = type(AutoModel.from_pretrained({str(saved)!r})).__name__
print(json.dumps([found["scores"], len(found["misaligned_words"]), loaded]))
"""
    process = run_warm(code, tmp_path)
    assert process.returncode == 0, process.stderr[-2000:]
    scores, n_words, loaded = json.loads(process.stdout.splitlines()[-1])
    (expected,) = feedback.predict([tmp_path / "a.png"], ["a red cat"])
    assert scores == pytest.approx(expected.scores, abs=1e-6)
    assert n_words == 3 and loaded == "RahfForRichFeedback"


def test_mask_has_threshold_and_rim():
    heatmap = np.zeros((20, 20))
    heatmap[10, 10], heatmap[0, 0] = 0.5, 0.4
    mask = np.asarray(heatmap_to_mask(heatmap, (20, 20), 0.45, 0))
    assert np.argwhere(mask).tolist() == [[10, 10]]
    dilated = np.asarray(heatmap_to_mask(heatmap, (20, 20), 0.45, 0.3))
    assert (dilated > 0).sum() == 13 * 13 and set(np.unique(dilated)) == {0, 255}


@pytest.mark.slow
def test_inpainting_keeps_pixels_outside_the_mask(feedback):
    pytest.importorskip("diffusers", reason="inpainting needs diffusers")
    from pqpp_feedback.rahf.uses import inpaint

    image = make_picture(3)
    (expected,) = feedback.predict([image], ["a cat"])
    threshold = float(np.quantile(expected.heatmaps["implausibility"], 0.8))
    options = {"candidates": 3, "threshold": threshold, "keep_original": False}
    options |= {"num_inference_steps": 2, "height": 32, "width": 32}
    result = inpaint(make_diffusion(inpainting=True), feedback, image, "a cat", **options)
    outside = np.asarray(result.mask) == 0
    assert 0 < outside.mean() < 1
    for candidate in result.candidates:
        assert np.array_equal(np.asarray(candidate)[outside], np.asarray(image)[outside])
        assert not np.array_equal(np.asarray(candidate), np.asarray(image))
    assert result.best == int(np.argmax(result.scores)) and len(set(result.scores)) == 3
    assert result.image is result.candidates[result.best]


def test_selects_best_image_above_threshold(feedback, tmp_path):
    from pqpp_feedback.rahf.uses import select_best_images, write_finetuning_set

    pictures = [make_picture(n) for n in range(4)]
    candidates = [(PROMPTS[0], pictures), (PROMPTS[1], [make_picture(9)])]
    scores = [
        [entry.scores["overall"] for entry in feedback.predict(images, [prompt] * len(images))]
        for prompt, images in candidates
    ]
    selected = list(select_best_images(feedback, [*candidates, ("a", [])], "overall", 0.0))
    assert [image.prompt for image in selected] == list(PROMPTS[:2])
    assert selected[0].image is candidates[0][1][int(np.argmax(scores[0]))]
    assert list(select_best_images(feedback, candidates, "overall", 1.0)) == []
    folder = write_finetuning_set(selected, tmp_path / "chosen")
    assert [image.prompt for image in find_pictures(folder)[0]] == list(PROMPTS[:2])
    with pytest.raises(FeedbackError, match="already exists; choose a new folder"):
        write_finetuning_set(selected, tmp_path / "chosen")
    with pytest.raises(FeedbackError, match="no image was selected"):
        write_finetuning_set([], tmp_path / "none")
