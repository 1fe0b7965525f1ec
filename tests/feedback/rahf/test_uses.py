"""What is done with feedback: pipeline, pictures, gallery, inpainting, selection, guidance."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="RAHF needs torch")
pytest.importorskip("transformers", reason="RAHF needs transformers")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.tiny_rahf import PROMPTS, diffusion, tiny_feedback  # noqa: E402

from pqpp_feedback import registration  # noqa: E402
from pqpp_feedback.assess.pictures import find_pictures  # noqa: E402
from pqpp_feedback.errors import FeedbackError  # noqa: E402
from pqpp_feedback.rahf.uses import heatmap_to_mask  # noqa: E402


def picture(seed, size=(32, 32)):
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


@pytest.fixture(scope="module")
def feedback():
    return tiny_feedback()


def test_the_pipeline_returns_scores_heatmaps_and_words(feedback, tmp_path):
    from transformers import pipeline

    registration.register()
    saved = feedback.save_pretrained(tmp_path / "saved")
    pipe = pipeline("rich-human-feedback", model=str(saved), device="cpu")
    image = picture(0, (40, 24))
    found = pipe({"image": image, "prompt": PROMPTS[0]}, threshold=0.0)
    (judged,) = feedback.predict([image], [PROMPTS[0]])
    assert found["scores"] == pytest.approx(judged.scores, abs=1e-6)
    assert {one.size for one in found["heatmaps"].values()} == {(40, 24)}
    words = [PROMPTS[0][w["start"] : w["end"]] for w in found["misaligned_words"]]
    assert words == PROMPTS[0].split()
    many = pipe([{"image": image, "prompt": PROMPTS[0]}] * 3, batch_size=2)
    assert len(many) == 3 and many[2]["scores"] == pytest.approx(judged.scores, abs=1e-5)
    assert pipe.postprocess(pipe.forward(pipe.preprocess({"image": image, "prompt": "a"})))


@pytest.mark.slow
def test_the_pipeline_is_known_without_importing_anything_of_ours(feedback, tmp_path):
    from support.processes import run_warm

    saved = feedback.save_pretrained(tmp_path / "saved")
    picture(0).save(tmp_path / "a.png")
    code = f"""
import json
from transformers import AutoModel, AutoProcessor, pipeline
pipe = pipeline("rich-human-feedback", model={str(saved)!r}, device="cpu")
found = pipe({{"image": "a.png", "prompt": "a red cat"}}, threshold=0.0)
loaded = type(AutoModel.from_pretrained({str(saved)!r})).__name__
print(json.dumps([found["scores"], len(found["misaligned_words"]), loaded]))
"""
    done = run_warm(code, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    scores, n_words, loaded = json.loads(done.stdout.splitlines()[-1])
    (judged,) = feedback.predict([tmp_path / "a.png"], ["a red cat"])
    assert scores == pytest.approx(judged.scores, abs=1e-6)
    assert n_words == 3 and loaded == "RahfForRichFeedback"


def test_a_mask_has_the_threshold_and_the_rim():
    heatmap = np.zeros((20, 20))
    heatmap[10, 10], heatmap[0, 0] = 0.5, 0.4
    assert np.argwhere(np.asarray(heatmap_to_mask(heatmap, (20, 20), 0.45, 0))).tolist() == [
        [10, 10]
    ]
    grown = np.asarray(heatmap_to_mask(heatmap, (20, 20), 0.45, 0.3))
    assert (grown > 0).sum() == 13 * 13 and set(np.unique(grown)) == {0, 255}


@pytest.mark.slow
def test_inpainting_changes_nothing_outside_the_mask(feedback):
    pytest.importorskip("diffusers", reason="inpainting needs diffusers")
    from pqpp_feedback.rahf.uses import inpaint

    image = picture(3)
    (judged,) = feedback.predict([image], ["a cat"])
    level = float(np.quantile(judged.heatmaps["implausibility"], 0.8))
    options = {"candidates": 3, "threshold": level, "keep_original": False}
    options |= {"num_inference_steps": 2, "height": 32, "width": 32}
    found = inpaint(diffusion(inpainting=True), feedback, image, "a cat", **options)
    outside = np.asarray(found.mask) == 0
    assert 0 < outside.mean() < 1
    for one in found.candidates:
        assert np.array_equal(np.asarray(one)[outside], np.asarray(image)[outside])
        assert not np.array_equal(np.asarray(one), np.asarray(image))
    assert found.best == int(np.argmax(found.scores)) and len(set(found.scores)) == 3
    assert found.image is found.candidates[found.best]


def test_the_best_image_above_the_threshold_is_selected(feedback, tmp_path):
    from pqpp_feedback.rahf.uses import select_best_images, write_finetuning_set

    candidates = [(PROMPTS[0], [picture(n) for n in range(4)]), (PROMPTS[1], [picture(9)])]
    scores = [
        [one.scores["overall"] for one in feedback.predict(images, [prompt] * len(images))]
        for prompt, images in candidates
    ]
    every = list(select_best_images(feedback, candidates, "overall", 0.0))
    assert [one.prompt for one in every] == list(PROMPTS[:2])
    assert every[0].image is candidates[0][1][int(np.argmax(scores[0]))]
    assert list(select_best_images(feedback, candidates, "overall", 1.0)) == []
    written = write_finetuning_set(every, tmp_path / "chosen")
    assert [one.prompt for one in find_pictures(written)[0]] == list(PROMPTS[:2])
    with pytest.raises(FeedbackError, match="already exists; choose a new folder"):
        write_finetuning_set(every, tmp_path / "chosen")
    with pytest.raises(FeedbackError, match="no image was selected"):
        write_finetuning_set([], tmp_path / "none")
