"""Decisions of the owner and the rules, and reopened places."""

from collections import Counter

import pytest
from support.studies import answer_all, answer_item

from pqpp_annotation.demo import Persona, simulate_answers
from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.export import export_study
from pqpp_annotation.owner.overview import StudyMonitor
from pqpp_annotation.store import people
from pqpp_annotation.store.answers import iterate_votes, read_records
from pqpp_annotation.store.people import add_person, decide_on_person, find_person
from pqpp_annotation.store.work import get_next_step, get_progress, reserve_item
from pqpp_files.read_table import read_table


def count_usable(store):
    """Return the number of admitted annotators of each work prompt."""
    states = {row.name: row.state for row in StudyMonitor(store).get_overview().people}
    votes = [vote for vote in iterate_votes(read_records(store)) if vote.purpose == "work"]
    rated = {(v.prompt_id, v.annotator) for v in votes if states[v.annotator] == "admitted"}
    return Counter(prompt for prompt, _ in rated)


def make_careless_study(make_store, reopen_after):
    """Make a study of 24 prompts with 3 places each, rated by 5 honest and 2 careless people."""
    rules = {"admission": {"min_reference_share": 0.0}, "reopen_after": reopen_after}
    store = make_store(prompts=24, controls=8, control={"every": 2}, people_per_item=3, **rules)
    manners = [("member", "honest", "control")]
    manners += [(f"good-{number}", "honest", "annotator") for number in range(5)]
    manners += [("random", "random", "annotator"), ("always", "constant", "annotator")]
    crowd = [Persona(name, manner, noise=0.03, role=role) for name, manner, role in manners]
    simulate_answers(store, crowd[:1], seed=1)
    simulate_answers(store, crowd[1:], seed=1)
    return store


def test_places_of_refused_people_are_reopened(make_store):
    store = make_careless_study(make_store, None)
    overview = StudyMonitor(store).get_overview()
    states = {row.name: row.state for row in overview.people}
    assert [name for name, state in states.items() if state == "refused"] == ["random", "always"]
    counts = count_usable(store).values()
    assert overview.progress.filled == sum(counts)
    assert overview.progress.complete == sum(count >= 3 for count in counts) < 24
    assert overview.progress.closed == overview.progress.places - overview.progress.filled
    store.study.reopen_after = 10
    monitor, now = StudyMonitor(store), store.clock()
    store.clock = lambda: now
    assert monitor.reopen_places() == []  # the second check decides
    store.clock = lambda: now + 600_000
    assert sorted(monitor.reopen_places()) == ["always", "random"]
    assert monitor.reopen_places() == []  # once
    assert monitor.get_overview(fresh=True).progress.closed == 0
    # Refused people get nothing more, and others fill the places.
    refused = find_person(store, "random").id
    assert reserve_item(store, refused) is None
    assert get_next_step(store, refused).name == "screened_out"
    simulate_answers(store, [Persona(f"later-{n}", noise=0.03) for n in range(2)], seed=2)
    assert set(count_usable(store).values()) == {3} and len(count_usable(store)) == 24
    overview = monitor.get_overview(fresh=True)
    assert (overview.progress.complete, overview.progress.share) == (24, 1.0)


@pytest.mark.parametrize("exclude", [None, "flagged"])
def test_hasty_annotators_are_stopped_if_flagged_are_excluded(make_store, exclude):
    rules = {"min_reference_share": 0.0, "exclude": exclude}
    store = make_store(prompts=30, people_per_item=3, kind="rating", admission=rules)
    people = [Persona(f"good-{number}", noise=0.03) for number in range(2)]
    simulate_answers(store, [*people, Persona("hasty", noise=0.03, seconds=0.1)])
    monitor, now = StudyMonitor(store), store.clock()
    flags = {row.name: row.flag for row in monitor.get_overview().people}
    assert [name for name, flag in flags.items() if flag] == ["hasty"]
    store.clock = lambda: now
    assert monitor.reopen_places() == []
    store.clock = lambda: now + 600_000
    assert monitor.reopen_places() == (["hasty"] if exclude else [])
    assert (reserve_item(store, find_person(store, "hasty").id) is None) or not exclude


