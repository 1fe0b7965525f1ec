"""Ratings: scales, words, and the export that `pqpp build` reads."""

import json

import pytest
from support.kinds import answer_error, shown, vote, write_csv
from support.votes import build, scores

from pqpp_annotation.errors import StudyError
from pqpp_annotation.kinds import task_kind

KIND = task_kind("rating")


def test_settings_survive_json():
    """Steps are numbers in YAML and texts in JSON, where the database keeps them."""
    settings = KIND.check_study({"low": 0, "high": 2, "labels": {0: "no", 2: "yes"}})
    assert settings["labels"] == {"0": "no", "2": "yes"}
    assert KIND.check_study(json.loads(json.dumps(settings))) == settings


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"low": 5}, "low is 5 and high 5; give 2 to 11 steps"),
        ({"low": 1, "high": 12}, "low is 1 and high 12; give 2 to 11 steps"),
        ({"high": 5.5}, r"high is 5.5; it must be a whole number"),
        ({"high": True}, "high is True; it must be a whole number"),
        ({"labels": {6: "too much"}}, "labels has '6'; its steps are 1, 2, 3, 4, 5"),
        ({"labels": {1: 2}}, "labels of 1 is 2; it must be a text"),
        ({"hight": 5}, "did you mean 'high'"),
    ],
)
def test_impossible_settings(task, message):
    with pytest.raises(StudyError, match=message):
        KIND.check_study(task)


@pytest.mark.parametrize(
    ("task", "label", "is_fine"),
    [
        ({}, 5, True),
        ({}, 6, False),
        ({}, 0, False),
        ({"low": 0, "high": 10}, 10, True),
        ({"low": -2, "high": 2}, -2, True),
        ({"low": -2, "high": 2}, 3, False),
    ],
)
def test_range(task, label, is_fine):
    assert (answer_error(KIND, {"label": label}, shown(1), task) is None) is is_fine


def test_expected():
    assert KIND.expected("strongly agree", KIND.check_study({})) == {"label": 5}
    wide = KIND.check_study({"low": 0, "high": 10})
    assert KIND.expected("10", wide) == {"label": 10}
    for cell in ("11", "2.5", ""):
        with pytest.raises(StudyError, match="it must be"):
            KIND.expected(cell, wide)


@pytest.mark.parametrize(("high", "mean"), [(5, 3.5), (7, 5.5)])
def test_export_is_read_by_build(tmp_path, high, mean):
    settings = KIND.check_study({"high": high})
    votes = [
        vote("1.png", "ann", {"label": high}),
        vote("1.png", "bob", {"label": 2 if high == 5 else 4}),
    ]
    path = write_csv(tmp_path / "judgments.csv", KIND.export(votes)["judgments"])
    built = build(path, scale=KIND.scale_of(settings))
    assert scores(built, "sdxl_rating") == {"A cat.": mean}
