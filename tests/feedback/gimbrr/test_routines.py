"""Tasks and routines on made evidence whose truth is known, and the fit to people's answers."""

import json
import math

import numpy as np
import pytest

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.people import PeopleSay, read_people
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.assess.verdicts import recompute
from pqpp_feedback.errors import AssessError
from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
from pqpp_feedback.gimbrr.calibration import (
    calibrate,
    check_models,
    read_fitted,
    write_calibration,
)
from pqpp_feedback.gimbrr.conditions import (
    TASK_CONDITIONS,
    Asked,
    asked_of,
    conditions_of,
    objects_counted,
    objects_shown,
)
from pqpp_feedback.gimbrr.routines import Routine, open_routine
from pqpp_feedback.gimbrr.routines.calibrated import Calibrated
from pqpp_feedback.gimbrr.routines.published import Published
from pqpp_feedback.gimbrr.seen import VOCABULARY


def clip(similar, own=(), base=0.1):
    """Make CLIP's evidence: similarities of some names, and `base` for all others."""
    values = [similar.get(name, base) for name in VOCABULARY]
    named = {name: dict.fromkeys(("bare", "photo"), similar.get(name, base)) for name in own}
    return {"clip": {"bare": values, "photo": values, "own": named, "scale": 100.0}}


def boxes(scores, labels=None):
    """Make a detector's evidence: name to the scores of its boxes."""
    labels = {name: name for name in scores} if labels is None else labels
    found = [
        {"label": labels.get(name, name), "score": score, "box": [0, 0, 1, 1]}
        for name, some in scores.items()
        for score in some
    ]
    return {"detector": {"labels": labels, "boxes": found}}


def picture(task, objects, label=None, image_id="1/m_0.png", automatic=True):
    about = {"task": task, "representations": objects, "task_specific_label": label}
    about["auto_assessment"] = automatic
    return Picture(None, "a prompt", image_id, "1", "m", about)


def verdict(evidence, *about, routine=None, **options):
    assessor = GimbrrAssessor(routine or Published())
    return assessor.score(json.loads(json.dumps(evidence)), picture(*about, **options))


@pytest.mark.parametrize("label", ["3,6", "3, 6", " 3 ,6 "])
def test_both_spellings_of_counts(label):
    seen = boxes({"cow": [0.9, 0.8, 0.7, 0.4], "cup": [0.9] * 6 + [0.5]})
    found = verdict(seen, "Simple arithmetic", ["cow", "cup"], label)
    assert found == Verdict(
        True, 1.0, "3 cow asked, 3 found above 0.5; 6 cup asked, 6 found above 0.5"
    )
    asked = asked_of({"representations": "Cow, cup ", "task_specific_label": label})
    assert [condition.count for condition in objects_counted(asked)] == [3, 6]


def test_a_count_must_be_equal_for_each_named_class_and_others_are_ignored():
    found = verdict(boxes({"cow": [0.9] * 2, "cup": [0.9] * 6}), "Counting", ["cow"], "3")
    assert found.verdict is False and found.score == pytest.approx(2 / 3)
    assert "3 cow asked, 2 found" in found.reason
    seen = boxes({"cow": [0.9] * 3, "dog": [0.9]}, {"cow": "cow"})
    assert verdict(seen, "Controlled single object counting", ["cow"], "3").verdict is True


def test_a_class_that_the_detector_cannot_emit_gives_none_never_false():
    seen = boxes({"cow": [0.9] * 3}, {"cow": "cow", "hat": None})
    found = verdict(seen, "Controlled arithmetic", ["cow", "hat"], "3,6")
    assert found == Verdict(None, None, "the detector has no class 'hat'")
    assert verdict({}, "Counting", ["cow"], "3").reason == "no detector has looked at the image"


@pytest.mark.parametrize(
    ("task", "label", "reason"),
    [
        ("Counting", "three", "gives no whole number for each of cow"),
        ("Counting", "3,4", "gives no whole number for each of cow"),
        ("Counting", None, "gives no whole number"),
        ("Negation", None, "names nothing to be absent"),
        ("Chimeras", None, "the task 'Chimeras' has no routine"),
        ("img2img: Relations", None, "has no routine"),
        ("", None, "no task is named"),
    ],
)
def test_what_cannot_be_told_gives_none_with_the_reason(task, label, reason):
    found = verdict({**clip({}), **boxes({"cow": []})}, task, ["cow"], label)
    assert (found.verdict, found.score) == (None, None) and reason in found.reason


def test_conditional_prompts_for_people_are_left_to_them():
    about = ("Conditional generation", ["blanket"], "bench")
    seen = clip({"bench": 0.05}, ["blanket", "bench"], 0.1)
    assert verdict(seen, *about, automatic=False).reason.endswith("one for people")
    assert verdict(seen, *about, automatic=True).verdict is not None