def test_owner_decisions_override_the_rules(make_store):
    store = make_store(prompts=4, people_per_item=1)
    ann, bob = (add_person(store, name).id for name in ("ann", "bob"))
    answer_all(store, ann)
    assert reserve_item(store, bob) is None and get_next_step(store, bob).name == "quota_full"
    decide_on_person(store, ann, "refuse")
    states = {row.name: row.state for row in StudyMonitor(store).get_overview().people}
    assert states["ann"] == "refused"
    assert get_progress(store, bob).left_for_me == 4
    assert len(answer_all(store, bob)) == 4
    decide_on_person(store, ann, "accept")  # now each item has two annotators
    overview = StudyMonitor(store).get_overview()
    states = {row.name: row.state for row in overview.people}
    assert states == {"ann": "admitted", "bob": "admitted"}
    assert overview.progress.filled == 4
    decide_on_person(store, ann, "rules")
    now = store.clock()
    for minutes, refused, stopped in (
        (0, ann, []),
        (11, bob, []),
        (22, ann, []),
        (33, ann, ["ann"]),
    ):
        store.clock = lambda minutes=minutes: now + minutes * 60_000
        assert people.refuse_by_rules(store, [refused]) == stopped
    decide_on_person(store, bob, "accept")
    assert people.refuse_by_rules(store, [bob]) == []  # accepted by the owner
    for decision in ("shoot", ""):
        with pytest.raises(AnnotationError, match="decision"):
            decide_on_person(store, bob, decision)
    owner = add_person(store, "owner", "owner").id
    with pytest.raises(AnnotationError, match="is not an annotator"):
        decide_on_person(store, owner, "refuse")


def test_refusal_releases_reserved_items(make_store):
    store = make_store(prompts=1, people_per_item=1)
    ann, bob = (add_person(store, name).id for name in ("ann", "bob"))
    reserved = reserve_item(store, ann)
    assert get_next_step(store, bob).name == "waiting" and get_next_step(store, bob).minutes == 30
    assert reserve_item(store, bob) is None
    decide_on_person(store, ann, "refuse")
    assert reserve_item(store, bob).prompt == reserved.prompt
    with pytest.raises(AnnotationError, match="others rated this item"):
        answer_item(store, ann, reserved)
    assert reserve_item(store, bob) is not None
    assert len(answer_all(store, bob)) == 1
    with store.begin_read() as db:
        from pqpp_annotation.store.items import count_items

        assert count_items(db).finished == 1


def test_export_follows_owner_decisions(make_store, tmp_path):
    store = make_store(prompts=3, people_per_item=3)
    for name in ("ann", "bob"):
        answer_all(store, add_person(store, name).id)
    decide_on_person(store, find_person(store, "bob").id, "refuse")
    lines = export_study(store, tmp_path / "votes")
    rows = read_table(tmp_path / "votes" / "annotators.csv")
    assert rows["reason"] == ["", "rejected by the owner"]
    assert set(read_table(tmp_path / "votes" / "counted" / "judgments.csv")["annotator"]) == {"ann"}
    assert any("counted" in line and "pqpp build" in line for line in lines)


def test_trial_answers_are_not_exported_and_fill_no_place(make_store, tmp_path):
    store = make_store(prompts=4, people_per_item=1, controls=2, control={"every": 2}, training=2)
    trial = add_person(store, "trial", "trial").id
    purposes = [item.purpose for item in answer_all(store, trial)]
    assert purposes.count("work") == 4 and purposes[0] == "training"
    assert list(iterate_votes(read_records(store))) == []
    ann = add_person(store, "ann").id
    assert [item.purpose for item in answer_all(store, ann)].count("work") == 4
    another = add_person(store, "trial again", "trial").id
    assert [item.purpose for item in answer_all(store, another)].count("work") == 4
    export_study(store, tmp_path / "votes")
    for name in ("answers", "judgments", "annotators"):
        assert set(read_table(tmp_path / "votes" / f"{name}.csv")["annotator"]) == {"ann"}
    overview = StudyMonitor(store).get_overview()
    assert [row.name for row in overview.people] == ["ann"]
    votes = read_table(tmp_path / "votes" / "judgments.csv")
    assert sum(count for _, count in overview.days) == len(votes["annotator"])
