"""GIMBRR's yes or no: linked prompts, its columns, and its CSV continued."""

import csv

import pytest
from support.kinds import answer_error, shown, vote, write_csv

from pqpp_annotation.kinds import get_task_kind

KIND = get_task_kind("match")
SETTINGS = KIND.complete_settings({})
ANNOTATIONS = "gimbrr/annotations/annotations_df_230311.csv"


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_answers():
    assert answer_error(KIND, {"label": 1}, shown(1), {}) is None
    assert answer_error(KIND, {"label": 0}, shown(1), {}) is None
    assert answer_error(KIND, {"label": 2}, shown(1), {})
    for cell, label in (("Yes", 1), ("True", 1), ("no", 0)):
        assert KIND.parse_expected(cell, SETTINGS) == {"label": label}


def table():
    rows = [
        ("3", "a book and a cat", "b.png", "Dalle", "1, 2,99"),
        ("1", "a book", "1.png", "Dalle", ""),
        ("1", "a book", "1m.png", "MJ", ""),
        ("2", "a cat", "2m.png", "MJ", ""),
    ]
    names = ("prompt_id", "prompt", "image", "model", "linked_prompts")
    rows = [dict(zip(names, row, strict=True)) for row in rows]
    return {one: [row for row in rows if row["prompt_id"] == one] for one in ("1", "2", "3")}


def test_linked_prompts_of_the_same_model():
    """The cat has no image of this model, prompt 99 is not in the study."""
    rows = table()
    hashes = {"b.png": "b" * 64, "1.png": "1" * 64, "1m.png": "e" * 64, "2m.png": "2" * 64}
    detail = KIND.collect_extra_item_data(rows["3"], rows, hashes)
    linked = [{"prompt": "a book", "images": ["1" * 64]}, {"prompt": "a cat", "images": []}]
    assert KIND.get_extra_page_data(detail, str) == {"linked": linked}
    for alone in (KIND.collect_extra_item_data(rows["1"], rows, hashes), {}):
        assert KIND.get_extra_page_data(alone, str) == {"linked": []}


@pytest.mark.realdata
def test_export_has_the_published_rows(real_data, tmp_path):
    """A study on all published images, whose answers are the published ones."""
    published = read(real_data / ANNOTATIONS)
    prompts = {}
    for row in published:
        own = {"prompt_id": row["Prompt_no"], "prompt": row["Prompt"], "model": row["Algorithm"]}
        prompts.setdefault(row["Prompt_no"], []).append({**row, **own, "image": row["File_name"]})
    votes = []
    for row in published:
        detail = KIND.collect_extra_item_data(prompts[row["Prompt_no"]], prompts, {})
        value = {"label": int(row["annotation"] == "True")}
        of_image = {"prompt": row["Prompt"], "model": row["Algorithm"], "detail": detail}
        votes.append(vote(row["File_name"], "ann", value, row["Prompt_no"], **of_image))
    files = KIND.export_tables(votes)
    again = read(write_csv(tmp_path / "gimbrr.csv", files["gimbrr"]))
    assert [{name: row[name] for name in published[0]} for row in again] == published
    assert list(again[0]) == [*published[0], "Score", "annotator"]