def test_an_object_wins_against_five_names_that_depend_on_the_image_alone():
    high = verdict(clip({"koala": 0.3}, ["koala"]), "Single object", ["koala"])
    assert high.verdict and high.score == pytest.approx(1 / (1 + 5 * math.exp(-20)))
    assert high.reason.startswith("koala wins against ") and high.reason.count(",") == 4
    low = verdict(clip({"koala": 0.05}, ["koala"]), "Single object", ["koala"])
    assert low.verdict is False and "koala loses to" in low.reason
    reasons = {
        verdict(clip({}, ["koala"]), "Single object", ["koala"], image_id=f"{n}.png").reason
        for n in range(8)
    }
    assert len(reasons) == 8
    again = verdict(clip({"koala": 0.3}, ["koala"]), "Single object", ["koala"])
    assert again == high
    assert (
        verdict(
            clip({"koala": 0.3}, ["koala"]), "Single object", ["koala"], routine=Published(1)
        ).reason
        != high.reason
    )


def test_other_objects_of_the_prompt_are_no_rivals():
    similar = {name: 0.9 for name in VOCABULARY}
    for image_id in map(str, range(30)):  # whatever is drawn, cow and cup do not meet
        seen = clip(dict.fromkeys(("cow", "cup"), 0.5) | {"cow": 0.4}, ["cow", "cup"])
        found = verdict(seen, "Multiple objects", ["cow", "cup"], image_id=image_id)
        assert found.verdict, found.reason
    assert not verdict(clip(similar | {"cow": 0.1}, ["cow"]), "Single object", ["cow"]).verdict


def test_negation_asks_for_one_and_against_the_other():
    objects_shown = clip({"street": 0.3, "cow": 0.05}, ["street", "cow"])
    found = verdict(objects_shown, "Negation", ["street"], "cow")
    assert found.verdict and "to be absent: cow loses" in found.reason
    both = clip({"street": 0.3, "cow": 0.3}, ["street", "cow"])
    assert verdict(both, "Negation", ["street"], "cow").verdict is False
    neither = clip({"street": 0.01, "cow": 0.01}, ["street", "cow"])
    assert verdict(neither, "Negation", ["street"], "cow").verdict is False


