"""The owner's figures: disagreement, active time, pay, progress and checks."""

import itertools

import numpy as np
import pandas
import pytest
from support.studies import answer_all, answer_item, create_store

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.export import export_study
from pqpp_annotation.owner.downloads import list_payments
from pqpp_annotation.owner.ledger import compute_active_seconds
from pqpp_annotation.owner.overview import DAY, StudyMonitor, compute_disagreements
from pqpp_annotation.protocol.completion import CODE, get_final_page
from pqpp_annotation.store.answers import save_answer
from pqpp_annotation.store.people import add_person, decide_on_person, get_person, withdraw_person
from pqpp_annotation.store.work import reserve_item
from pqpp_annotation.study.study import Payment


def test_disagreement_is_mean_distance_of_vote_pairs():
    draw = np.random.default_rng(0)
    unit, value = draw.integers(0, 30, 200), draw.integers(-1, 3, 200).astype(float)
    disagreements = compute_disagreements(unit, value, 31)
    for n in range(31):
        pairs = list(itertools.combinations(value[unit == n], 2))
        expected = np.mean([abs(a - b) for a, b in pairs]) if pairs else np.nan
        assert disagreements[n] == pytest.approx(expected, nan_ok=True)


def test_ranks_disputes_without_refused_annotators(tmp_path):
    store = create_store(tmp_path, prompts=3, controls=6, control={"every": 2})
    names = ("member", "anna", "boris", "random")
    columns = ([2, 2, 2], [2, 2, 2], [2, 1, -1], [-1, -1, -1])
    for name, labels in zip(names, columns, strict=True):
        person = add_person(store, name, "control" if name == "member" else "annotator").id
        while reserved := reserve_item(store, person):
            number = int(reserved.prompt.split()[-2])
            is_work = reserved.purpose == "work"
            # On control items, all are right except `random`.
            label = labels[number] if is_work else (-1 if number % 2 else 2)
            image_id, reference_id = sorted(image.id for image in reserved.images)
            answers = {image_id: label, reference_id: 2}
            if name == "random":
                answers = {image_id: label if is_work else 1 - label, reference_id: -1}
            for key, label in answers.items():
                save_answer(
                    store, person, reserved.assignment, key, {"label": label}, f"{name}-{key:06}"
                )
    overview = StudyMonitor(store).get_overview()
    states = {row.name: row.state for row in overview.people}
    assert (states["anna"], states["random"]) == ("admitted", "refused")
    assert [(item["prompt_id"], round(item["disagreement"], 6)) for item in overview.disputes] == [
        ("q2", 1.0),
        ("q1", round(1 / 3, 6)),
    ]
    assert overview.disputes[0]["labels"] == {-1.0: 1, 2.0: 1}
    store.close()


@pytest.mark.parametrize(
    ("assigned", "answered", "browser_seconds", "expected"),
    [
        ([0, 150, 300], [150, 300, 450], [150, 150, 150], 450),  # slow work, the first item too
        ([0, 0, 0], [60, 120, 180], [60, 60, 60], 180),  # fetched ahead
        ([0, 0, 0], [180, 181, 181], [60, 60, 60], 180),  # sent at once, after a lost connection
        ([0, 0, 0], [10, 20, 30], [100, 500, 500], 30),  # the browser counts too much
        ([0, 150, 300], [150, 300, 450], [0, 0, 0], 450),  # the browser counts nothing
        ([0, 4000, 9000], [3900, 8000, 9001], [0, 90, 1], 600 + 90 + 1),  # left open
        ([0, 3600, 90], [30, 3630, 120], [30, 30, 30], 90),  # clock an hour ahead, then set back
        ([3600, 3600, 60], [3660, 60, 120], [60, 60, 60], 180),  # set back while two were open
    ],
)
def test_active_seconds(assigned, answered, browser_seconds, expected):
    table = {"assignment_id": [1, 2, 3], "person_id": 1, "seconds": browser_seconds}
    table |= {"given": np.array(assigned) * 1000, "created": np.array(answered) * 1000}
    seconds = compute_active_seconds(pandas.DataFrame(table), Payment())
    assert seconds == {1: pytest.approx(expected)}


def test_open_page_without_answers_is_not_paid(tmp_path):
    store = create_store(tmp_path, payment={"per_hour": 10.0})
    now, person = store.clock(), add_person(store, "ann").id
    for minute in range(9):
        store.clock = lambda minute=minute: now + minute * 60_000
        reserve_item(store, person)
    [row] = StudyMonitor(store).get_overview().people
    assert (row.hours, row.pay.owed) == (0.0, 0.0)
    store.close()


def test_estimates_total_costs(tmp_path):
    rule = {"per_item": 0.5, "per_hour": 12.0}
    store = create_store(tmp_path, prompts=10, people_per_item=2, payment=rule)
    now = [DAY]
    store.clock = lambda: now[0]
    person = add_person(store, "anna", "annotator").id
    for _ in range(5):
        item = reserve_item(store, person)
        now[0] += 60_000
        answer_item(store, person, item)
    money = StudyMonitor(store).get_overview().money
    # Without control members, those who rate reference images highly relevant are admitted: five
    # items at 0.5 each, and 3 s per item at 12 an hour.
    assert money["owed"] == pytest.approx(5 * 0.5 + 0.05)
    assert money["expected"] == pytest.approx(20 * 0.5 + 20 / 5 * 15 / 3600 * 12)
    store.close()


