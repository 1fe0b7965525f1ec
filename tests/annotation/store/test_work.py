"""Assignments: reservations, control items, training and skips, on both databases."""

import collections
import functools
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.studies import answer_all, answer_item, read_rows

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.answers import iterate_votes, read_records, save_answer
from pqpp_annotation.store.people import add_person, get_person
from pqpp_annotation.store.tables import Answer
from pqpp_annotation.store.work import (
    get_item,
    get_next_step,
    get_past_items,
    get_progress,
    get_training_feedback,
    get_training_state,
    reserve_item,
    skip_item,
)

MINUTE = 60_000


def get_people_by_item(store, purpose="work"):
    people = collections.defaultdict(set)
    for vote in iterate_votes(read_records(store)):
        if vote.purpose == purpose:
            people[vote.prompt_id].add(vote.annotator)
    return people


def test_items_go_to_people_per_item_annotators(make_store):
    store = make_store(prompts=6, people_per_item=2)
    people = [add_person(store, f"p{number}").id for number in range(4)]
    done = [len(answer_all(store, person)) for person in people]
    assert done == [6, 6, 0, 0]
    assert {len(names) for names in get_people_by_item(store).values()} == {2}
    assert get_progress(store, people[2]).left_for_me == 0
    assert get_progress(store, people[0]).study_done == 6


@pytest.fixture
def reserved_item(make_store):
    """A store of one item, the time, the item's reservation by one person, and another person."""
    store = make_store(prompts=1, people_per_item=1)
    now = store.clock()
    store.clock = lambda: now
    first, second = (add_person(store, name).id for name in ("a", "b"))
    return store, now, first, reserve_item(store, first), second


def test_expired_reservation_goes_to_others(reserved_item):
    store, now, first, reserved, second = reserved_item
    assert reserve_item(store, second) is None
    assert reserve_item(store, first) == reserved
    store.clock = lambda: now + 30 * MINUTE
    reassigned = reserve_item(store, second)
    assert reassigned.prompt == reserved.prompt
    with pytest.raises(AnnotationError, match="others rated this item"):
        answer_item(store, first, reserved)
    assert reserve_item(store, first) is None
    answer_item(store, second, reassigned)
    assert get_people_by_item(store) == {"q0": {"b"}}


def test_saving_extends_a_reservation(reserved_item):
    store, now, first, reserved, second = reserved_item
    store.clock = lambda: now + 29 * MINUTE
    save_answer(store, first, reserved.assignment, reserved.images[0].id, {"label": 1}, "client-1")
    store.clock = lambda: now + 58 * MINUTE
    assert reserve_item(store, second) is None


class ForgetfulCache(dict):
    """A cache from which another thread removes each entry that was seen."""

    def __contains__(self, key):
        return self.pop(key, None) is not None

    def get(self, key):
        return self.pop(key, None)


def test_concurrent_annotators_never_exceed_the_places(make_store):
    store = make_store(prompts=12, people_per_item=3)
    store.orders = ForgetfulCache()
    people = [add_person(store, f"p{number}").id for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(functools.partial(answer_all, store), people))
    counts = {prompt: len(names) for prompt, names in get_people_by_item(store).items()}
    assert counts == {f"q{number}": 3 for number in range(12)}


def test_skipped_control_items_are_replaced(make_store):
    store = make_store(prompts=20, controls=8, control={"every": 4})
    person = add_person(store, "a").id
    answered, skipped = [], 0
    while item := reserve_item(store, person):
        if item.purpose == "control" and skipped < 3 and len(answered) > 2:
            skip_item(store, person, item.assignment)
            skipped += 1
            continue
        answer_item(store, person, item)
        answered.append(item.purpose)
    assert skipped == 3 and answered.count("control") == 5
    for length in range(1, 20):
        assert abs(answered[:length].count("control") - length / 4) < 1


def test_control_members_get_control_items_only(make_store):
    store = make_store(prompts=5, controls=3, people_per_item=1)
    members = [add_person(store, name, "control").id for name in ("x", "y")]
    for member in members:
        assert [item.purpose for item in answer_all(store, member)] == ["control"] * 3
        assert get_progress(store, member).left_for_me == 0
    owner = add_person(store, "o", "owner").id
    assert reserve_item(store, owner) is None
    person = add_person(store, "a").id
    assert len(answer_all(store, person)) >= 5


