"""The models that look, as tiny random ones: only the name differs from the real ones'."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.tiny_eyes import KINDS, save_detector  # noqa: E402
from support.tiny_models import save_clip  # noqa: E402

from pqpp_cli.main import main  # noqa: E402
from pqpp_feedback.assess.detector import Detector  # noqa: E402
from pqpp_feedback.assess.verdicts import read_verdicts  # noqa: E402
from pqpp_feedback.gimbrr.assessor import ClipScorer  # noqa: E402
from pqpp_feedback.gimbrr.conditions import Condition  # noqa: E402
from pqpp_feedback.gimbrr.published import VOCABULARY, Evidence  # noqa: E402


def pictures(number, seed=0):
    random = np.random.default_rng(seed)
    sizes = [(48, 40), (30, 64), (64, 64)]
    return [
        Image.fromarray(random.integers(0, 255, (*sizes[n % 3], 3), dtype=np.uint8))
        for n in range(number)
    ]


@pytest.fixture(scope="module")
def eyes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eyes")
    save_clip(folder / "clip")
    save_detector(folder / "detr", "detr")
    return folder


def test_clip_sees_what_transformers_computes(eyes):
    import torch
    from transformers import CLIPModel, CLIPProcessor

    eye = ClipScorer(str(eyes / "clip"), "cpu")
    (image,) = pictures(1)
    seen = Evidence({"clip": eye.observe([image], [["koala"]])[0]})
    model = CLIPModel.from_pretrained(eyes / "clip").eval()
    processor = CLIPProcessor.from_pretrained(eyes / "clip")
    for name in ("koala", VOCABULARY[0], VOCABULARY[90]):
        inputs = processor(text=[name], images=image, return_tensors="pt", padding=True)
        with torch.inference_mode():
            logit = model(**inputs).logits_per_image.item()
        assert seen.scale * seen.get_similarity(name) == pytest.approx(logit, abs=1e-3)


def test_what_is_seen_of_an_image_does_not_depend_on_the_others(eyes):
    images = pictures(5)
    clip, detector = ClipScorer(str(eyes / "clip"), "cpu"), Detector(str(eyes / "detr"), "cpu")
    for eye in (clip, detector):
        together = eye.observe(images, [["apple", "cat"]] * 5)
        alone = [one for image in images for one in eye.observe([image], [["apple", "cat"]])]
        assert repr(together) == repr(alone)


@pytest.mark.parametrize("kind", KINDS)
def test_detectors_of_six_kinds_give_boxes_by_name(tmp_path, kind):
    eye = Detector(str(save_detector(tmp_path / kind, kind)), "cpu")
    found = eye.observe(pictures(2), [["apple", "couch", "hat"], ["cat"]])
    is_open = kind in ("owlv2", "grounding_dino")
    couch, hat = ("couch", "hat") if is_open else ("Sofa", None)
    assert found[0]["labels"] == {"apple": "apple", "couch": couch, "hat": hat}
    seen = Evidence({"detector": found[0]})
    lacking = [seen.explain_missing([Condition("counts", name)]) for name in ("apple", "hat")]
    assert not lacking[0] and (not lacking[1]) == is_open
    boxes = [box for one in found for box in one["boxes"]]
    if not kind.startswith(("rt_detr", "d_fine")):  # whose random scores are low
        assert boxes
    for box in boxes:
        left, top, right, bottom = box["box"]
        assert 0 <= left <= right <= 1 and 0 <= top <= bottom <= 1 and box["score"] > 0.05
    assert seen.get_box_scores("apple") == sorted(seen.get_box_scores("apple"), reverse=True)
    assert eye.identity.revision.startswith("sha256:")


PROMPTS = """prompt_id,prompt,task,representations,task_specific_label,auto_assessment
1,an apple,Single object,apple,,True
2,"a cat, no apple",Negation,cat,apple,True
3,3 cats,Counting,cat,3,True
4,two hats,Counting,hat,2,True
5,a chimera,Chimeras,cat,,False
"""


@pytest.fixture
def study(tmp_path):
    for prompt_id, image in zip(range(1, 6), pictures(5), strict=True):
        path = tmp_path / "images" / str(prompt_id) / "m_0.png"
        path.parent.mkdir(parents=True)
        image.save(path)
    (tmp_path / "prompts.csv").write_text(PROMPTS)
    return tmp_path


def test_the_command_assesses_and_scores_again_without_models(study, eyes, capsys):
    words = ["assess", "gimbrr", "--image-dir", str(study), "--file", str(study / "prompts.csv")]
    words += ["--clip", str(eyes / "clip"), "--detector", str(eyes / "detr"), "--device", "cpu"]
    table = study / "v.parquet"
    assert main([*words, "--output", str(table)]) == 0
    said = capsys.readouterr().err
    assert "images per second" in said
    assert "agree with people on 3,860 images" in said
    rows = list(read_verdicts(table))
    assert [row["verdict"] is None for row in rows] == [False, False, False, True, True]
    assert rows[3]["reason"] == "the detector has no class 'hat'"
    assert rows[4]["reason"] == "the task 'Chimeras' has no routine"
    assert json.loads(rows[0]["revision"])["clip"].startswith("sha256:")
    assert {row["routine"] for row in rows} == {"gimbrr-published"}
    assert [set(json.loads(row["evidence"])) for row in rows] == [
        *({"clip"}, {"clip"}, {"detector"}, {"detector"}, set())
    ]
    again = ["assess", "gimbrr", "--evidence", str(table), "--output", str(study / "w.parquet")]
    assert main(["assess", "vistar", *again[2:]]) == 2  # which saw none of it
    assert "has no verdicts of vistar" in capsys.readouterr().err
    assert not (study / "w.parquet").exists()
    assert main(again) == 0
    assert (study / "w.parquet").read_bytes() == table.read_bytes()
    assert main([*again, "--seed", "7"]) == 0
    assert (study / "w.parquet").read_bytes() != table.read_bytes()
    (study / "people.csv").write_text("prompt_id,model,matched\n1,m,true\n2,m,false\n")
    assert main([*again, "--people", str(study / "people.csv")]) == 0
    assert "gimbrr-published: agreement with people: accuracy" in capsys.readouterr().err
