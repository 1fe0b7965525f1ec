"""Saving answers, and reading them as votes, on both databases."""

import collections

import pytest
from sqlalchemy import select
from support.studies import answer_all, answer_item, read_rows

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store import tables
from pqpp_annotation.store.answers import count_answers, iterate_votes, read_records, save_answer
from pqpp_annotation.store.people import add_person, get_person, withdraw_person
from pqpp_annotation.store.work import reserve_item, skip_item


def test_repeated_client_id_is_saved_once(store):
    person = add_person(store, "a").id
    item = reserve_item(store, person)
    ids = [image.id for image in item.images]
    for _ in range(2):
        first = (store, person, item.assignment, ids[0], {"label": 1}, "client-1", 2)
        assert not save_answer(*first)
    for _ in range(2):
        assert save_answer(store, person, item.assignment, ids[1], {"label": 2}, "client-2", 3)
    assert count_answers(store) == 2
    next_item = reserve_item(store, person)
    with pytest.raises(AnnotationError, match="client_id: used for another"):
        image_id = next_item.images[0].id
        save_answer(store, person, next_item.assignment, image_id, {"label": 1}, "client-1")


def test_replaced_answers_are_kept(store):
    person = add_person(store, "a").id
    item = reserve_item(store, person)
    answer_item(store, person, item, {"label": 0})
    answer_item(store, person, item, {"label": 2})
    assert [vote.value["label"] for vote in iterate_votes(read_records(store))] == [2, 2]
    assert sorted(row.value["label"] for row in read_rows(store, tables.Answer)) == [0, 0, 2, 2]
    with store.begin_read() as db:
        assert db.scalars(select(tables.Item.done)).all().count(1) == 1


def test_votes_have_all_export_fields(store):
    person = add_person(store, "a").id
    member = add_person(store, "m", "control").id
    assert reserve_item(store, member) is None
    items = answer_all(store, person)
    votes = list(iterate_votes(read_records(store)))
    assert len(votes) == 2 * len(items) == 8
    names = [(f"q{n}", f"{n}-{model}.png") for n in range(4) for model in ("sdxl", "reference")]
    assert [(vote.prompt_id, vote.image) for vote in votes] == names
    vote = votes[1]
    assert (vote.model, vote.annotator, vote.is_control) == ("reference", "a", False)
    assert (vote.value, vote.seconds, vote.purpose) == ({"label": 2}, 1.5, "work")
    assert (vote.width, vote.height, vote.prompt) == (8, 6, "a cat and 0 dogs")


def test_votes_exclude_skipped_items(store):
    person = add_person(store, "a").id
    item = reserve_item(store, person)
    save_answer(store, person, item.assignment, item.images[0].id, {"label": 1}, "client-1")
    assert len(list(iterate_votes(read_records(store)))) == 1
    skip_item(store, person, item.assignment)
    assert list(iterate_votes(read_records(store))) == [] and count_answers(store) == 1


def test_withdrawal_deletes_or_anonymizes_answers(store):
    first, second = (add_person(store, name).id for name in ("a", "b"))
    for person in (first, second):
        answer_all(store, person)
    withdraw_person(store, first, "delete")
    withdraw_person(store, second, "anonymous")
    names = collections.Counter(vote.annotator for vote in iterate_votes(read_records(store)))
    assert len(names) == 1 and names.total() == 8 and next(iter(names)).startswith("withdrawn-")
    events = [row.detail for row in read_rows(store, tables.Event) if row.kind == "withdrawn"]
    assert events == [{"mode": "delete"}, {"mode": "anonymous"}]
    with store.begin_read() as db:
        assert db.scalars(select(tables.Item.done)).all() == [1] * 4
    for person in (first, second):
        assert get_person(store, person).withdrawn is not None
    # The places of the person whose answers were deleted are free again.
    assert all(len(answer_all(store, add_person(store, name).id)) == 4 for name in ("c", "d"))
    assert answer_all(store, add_person(store, "e").id) == []