def test_every_task_that_the_directory_marks_has_a_routine(real_data):
    import csv

    with (real_data / "gimbrr/data/Prompt_dir_230228.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    none, whole = [], 0
    for row in rows:
        about = {name.lower(): cell for name, cell in row.items()}
        asked = asked_of(about)
        assert asked.is_automatic == (row["Auto_assessment"] == "True")
        found = conditions_of(asked)
        if asked.is_automatic and isinstance(found, str):
            none.append((row["ID"], found))
        whole += not isinstance(found, str)
    assert none == [] and whole == 1465
    assert {row["Task"] for row in rows if row["Auto_assessment"] == "True"} == set(TASK_CONDITIONS)


class Strict(Routine):
    """A routine that finds nothing right."""

    name, settings = "gimbrr-strict", {}

    def judge(self, seen, conditions, image_id, task):
        return Verdict(False, 0.0, "never")


def test_a_task_is_a_name_and_a_routine_is_found_by_its_file(monkeypatch):
    monkeypatch.setitem(TASK_CONDITIONS, "Directed actions", objects_shown)
    seen = clip({"pig": 0.5, "guitar": 0.5}, ["pig", "guitar"])
    assert verdict(seen, "Directed actions", ["pig", "guitar"]).verdict is True
    assert verdict(seen, "Directed actions", ["pig"], routine=Strict()).reason == "never"
    assert open_routine("calibrated", {}).settings == {"tasks": {}}
    with pytest.raises(AssessError, match="did you mean 'calibrated'"):
        open_routine("calibratd")


def made_rows(number, seed=0, noise=1.0):
    """Make evidence of three tasks, and people's answers that follow from it with noise."""
    random = np.random.default_rng(seed)
    rows, answers = [], {}
    for n in range(number):
        task = ("Single object", "Negation", "Counting")[n % 3]
        truth = bool(random.random() < 0.5)
        if task == "Counting":
            # People's counts are seen at .7 and more, other boxes reach .62.
            scores = list(random.uniform(0.7, 0.95, 3 if truth else 2))
            scores += list(random.uniform(0.3, 0.62, random.integers(0, 3)))
            evidence, about = boxes({"cow": scores}), ("Counting", ["cow"], "3")
        else:
            # CLIP must be two logits above the best rival for people to agree.
            margin = (2.0 + (1.5 if truth else -1.5) + noise * random.normal()) / 100
            similar = {"koala": 0.2 + margin, "cat": 0.2, "cow": 0.0}
            evidence = clip(similar, ["koala", "cow"])
            about = (task, ["koala"], "cow" if task == "Negation" else None)
        one = picture(*about)
        image = f"{n}/m_0.png"
        rows.append(
            {
                "image": image,
                "prompt_id": str(n),
                "prompt": "a prompt",
                "task": task,
                "generator": "m",
                "assessor": "gimbrr",
                "routine": "gimbrr-published",
                "evidence": json.dumps(evidence),
                "asked": json.dumps(dict(one.about)),
                "model": '{"clip":"c","detector":"d"}',
                "revision": '{"clip":"1","detector":"2"}',
            }
        )
        answers[(image,)] = truth
    return rows, answers


def test_a_calibration_finds_the_thresholds_that_people_have():
    rows, answers = made_rows(600)
    found = calibrate(rows, PeopleSay(answers))
    tasks = found["tasks"]
    assert set(tasks) == {"Single object", "Negation", "Counting", "shows", "lacks+shows", "counts"}
    single = tasks["Single object"]
    # Two normal classes at 2 +- 1.5 with deviation 1: the best cut is at 2, the slope 3.
    slope, needed = single["weights"]["shows"], single["threshold"]
    cut = (math.log(needed / (1 - needed)) - single["bias"]) / slope
    assert cut == pytest.approx(2, abs=0.6) and slope == pytest.approx(3, abs=1)
    assert 0.62 < tasks["Counting"]["box_threshold"] <= 0.7
    measured = {row["task"]: row for row in found["agreement"]}
    assert measured["Counting"]["accuracy"] == 1.0
    assert measured["Single object"]["accuracy"] > 0.88 and measured["all"]["kappa"] > 0.8
    fitted_to = sum(tasks[kinds]["n"] for kinds in ("shows", "lacks+shows", "counts"))
    assert measured["all"]["n"] + fitted_to == len(rows)
    again = list(recompute(rows, [GimbrrAssessor(Calibrated(tasks))]))
    known = {row["image"]: row["verdict"] for row in again}
    right = np.mean([known[image] == truth for (image,), truth in answers.items()])
    published = list(recompute(rows, [GimbrrAssessor(Published())]))
    before = np.mean([row["verdict"] == answers[(row["image"],)] for row in published])
    assert right > 0.9 > before + 0.2
    assert {row["routine"] for row in again} == {"gimbrr-calibrated"}


def test_answers_that_say_nothing_are_not_learned_and_the_halves_are_of_prompts():
    rows, answers = made_rows(300, noise=0.3)
    drawn = np.random.default_rng(5)
    found = calibrate(rows, PeopleSay({key: bool(drawn.random() < 0.5) for key in answers}))
    kappas = [row["kappa"] for row in found["agreement"] if row["task"] == "all"]
    assert abs(kappas[0]) < 0.2
    twice = [{**row, "image": f"{row['image']}.2"} for row in rows]
    both = PeopleSay({**answers, **{(f"{key[0]}.2",): value for key, value in answers.items()}})
    assert calibrate(rows + twice, both)["tasks"]["counts"]["n"] % 2 == 0


def test_one_answer_for_all_gives_the_rate_and_too_few_are_refused():
    rows, answers = made_rows(200)
    found = calibrate(rows, PeopleSay(dict.fromkeys(answers, False)))
    assert all(row["automated"] == 0 for row in found["agreement"])
    with pytest.raises(AssessError, match="20 of a task are the fewest"):
        calibrate(rows[:30], PeopleSay(answers))
    mixed = [{**rows[0], "model": '{"clip":"other"}'}, *rows[1:]]
    with pytest.raises(AssessError, match="of several models"):
        calibrate(mixed, PeopleSay(answers))


def test_a_calibration_is_written_and_read_and_holds_for_its_models(tmp_path):
    rows, answers = made_rows(200)
    found = calibrate(rows, PeopleSay(answers))
    path = tmp_path / "c.json"
    path.write_text(write_calibration(found))
    assert read_fitted(path) == json.loads(json.dumps(found))
    with pytest.raises(AssessError, match="of clip c, the evidence of x"):
        check_models(found, {"clip": "x"})
    path.write_text("{}")
    with pytest.raises(ValueError, match="no calibration of format 1"):
        read_fitted(path)
    unknown = GimbrrAssessor(Calibrated({"counts": found["tasks"]["counts"]}))
    told = unknown.score(clip({}, ["koala"]), picture("Single object", ["koala"]))
    assert told.verdict is None and "has seen no image of the task" in told.reason


def test_peoples_answers_are_read_by_image_or_by_prompt_and_model(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("image,matched\na,true\na,no\nb,1\nb,1\nb,0\nc,\n")
    people = read_people(path)
    row = {"image": "a", "prompt_id": "1", "generator": "m"}
    assert people.of(row) is None and people.of({**row, "image": "b"}) is True
    path.write_text("prompt_id,model,label\n1,m,no\n")
    assert read_people(path).of(row) is False
    path.write_text("image,matched\na,perhaps\n")
    with pytest.raises(AssessError, match=r"line 2: matched is 'perhaps'"):
        read_people(path)
    path.write_text("image,matched\na,\n")
    with pytest.raises(AssessError, match="no image has an answer"):
        read_people(path)


def test_asked_reads_lists_and_texts():
    assert asked_of({"task": "T", "representations": ["Cow ", ""]}) == Asked(
        "T", ("cow",), "", True
    )
    assert len(set(VOCABULARY)) == 91
