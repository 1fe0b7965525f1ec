"""The kind `match`: answers, linked prompts, and exports in GIMBRR's format."""

import csv

import pytest
from support.kinds import find_error, make_item, make_vote, write_csv

from pqpp_annotation.kinds import get_task_kind

KIND = get_task_kind("match")
SETTINGS = KIND.complete_settings({})
PUBLISHED_FILE = "gimbrr/annotations/annotations_df_230311.csv"


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_accepts_yes_and_no():
    assert find_error(KIND, {"label": 1}, make_item(1), {}) is None
    assert find_error(KIND, {"label": 0}, make_item(1), {}) is None
    assert find_error(KIND, {"label": 2}, make_item(1), {})
    for cell, label in (("Yes", 1), ("True", 1), ("no", 0)):
        assert KIND.parse_expected(cell, SETTINGS) == {"label": label}


def make_table():
    rows = [
        ("3", "a book and a cat", "b.png", "Dalle", "1, 2,99"),
        ("1", "a book", "1.png", "Dalle", ""),
        ("1", "a book", "1m.png", "MJ", ""),
        ("2", "a cat", "2m.png", "MJ", ""),
    ]
    names = ("prompt_id", "prompt", "image", "model", "linked_prompts")
    rows = [dict(zip(names, row, strict=True)) for row in rows]
    return {key: [row for row in rows if row["prompt_id"] == key] for key in ("1", "2", "3")}


def test_links_prompts_with_images_of_the_same_model():
    # Prompt 2 has no image of this model, and prompt 99 is not in the study.
    rows = make_table()
    hashes = {"b.png": "b" * 64, "1.png": "1" * 64, "1m.png": "e" * 64, "2m.png": "2" * 64}
    detail = KIND.collect_extra_item_data(rows["3"], rows, hashes)
    linked = [{"prompt": "a book", "images": ["1" * 64]}, {"prompt": "a cat", "images": []}]
    assert KIND.get_extra_page_data(detail, str) == {"linked": linked}
    for detail_without_links in (KIND.collect_extra_item_data(rows["1"], rows, hashes), {}):
        assert KIND.get_extra_page_data(detail_without_links, str) == {"linked": []}


@pytest.mark.realdata
def test_exports_the_published_gimbrr_rows(real_data, tmp_path):
    """Annotate all published images with the published answers."""
    published = read_csv(real_data / PUBLISHED_FILE)
    prompts = {}
    for row in published:
        cells = row | {"prompt_id": row["Prompt_no"], "prompt": row["Prompt"]}
        cells |= {"model": row["Algorithm"], "image": row["File_name"]}
        cells["task"] = cells.pop("Task")  # as in pqpp's dataset
        prompts.setdefault(row["Prompt_no"], []).append(cells)
    votes = []
    for row in published:
        detail = KIND.collect_extra_item_data(prompts[row["Prompt_no"]], prompts, {})
        value = {"label": int(row["annotation"] == "True")}
        fields = {"prompt": row["Prompt"], "model": row["Algorithm"], "detail": detail}
        votes.append(make_vote(row["File_name"], "ann", value, row["Prompt_no"], **fields))
    files = KIND.export_tables(votes)
    exported = read_csv(write_csv(tmp_path / "gimbrr.csv", files["gimbrr"]))
    assert [{name: row[name] for name in published[0]} for row in exported] == published
    assert list(exported[0]) == [*published[0], "Score", "annotator"]
