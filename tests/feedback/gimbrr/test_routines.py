"""GIMBRR's tasks and published routine, on constructed evidence."""

import json
import math

import pytest

from pqpp_feedback.assess.agreement import read_human_answers
from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.detector import find_label
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
from pqpp_feedback.gimbrr.conditions import make_count_conditions, parse_task
from pqpp_feedback.gimbrr.published import VOCABULARY, PublishedRoutine


def make_clip(similarities, own=(), base=0.1):
    """Return CLIP evidence: similarities of some names, and `base` for all others."""
    values = [similarities.get(name, base) for name in VOCABULARY]
    own_values = {name: {"bare": similarities.get(name, base)} for name in own}
    return {"clip": {"bare": values, "own": own_values, "scale": 100.0}}


def make_boxes(scores, labels=None):
    """Return detector evidence from the box scores of each name."""
    labels = {name: name for name in scores} if labels is None else labels
    boxes = [
        {"label": labels.get(name, name), "score": score, "box": [0, 0, 1, 1]}
        for name, box_scores in scores.items()
        for score in box_scores
    ]
    return {"detector": {"labels": labels, "boxes": boxes}}


def make_picture(task, objects, label=None, image_id="1/m_0.png", automatic=True):
    about = {"task": task, "representations": objects, "task_specific_label": label}
    about["auto_assessment"] = automatic
    return Picture(None, "a prompt", image_id, "1", "m", about)


def assess(evidence, *about, routine=None, **options):
    assessor = GimbrrAssessor(routine or PublishedRoutine())
    return assessor.score(json.loads(json.dumps(evidence)), make_picture(*about, **options))


def test_counts_must_equal_for_named_classes():
    verdict = assess(make_boxes({"cow": [0.9] * 2, "cup": [0.9] * 6}), "Counting", ["cow"], "3")
    assert verdict.verdict is False and verdict.score == pytest.approx(2 / 3)
    assert "3 cow requested, 2 found" in verdict.reason
    evidence = make_boxes({"cow": [0.9] * 3, "dog": [0.9]}, {"cow": "cow"})
    assert assess(evidence, "Controlled single object counting", ["cow"], "3").verdict is True


def test_distractors_depend_on_the_image_only():
    best = assess(make_clip({"koala": 0.3}, ["koala"]), "Single object", ["koala"])
    assert best.verdict and best.score == pytest.approx(1 / (1 + 5 * math.exp(-20)))
    assert best.reason.startswith("koala wins against ") and best.reason.count(",") == 4
    worst = assess(make_clip({"koala": 0.05}, ["koala"]), "Single object", ["koala"])
    assert worst.verdict is False and "koala loses to" in worst.reason
    reasons = {
        assess(make_clip({}, ["koala"]), "Single object", ["koala"], image_id=f"{n}.png").reason
        for n in range(8)
    }
    assert len(reasons) == 8
    repeated = assess(make_clip({"koala": 0.3}, ["koala"]), "Single object", ["koala"])
    assert repeated == best
    evidence, routine = make_clip({"koala": 0.3}, ["koala"]), PublishedRoutine(1)
    other_seed = assess(evidence, "Single object", ["koala"], routine=routine)
    assert other_seed.reason != best.reason


def test_negation_needs_one_object_and_not_the_other():
    objects_shown = make_clip({"street": 0.3, "cow": 0.05}, ["street", "cow"])
    verdict = assess(objects_shown, "Negation", ["street"], "cow")
    assert verdict.verdict and "to be absent: cow loses" in verdict.reason
    both = make_clip({"street": 0.3, "cow": 0.3}, ["street", "cow"])
    assert assess(both, "Negation", ["street"], "cow").verdict is False
    neither = make_clip({"street": 0.01, "cow": 0.01}, ["street", "cow"])
    assert assess(neither, "Negation", ["street"], "cow").verdict is False


def test_reads_human_answers_by_image_or_prompt_and_model(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("image,matched\na,true\na,no\nb,1\nb,1.0\nb,0.0\nc,\n")
    people = read_human_answers(path)
    row = {"image": "a", "prompt_id": "1", "generator": "m"}
    assert people.find(row) is None and people.find({**row, "image": "b"}) is True
    path.write_text("prompt_id,model,label\n1.0,m,no\n")  # as pandas writes it
    assert read_human_answers(path).find(row) is False
    cells = {"a,perhaps": "line 2: expected true or false", ",yes": "line 2: no image", "a,": "no"}
    for row, message in cells.items():
        path.write_text(f"image,matched\n{row}\n")
        with pytest.raises(FeedbackError, match=message):
            read_human_answers(path)


@pytest.mark.parametrize(
    ("task", "label"),
    [
        ("Simple arithmetic", "3,6"),
        ("simple Arithmetic ", "3, 6"),
        ("SIMPLE ARITHMETIC", "3.0, 6.0"),
    ],
)
def test_parses_spellings_of_counts_and_tasks(task, label):
    evidence = make_boxes({"cow": [0.9, 0.8, 0.7, 0.4], "cup": [0.9] * 6 + [0.5]})
    verdict = assess(evidence, task, ["cow", "cup"], label)
    assert verdict == Verdict(
        True, 1.0, "3 cow requested, 3 found above 0.5; 6 cup requested, 6 found above 0.5"
    )
    task_ = parse_task({"representations": "Cow, cup ", "task_specific_label": label})
    assert [condition.count for condition in make_count_conditions(task_)] == [3, 6]
    assert parse_task({"task_specific_label": float("nan")}).label == ""
    assert assess(make_boxes({"cow": [0.9] * 3}), "counting", ["cow"], 3.0).verdict is True


def test_find_label_accepts_plurals():
    names = ["wine glasses", "people", "buses", "couches", "skis", "hats"]
    labels = ["wine glass", "person", "bus", "sofa", "skis"]
    assert [find_label(name, labels) for name in names] == [*labels, None]
