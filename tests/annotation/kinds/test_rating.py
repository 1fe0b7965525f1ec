"""The kind `rating`: scales, words, and the export that `pqpp build` reads."""

import json

import pytest
from support.kinds import find_error, make_item, make_vote, write_csv
from support.votes import build, to_dict

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import get_task_kind

KIND = get_task_kind("rating")


def test_settings_survive_json():
    # Steps are numbers in YAML and strings in JSON, as in the database.
    settings = KIND.complete_settings({"low": 0, "high": 2, "labels": {0: "no", 2: "yes"}})
    assert settings["labels"] == {"0": "no", "2": "yes"}
    assert KIND.complete_settings(json.loads(json.dumps(settings))) == settings


@pytest.mark.parametrize(
    "task", [{"low": 5}, {"high": 12}, {"high": 5.5}, {"labels": {6: "too much"}}, {"hight": 5}]
)
def test_rejects_invalid_settings(task):
    with pytest.raises(AnnotationError):
        KIND.complete_settings(task)


@pytest.mark.parametrize(
    ("task", "label", "is_fine"),
    [
        ({}, 6, False),
        ({"low": 0, "high": 10}, 10, True),
        ({"low": -2, "high": 2}, -2, True),
        ({"low": -2, "high": 2}, 3, False),
    ],
)
def test_checks_label_range(task, label, is_fine):
    assert (find_error(KIND, {"label": label}, make_item(1), task) is None) is is_fine


def test_parses_expected_answers():
    assert KIND.parse_expected("strongly agree", KIND.complete_settings({})) == {"label": 5}
    settings = KIND.complete_settings({"low": 0, "high": 10})
    assert KIND.parse_expected("10", settings) == {"label": 10}
    for cell in ("11", "2.5", ""):
        with pytest.raises(AnnotationError, match="must be one of"):
            KIND.parse_expected(cell, settings)


@pytest.mark.parametrize(("high", "mean"), [(5, 3.5), (7, 5.5)])
def test_build_reads_the_export(tmp_path, high, mean):
    settings = KIND.complete_settings({"high": high})
    votes = [
        make_vote("1.png", "ann", {"label": high}),
        make_vote("1.png", "bob", {"label": 2 if high == 5 else 4}),
    ]
    path = write_csv(tmp_path / "judgments.csv", KIND.export_tables(votes)["judgments"])
    built = build(path, scale=KIND.get_scale(settings))
    assert to_dict(built, "sdxl_rating") == {"A cat.": mean}
