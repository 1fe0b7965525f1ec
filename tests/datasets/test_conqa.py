"""ConQA: rows, relevance rules, candidate images and damaged files."""

import json

import pytest
from datasets import load_dataset
from support.benchmark_folders import CONQA_VOTES, write_conqa

from pqpp_datasets.errors import BenchmarkError

pytestmark = pytest.mark.usefixtures("cache")


def load(folder, name="conqa", **options):
    return load_dataset("pqpp", name, data_dir=str(folder), **options)


def test_reads_a_row(tmp_path):
    rows = load(write_conqa(tmp_path))
    assert set(rows) == {"conceptual", "descriptive"}
    assert rows["conceptual"][0] == {
        "query_id": 0,
        "query": "people at work",
        "kind": "conceptual",
        "seeds": [11, 12],
        "judgments": {
            "image_id": [11, 12, 14, 15],
            "relevant": [3, 3, 1, 0],
            "non_relevant": [0, 1, 1, 3],
            "unsure": [0, 0, 1, 0],
            "label": [1, 0, 0, 0],
        },
        "rephrasings": ["work", "labour"],
    }
    assert rows["descriptive"]["query_id"][:] == [3]


LABELS = {"unanimous": [1, 0, 0, 0], "majority": [1, 1, 0, 0], "any": [1, 1, 1, 0]}


@pytest.mark.parametrize("rule", LABELS)
def test_relevance_rules(tmp_path, rule):
    rows = load(write_conqa(tmp_path), relevance_rule=rule, split="conceptual")
    assert rows[0]["judgments"]["label"] == LABELS[rule]


def change_votes(**changes):
    return {**CONQA_VOTES, "0": {**CONQA_VOTES["0"], **changes}}


DAMAGED_VOTES = {
    "two counts": (
        change_votes(**{"14": [1, 2]}),
        r"mturk\.json, 0, 14: .* three vote counts .*, got \[1, 2\]",
    ),
    "negative": (change_votes(**{"14": [1, -2, 0]}), r"0, 14, 1: expected a vote count, got -2"),
    "missing query": ({"0": CONQA_VOTES["0"]}, r"mturk\.json: query 3 not found"),
}


@pytest.mark.parametrize("name", DAMAGED_VOTES)
def test_error_names_file_and_query(tmp_path, name):
    votes, expected = DAMAGED_VOTES[name]
    with pytest.raises(BenchmarkError, match=expected) as excinfo:
        load(write_conqa(tmp_path, votes))
    assert "\n" not in str(excinfo.value) and "restore" in str(excinfo.value)


RECORDS = {
    "conceptual": [
        (1, "working class life", 9, 100, 41),
        (15, "culturally diverse party", 7, 100, 24),
        (81, "terror of the unknown", 7, 100, 7),
    ],
    "descriptive": [
        (0, "people chopping vegetables", 5, None, 20),
        (24, "family vacation", 14, None, 46),
        (80, "sunsets over a city skyline", 10, None, 21),
    ],
}


@pytest.mark.realdata
def test_real_counts_and_records(real_data):
    splits = load(real_data / "conqa")
    assert splits.num_rows == {"conceptual": 50, "descriptive": 30}
    for name, expected in RECORDS.items():
        for index, (query_id, query, seeds, _, relevant) in zip((0, 9, -1), expected, strict=True):
            row = splits[name][index]
            assert (row["query_id"], row["query"]) == (query_id, query)
            assert (len(row["seeds"]), sum(row["judgments"]["label"])) == (seeds, relevant)
    rows = [row for split in splits.values() for row in split]
    assert sum(len(row["query"].split()) for row in rows) / 80 == 3.375
    assert sum(len(row["judgments"]["label"]) for row in rows) / 80 == pytest.approx(105.1, abs=0.1)
    assert sum(sum(row["judgments"]["label"]) for row in rows) / 80 == pytest.approx(22.5, abs=0.1)
    assert all(len(row["rephrasings"]) == 10 for row in rows)


@pytest.mark.realdata
def test_real_candidates(real_data):
    ids = load(real_data / "conqa", "conqa-candidates", split="candidates")["image_id"][:]
    assert (len(ids), ids[0], ids[9], ids[-1]) == (43413, 61512, 61533, 2417994)
    votes_by_query = json.loads((real_data / "conqa" / "mturk.json").read_text())
    assert {int(image) for votes in votes_by_query.values() for image in votes} <= set(ids)