def test_personal_orders_are_stable_when_prompts_are_added(make_store):
    from support.studies import write_table

    from pqpp_annotation.study import add_prompts

    store = make_store(prompts=12, people_per_item=9)
    people = [add_person(store, f"p{number}").id for number in range(3)]
    before = [reserve_item(store, person).prompt for person in people]
    write_table(store.study.root, prompts=20)
    assert add_prompts(store.study, store.study.root / "prompts.csv") == 8
    assert [reserve_item(store, person).prompt for person in people] == before
    orders = [tuple(item.prompt for item in answer_all(store, person)) for person in people]
    assert len(set(orders)) == 3 and all(len(order) == 20 for order in orders)
    image_ids = [
        [image.id for image in get_item(store, person, past.assignment).images]
        for person in people
        for past in get_past_items(store, person)
    ]
    assert {ids == sorted(ids) for ids in image_ids} == {True, False}


def test_training_comes_first_and_has_two_tries(make_store):
    store = make_store(prompts=3, training=4, people_per_item=9)
    good, bad = (add_person(store, name).id for name in ("good", "bad"))
    assert [item.purpose for item in answer_all(store, good)] == ["training"] * 2 + ["work"] * 3
    prompts = set()
    for tries_left in (2, 1):
        state = get_training_state(store, bad)
        progress = (state.tries_left, state.total, state.done, state.is_passed)
        assert progress == (tries_left, 2, 0, False)
        for _ in range(2):
            item = reserve_item(store, bad)
            prompts.add(item.prompt)
            answer_item(store, bad, item, {"label": 0})
        assert (get_training_state(store, bad).done, get_training_state(store, bad).right) == (2, 0)
        if tries_left == 2:
            assert reserve_item(store, bad).purpose == "training"
    for _ in range(2):
        assert reserve_item(store, bad) is None and get_next_step(store, bad).name == "screened_out"
    assert get_training_state(store, bad).tries_left == 0
    assert get_person(store, bad).training_tries == 2
    assert len(prompts) == 4  # the second try has other items
    # The answers of the failed tries are kept.
    ids = [past.assignment for past in get_past_items(store, bad)]
    answers = [row for row in read_rows(store, Answer) if row.assignment_id in ids]
    assert len(answers) == 8 and {row.current for row in answers} == {True}


def test_training_feedback_requires_an_answer(make_store):
    store = make_store(prompts=1, training=2)
    person = add_person(store, "a").id
    item = reserve_item(store, person)
    with pytest.raises(AnnotationError, match="not an answered practice item"):
        get_training_feedback(store, person, item.assignment)
    first = item.images[0].id
    save_answer(store, person, item.assignment, first, {"label": 2}, "client-1")
    answer_item(store, person, item, {"label": 0})  # an answer can be changed until all are given
    is_right, expected = get_training_feedback(store, person, item.assignment)
    assert is_right is False and expected == {image.id: {"label": 2} for image in item.images}
    with pytest.raises(AnnotationError, match="answered this practice item"):
        answer_item(store, person, item)
    with pytest.raises(AnnotationError, match="cannot be skipped"):
        skip_item(store, person, item.assignment)


def test_reserves_up_to_five_items_ahead(make_store):
    store = make_store(prompts=9)
    person = add_person(store, "a").id
    reserved = [reserve_item(store, person)]
    while (item := reserve_item(store, person, after=reserved[-1].assignment)) is not None:
        reserved.append(item)
    assert len({item.assignment for item in reserved}) == len(reserved) == 5
    assert reserve_item(store, person, after=reserved[0].assignment) == reserved[1]
    assert reserve_item(store, person) == reserved[0]
    for item in reserved:
        answer_item(store, person, item)
    assert len(answer_all(store, person)) == 4


def test_rejects_items_of_others(make_store):
    store = make_store()
    first, second = (add_person(store, name).id for name in ("a", "b"))
    item = reserve_item(store, first)
    for attempt in (
        lambda: get_item(store, second, item.assignment),
        lambda: skip_item(store, second, item.assignment),
        lambda: answer_item(store, second, item),
        lambda: get_training_feedback(store, second, item.assignment),
    ):
        with pytest.raises(AnnotationError, match="not assigned to you"):
            attempt()
