"""The kind `order`: ranks, ties, page names and exports."""

import pytest
from support.kinds import find_error, make_item
from support.studies import answer_all, create_store

from pqpp_annotation.export import export_study
from pqpp_annotation.kinds import get_task_kind
from pqpp_annotation.store.answers import iterate_votes, read_records
from pqpp_annotation.store.people import add_person
from pqpp_datasets.own_benchmark.build import BuildOptions, build_benchmark

KIND = get_task_kind("order")


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"4": 1, "7": 2, "9": 3}, None),
        ({"4": 1, "7": 1, "9": 2}, None),
        ({"4": 1, "7": 1, "9": 1}, None),
        ({"4": 1, "7": 2}, "each image"),
        ({"4": 1, "7": 2, "9": 3, "8": 4}, "each image"),
        ({"4": 1, "7": 3, "9": 3}, "no gaps"),
        ({"4": 2, "7": 2, "9": 3}, "no gaps"),
        ({"4": 0, "7": 1, "9": 2}, "greater than or equal"),
        ({"4": 1, "7": 1.5, "9": 2}, "valid integer"),
    ],
)
def test_checks_ranks(places, message):
    error = find_error(KIND, {"places": places}, make_item(4, 7, 9), {})
    assert (error is None) if message is None else message in error


def test_rejects_ties_if_disabled():
    tied = {"places": {"4": 1, "7": 1}}
    assert "no ties" in find_error(KIND, tied, make_item(4, 7), {"ties": False})
    assert find_error(KIND, {"places": {"4": 2, "7": 1}}, make_item(4, 7), {"ties": False}) is None


def test_converts_page_names_to_image_ids():
    ids = {"ff": 4, "aa": 11, "cc": 9}
    page_answer = {"places": {"ff": 1, "aa": 2, "cc": 2}}
    stored = KIND.answer_from_page(page_answer, ids)
    assert stored == {"places": {"4": 1, "11": 2, "9": 2}}
    names = {number: name for name, number in ids.items()}
    assert KIND.answer_to_page(stored, names) == page_answer
    for invalid in ({"places": {"xx": 1}}, {"places": 3}, {}):
        assert find_error(KIND, KIND.answer_from_page(invalid, ids), make_item(4, 9, 11), {})


def test_build_reads_the_export(tmp_path):
    store = create_store(tmp_path, kind="order", prompts=2)
    answer_all(store, add_person(store, "ann").id)
    rows = list(KIND.export_tables(iterate_votes(read_records(store)))["rankings"])
    assert len(rows) == 4 and {row["rank"] for row in rows} == {1, 2}
    export_study(store, tmp_path / "votes")
    store.close()
    options = BuildOptions(prior_wins=0.5)
    built = build_benchmark(rankings=tmp_path / "votes" / "rankings.csv", options=options)
    wins = {row["prompt_id"]: row["model"] for row in rows if row["rank"] == 1}
    for prompt in built.splits["train"].to_pylist():
        assert prompt[f"{wins[prompt['prompt_id']]}_rate"] == 1
