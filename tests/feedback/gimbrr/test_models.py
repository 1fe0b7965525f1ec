"""GIMBRR's CLIP and detectors, with tiny random models."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.tiny_detectors import KINDS, save_detector  # noqa: E402
from support.tiny_models import save_clip  # noqa: E402

from pqpp_cli.main import main  # noqa: E402
from pqpp_feedback.assess.detector import Detector  # noqa: E402
from pqpp_feedback.assess.verdicts import read_verdicts  # noqa: E402
from pqpp_feedback.gimbrr.assessor import ClipScorer  # noqa: E402
from pqpp_feedback.gimbrr.conditions import Condition  # noqa: E402
from pqpp_feedback.gimbrr.published import VOCABULARY, Evidence  # noqa: E402


def make_images(number, seed=0):
    random = np.random.default_rng(seed)
    sizes = [(48, 40), (30, 64), (64, 64)]
    return [
        Image.fromarray(random.integers(0, 255, (*sizes[n % 3], 3), dtype=np.uint8))
        for n in range(number)
    ]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eyes")
    save_clip(folder / "clip")
    save_detector(folder / "detr", "detr")
    return folder


def test_clip_similarities_match_transformers(models):
    import torch
    from transformers import CLIPModel, CLIPProcessor

    scorer = ClipScorer(str(models / "clip"), "cpu")
    (image,) = make_images(1)
    evidence = Evidence({"clip": scorer.observe([image], [["koala"]])[0]})
    model = CLIPModel.from_pretrained(models / "clip").eval()
    processor = CLIPProcessor.from_pretrained(models / "clip")
    for name in ("koala", VOCABULARY[0], VOCABULARY[90]):
        inputs = processor(text=[name], images=image, return_tensors="pt", padding=True)
        with torch.inference_mode():
            logit = model(**inputs).logits_per_image.item()
        similarity = evidence.get_similarity(name)
        assert evidence.clip["scale"] * similarity == pytest.approx(logit, abs=1e-3)


def test_evidence_does_not_depend_on_the_batch(models):
    images = make_images(5)
    clip, detector = ClipScorer(str(models / "clip"), "cpu"), Detector(str(models / "detr"), "cpu")
    for model in (clip, detector):
        batched = model.observe(images, [["apple", "cat"]] * 5)
        single = [e for image in images for e in model.observe([image], [["apple", "cat"]])]
        assert repr(batched) == repr(single)


@pytest.mark.parametrize("kind", KINDS)
def test_detectors_return_boxes_by_name(tmp_path, kind):
    detector = Detector(str(save_detector(tmp_path / kind, kind)), "cpu")
    results = detector.observe(make_images(2), [["apple", "couch", "hat"], ["cat"]])
    is_open = kind in ("owlv2", "grounding_dino")
    couch, hat = ("couch", "hat") if is_open else ("Sofa", None)
    assert results[0]["labels"] == {"apple": "apple", "couch": couch, "hat": hat}
    evidence = Evidence({"detector": results[0]})
    reasons = [evidence.explain_missing([Condition("counts", name)]) for name in ("apple", "hat")]
    assert not reasons[0] and (not reasons[1]) == is_open
    boxes = [box for entry in results for box in entry["boxes"]]
    if not kind.startswith(("rt_detr", "d_fine")):  # their random scores are low
        assert boxes
    for box in boxes:
        left, top, right, bottom = box["box"]
        assert 0 <= left <= right <= 1 and 0 <= top <= bottom <= 1 and box["score"] > 0.05
    assert evidence.get_box_scores("apple") == sorted(
        evidence.get_box_scores("apple"), reverse=True
    )
    assert detector.identity.revision.startswith("sha256:")


PROMPTS = """prompt_id,prompt,task,representations,task_specific_label,auto_assessment
1,an apple,Single object,apple,,True
2,"a cat, no apple",Negation,cat,apple,True
3,3 cats,Counting,cat,3,True
4,two hats,Counting,hat,2,True
5,a chimera,Chimeras,cat,,False
"""


@pytest.fixture
def study(tmp_path):
    for prompt_id, image in zip(range(1, 6), make_images(5), strict=True):
        path = tmp_path / "images" / str(prompt_id) / "m_0.png"
        path.parent.mkdir(parents=True)
        image.save(path)
    (tmp_path / "prompts.csv").write_text(PROMPTS)
    return tmp_path


def test_assess_command_and_rescoring(study, models, capsys):
    words = ["assess", "gimbrr", "--image-dir", str(study), "--file", str(study / "prompts.csv")]
    words += ["--clip", str(models / "clip"), "--detector", str(models / "detr"), "--device", "cpu"]
    table = study / "v.parquet"
    assert main([*words, "--output", str(table)]) == 0
    message = capsys.readouterr().err
    assert "images per second" in message
    assert "agree with people on 3,860 images" in message
    rows = list(read_verdicts(table))
    assert [row["verdict"] is None for row in rows] == [False, False, False, True, True]
    assert rows[3]["reason"] == "the detector has no class 'hat'"
    assert rows[4]["reason"] == "the task 'Chimeras' has no routine"
    assert json.loads(rows[0]["revision"])["clip"].startswith("sha256:")
    assert {row["routine"] for row in rows} == {"gimbrr-published"}
    assert [set(json.loads(row["evidence"])) for row in rows] == [
        *({"clip"}, {"clip"}, {"detector"}, {"detector"}, set())
    ]
    rescore = ["assess", "gimbrr", "--evidence", str(table), "--output", str(study / "w.parquet")]
    assert main(["assess", "vistar", *rescore[2:]]) == 2  # the table has no evidence of vistar
    assert "has no verdicts of vistar" in capsys.readouterr().err
    assert not (study / "w.parquet").exists()
    assert main(rescore) == 0
    assert (study / "w.parquet").read_bytes() == table.read_bytes()
    assert main([*rescore, "--seed", "7"]) == 0
    assert (study / "w.parquet").read_bytes() != table.read_bytes()
    (study / "people.csv").write_text("prompt_id,model,matched\n1,m,true\n2,m,false\n")
    assert main([*rescore, "--people", str(study / "people.csv")]) == 0
    assert "gimbrr-published: agreement with people: accuracy" in capsys.readouterr().err