def test_nobody_is_paid_twice(tmp_path):
    """Amounts stay right after clock changes, a revoked refusal and a withdrawal."""
    rule = {"per_item": 0.15, "per_hour": 12}
    store = create_store(tmp_path, prompts=30, people_per_item=9, payment=rule)
    now, monitor = [DAY], StudyMonitor(store)
    store.clock = lambda: now[0]
    ann = add_person(store, "ann").id
    paid, items = [], 0
    for clock_change in (0, 3_600_000, -7_200_000, 3_600_000, 0):
        now[0] += clock_change
        for _ in range(5):
            item = reserve_item(store, ann)
            now[0] += 60_000
            answer_item(store, ann, item)  # the browser counts 1.5 s per image
            items += 1
        paid += [due.pay.owed for due in monitor.record_payments("hand")]
        # 3 s at 12 an hour are one cent.
        assert round(sum(paid), 2) == round(items * 0.16, 2)
    with pytest.raises(AnnotationError, match="no payments are due"):
        monitor.record_payments("hand")
    decide_on_person(store, ann, "refuse")
    assert monitor.get_overview(fresh=True).money["owed"] == 0
    decide_on_person(store, ann, "accept")
    assert monitor.get_overview(fresh=True).money["owed"] == 0
    item = reserve_item(store, ann)
    now[0] += 60_000
    answer_item(store, ann, item)
    [due] = monitor.get_overview(fresh=True).dues
    withdraw_person(store, ann, "delete", {"for_items": 3.9, "for_hours": due.pay.for_hours})
    [leaver] = monitor.record_payments("hand")
    assert leaver.pay.owed == due.pay.owed == 0.16 and monitor.get_overview().money["owed"] == 0
    store.close()


def test_personal_code_is_stored_and_in_the_payment_file(tmp_path):
    completion = {"code": "personal", "url": "https://example.org/?cc={code}&id={PROLIFIC_PID}"}
    store = create_store(tmp_path, prompts=2, completion=completion)
    codes = set()
    for name in ("anna", "boris"):
        person = add_person(store, name, outside={"PROLIFIC_PID": name})
        answer_all(store, person.id)
        stored_person = get_person(store, person.id)
        page = get_final_page(store, stored_person)
        concurrent_page = get_final_page(store, stored_person)  # does not have the code yet
        later_page = get_final_page(store, get_person(store, person.id))
        assert concurrent_page.code == page.code
        assert page == later_page and page.url.endswith(f"?cc={page.code}&id={name}")
        assert get_person(store, person.id).outside[CODE] == page.code
        codes.add(page.code)
    rows = list(list_payments(store.study, StudyMonitor(store).get_overview().dues))
    assert {row["completion_code"] for row in rows} == codes and len(codes) == 2
    assert {row["PROLIFIC_PID"] for row in rows} == {"anna", "boris"}
    store.close()


def test_estimates_days_left_from_the_last_day(tmp_path):
    store = create_store(tmp_path, prompts=10, people_per_item=1)
    now = [10 * DAY]
    store.clock = lambda: now[0]
    person = add_person(store, "anna", "annotator").id
    monitor = StudyMonitor(store)
    assert monitor.get_overview().progress.days_left is None
    for _ in range(4):
        answer_item(store, person, reserve_item(store, person))
        now[0] += DAY // 8
    progress = monitor.get_overview(fresh=True).progress
    # Four items in half a day; six are left.
    assert progress.per_day == pytest.approx(8) and progress.days_left == pytest.approx(0.75)
    assert progress.filled == 4 and progress.share == 0.4
    now[0] += 3 * DAY
    assert monitor.get_overview(fresh=True).progress.days_left is None
    store.close()


def test_refuses_annotators_who_fail_checks(tmp_path):
    rules = {"checks": {"every": 2, "max_wrong": 1}, "payment": {"per_item": 1}}
    store = create_store(tmp_path, prompts=6, check_items=3, **rules)
    good, bad = (add_person(store, name).id for name in ("good", "bad"))
    purposes = [item.purpose for item in answer_all(store, good, {"label": 2})]
    assert purposes.count("check") == 3 and "check" in purposes[:2]
    while item := reserve_item(store, bad):
        answer_item(store, bad, item, {"label": 0 if item.purpose == "check" else 2})
    rows = {row.name: row for row in StudyMonitor(store).get_overview().people}
    assert [(row.state, row.items, row.votes) for row in rows.values()] == [
        ("admitted", 9, 12),
        ("refused", 9, 12),
    ]
    assert rows["bad"].reason == "answered 3 checks incorrectly"
    assert rows["good"].pay.owed == 9 and rows["bad"].pay.owed == 0
    assert rows["bad"].is_refused_for_good(store.study)
    export_study(store, tmp_path / "out")
    lines = {p.name: p.read_text().count("\n") - 1 for p in (tmp_path / "out").glob("*.csv")}
    assert (lines["judgments.csv"], lines["answers.csv"]) == (24, 36)
    decide_on_person(store, bad, "accept")
    assert {row.state for row in StudyMonitor(store).get_overview().people} == {"admitted"}
    store.close()
