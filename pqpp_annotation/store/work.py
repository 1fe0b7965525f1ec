"""Assignments of items to people: reservations, the training round, and the next step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Row, and_, bindparam, case, func, insert, or_, select, update

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import ShownImage, ShownItem
from pqpp_annotation.protocol.order import is_control_at, shuffle_ids
from pqpp_annotation.store.items import count_items
from pqpp_annotation.store.people import get_person
from pqpp_annotation.store.tables import (
    Answer,
    Asset,
    Assignment,
    Event,
    Item,
    ItemImage,
    Person,
    StudyRow,
)
from pqpp_annotation.store.transactions import Transaction, reads, split_ids, writes, writes_locked

MINUTE = 60_000
Feedback = tuple[bool, Mapping[int | None, Mapping[str, Any]]]
_EXEMPT = select(Person.id).where(or_(Person.reopened.is_not(None), Person.role == "trial"))
_RESERVED = and_(Assignment.state == "open", Assignment.expires > bindparam("now"))
TAKES_PLACE = and_(or_(Assignment.state == "done", _RESERVED), Assignment.person_id.not_in(_EXEMPT))
"""The condition that an assignment occupies one of its item's places at the time `now`."""

_PLACE_COUNT = select(func.count()).where(TAKES_PLACE)
_TAKEN = _PLACE_COUNT.where(
    Assignment.item_id == bindparam("item"), Assignment.person_id != bindparam("person")
)
_ITEM_CONTENT = (
    select(Item.prompt, Item.purpose, Item.detail, ItemImage.id, *Asset.__table__.c)
    .select_from(Item)
    .join(ItemImage)
    .join(Asset)
    .where(Item.id == bindparam("item"))
)
_COLUMNS = Assignment.__table__.c
_IS_OWN = Assignment.person_id == bindparam("person")
_ASSIGNMENT = select(*_COLUMNS).where(Assignment.id == bindparam("id"))
_LOCKED_ASSIGNMENT = _ASSIGNMENT.with_for_update()
_TRAINING_ASSIGNMENTS = select(*_COLUMNS).join(Item).where(_IS_OWN, Item.purpose == "training")
_OPEN = select(*_COLUMNS).where(_IS_OWN, Assignment.state == "open").order_by(Assignment.position)
_UPDATE_ASSIGNMENT = update(Assignment).where(Assignment.id == bindparam("assignment"))
_CURRENT_ANSWERS = select(Answer.item_image_id, Answer.value).where(
    Answer.assignment_id == bindparam("assignment"), Answer.current
)


def get_assignment(db: Transaction, person_id: int, assignment_id: int, lock: bool = False) -> Row:
    """Return the row of a person's assignment.

    Raises:
        AnnotationError: The assignment is another person's or does not exist.
    """
    assignment = db.run(_LOCKED_ASSIGNMENT if lock else _ASSIGNMENT, id=assignment_id).first()
    if assignment is None or assignment.person_id != person_id:
        raise AnnotationError("this item is not assigned to you; continue with your own items", 403)
    return assignment


def change_assignment(db: Transaction, assignment_id: int, **columns: Any) -> None:
    """Change columns of an assignment."""
    db.run(_UPDATE_ASSIGNMENT, assignment=assignment_id, **columns)


def get_item_content(db: Transaction, item_id: int) -> tuple[Row, dict[int, Any]]:
    """Return a row with an item's prompt, purpose and detail, and its images by id."""
    rows = db.run(_ITEM_CONTENT, item=item_id).all()
    return rows[0], {row.id: row for row in rows}


@reads
def get_item(db: Transaction, person_id: int, assignment_id: int) -> ShownItem:
    """Return an item that was assigned to a person, with the person's answers.

    Raises:
        AnnotationError: The assignment is another person's or does not exist.
    """
    return build_shown_item(db, get_assignment(db, person_id, assignment_id))


def build_shown_item(db: Transaction, assignment: Row) -> ShownItem:
    """Return the item of an assignment, with its images in the person's order."""
    item, images = get_item_content(db, assignment.item_id)
    seeds = (db.study.seed, "images", assignment.person_id, assignment.item_id)
    ordered_images = {key: images[key] for key in shuffle_ids(images, *seeds)}
    return ShownItem(
        assignment=assignment.id,
        prompt=item.prompt,
        images=tuple(
            ShownImage(key, i.sha256, i.width, i.height, i.frame[3] - i.frame[1])
            for key, i in ordered_images.items()
        ),
        answers=get_answers(db, assignment.id),
        purpose=item.purpose,
        detail=item.detail,
    )


@reads
def get_item_images(db: Transaction, item_id: int) -> dict[int | str, Any]:
    """Return an item's own images by id, and its linked images by hash."""
    item, images = get_item_content(db, item_id)
    others = db.study.kind.list_linked_images(item.detail)
    return images | {sha256: db.get_one(Asset, sha256) for sha256 in others}


def get_answers(db: Transaction, assignment_id: int) -> dict[int | None, dict[str, Any]]:
    """Return the current answers of an assignment, by image id (None for the item)."""
    return dict(map(tuple, db.run(_CURRENT_ANSWERS, assignment=assignment_id)))


def get_reservation_end(db: Transaction) -> int:
    """Return the end of a reservation that starts now, in milliseconds."""
    return db.now() + int(db.study.reservation_minutes * MINUTE)


def has_free_place(db: Transaction, person: Person, assignment: Row) -> bool:
    """Return whether an assigned work item has a place for the person."""
    if person.role == "trial":
        return True
    taken = db.run(_TAKEN, item=assignment.item_id, person=person.id, now=db.now()).scalar_one()
    return taken < db.study.people_per_item


@dataclass(frozen=True)
class TrainingState:
    """A person's progress in the training round.

    Attributes:
        done: Number of items answered in this try.
        total: Number of items in a try.
        right: Number of items answered correctly in this try.
        tries_left: Number of tries left, including the current one.
        is_passed: Whether the person can work on other items; True without training.
    """

    done: int
    total: int
    right: int
    tries_left: int
    is_passed: bool


@reads
def get_training_state(db: Transaction, person_id: int) -> TrainingState:
    """Return a person's progress in the training round, which owners and control members skip."""
    person = get_person(db, person_id)
    total, remaining_tries = _get_tries(db, person)
    if person.trained is not None or not total or person.role not in ("annotator", "trial"):
        return TrainingState(0, total, 0, len(remaining_tries), True)
    items = remaining_tries[0] if remaining_tries else []
    assignments = db.run(_TRAINING_ASSIGNMENTS, person=person_id)
    done = [row for row in assignments if row.state == "done" and row.item_id in items]
    right = sum(_get_feedback(db, row)[0] for row in done)
    return TrainingState(len(done), total, right, len(remaining_tries), False)


def _get_tries(db: Transaction, person: Person) -> tuple[int, list[list[int]]]:
    """Return the number of training items per try, and the ids of those of each try left."""
    order, rules = db.get_item_order(person.id, "training").tolist(), db.study.training
    total = min(len(order), rules.items or max(1, len(order) // rules.tries))
    tries = min(rules.tries, len(order) // total) if total else 0
    return total, [order[n * total :][:total] for n in range(person.training_tries, tries)]


@reads
def get_training_feedback(db: Transaction, person_id: int, assignment_id: int) -> Feedback:
    """Return the feedback on an answered training item.

    Returns:
        Whether all answers are right, and the right answers by image id (None for the item).

    Raises:
        AnnotationError: The item is another person's, not a training item, or not answered yet.
    """
    return _get_feedback(db, get_assignment(db, person_id, assignment_id))


def _get_feedback(db: Transaction, assignment: Row) -> Feedback:
    item = db.get_one(Item, assignment.item_id)
    if item.purpose != "training" or assignment.state != "done":
        raise AnnotationError("this is not an answered practice item; choose another item", 403)
    images = select(ItemImage.image, ItemImage.id).where(ItemImage.item_id == item.id)
    ids = {"": None, **dict(db.execute(images).all())}
    expected = {ids[name]: value for name, value in item.expected.items()}
    answers, kind = get_answers(db, assignment.id), db.study.kind
    is_right = all(k in answers and kind.is_right(answers[k], expected[k]) for k in expected)
    return is_right, expected


def finish_training_try(db: Transaction, person: Person, now: int) -> TrainingState:
    """Record a pass or fail if all items of a person's try are answered.

    Called when the person requests the next item, after reading the feedback on the last one.

    Returns:
        The person's progress after that.
    """
    state, rules = get_training_state(db, person.id), db.study.training
    if state.is_passed or state.done < state.total or not state.tries_left:
        return state
    if state.right >= rules.least * state.total:
        person.trained = now
        return replace(state, is_passed=True)
    person.training_tries += 1
    if state.tries_left == 1:
        person.stopped = now
    return replace(state, done=0, right=0, tries_left=state.tries_left - 1)


MOST_OPEN = 5
"""Maximum number of open items per person: the one on the page, and some loaded ahead in case the
connection fails."""

_COUNT = select(func.count()).join_from(Assignment, Item).where(_IS_OWN, Item.purpose != "training")
_ASSIGNED_ITEM_IDS = select(Assignment.item_id).where(_IS_OWN, Assignment.state != "expired")
_NEXT_POSITION = _COUNT.where(Assignment.state.in_(("open", "done")))
_PAUSED = select(StudyRow.paused)
# The person's last position, and the id of their assignment to an item.
_LAST_POSITION_AND_ID = select(
    func.max(Assignment.position),
    func.max(case((Assignment.item_id == bindparam("item"), Assignment.id))),
).where(_IS_OWN)
_UNSEEN = (Item.done < bindparam("places"), Item.id.not_in(_ASSIGNED_ITEM_IDS))
_FREE_ITEM_IDS = select(Item.id).where(
    Item.id.in_(bindparam("part", expanding=True)),
    *_UNSEEN,
    _PLACE_COUNT.where(Assignment.item_id == Item.id).scalar_subquery() < bindparam("places"),
)
# The earliest expiry of others' reservations of items that the person has not seen.
_FIRST_EXPIRY = (
    select(func.min(Assignment.expires))
    .join(Item)
    .where(
        Assignment.state == "open",
        Assignment.expires > bindparam("now"),
        TAKES_PLACE,
        Item.purpose == "work",
        *_UNSEEN,
    )
)
_IS_CLOSED = Assignment.state.in_(("done", "skipped"))
_PROGRESS = _COUNT.with_only_columns(
    func.count().filter(Assignment.state == "done"),
    func.count().filter(Assignment.state == "skipped"),
    func.count().filter(_IS_CLOSED, Item.purpose == "control"),
    func.count().filter(_IS_CLOSED, Item.purpose == "work", Item.done < bindparam("places")),
)
_INSERT_ASSIGNMENT = insert(Assignment).returning(*_COLUMNS)
_REOPEN_ASSIGNMENT = _UPDATE_ASSIGNMENT.returning(*_COLUMNS)


@dataclass(frozen=True)
class PersonProgress:
    """The progress of a person and of the study, in items other than training items.

    Attributes:
        done: Items finished by the person.
        skipped: Items skipped by the person.
        left_for_me: Items left for the person, up to `items_per_person`.
        study_done: Work items with as many annotators as the study requires.
        study_total: All work items.
    """

    done: int
    skipped: int
    left_for_me: int
    study_done: int
    study_total: int


@dataclass(frozen=True)
class NextStep:
    """The next step of a person: another item, or the reason why there is none.

    Attributes:
        name: `work` (another item), `complete`, `screened_out`, `quota_full` (others filled all
            places), `waiting` (reserved places may become free) or `paused` (by the owner).
        minutes: Minutes to wait if `waiting`, else 0.
    """

    name: str
    minutes: int = 0


@writes_locked
def reserve_item(db: Transaction, person_id: int, after: int | None = None) -> ShownItem | None:
    """Reserve and return a person's next item.

    Training items come first, then work items mixed with control items and checks. Open items are
    returned again before new ones are assigned.

    Args:
        after: Id of an assignment; return the item after it, so that a page can load ahead.

    Returns:
        The item; None if there is none (see `get_next_step`) or the person has `MOST_OPEN` open
        items.
    """
    person = get_person(db, person_id)
    training = finish_training_try(db, person, db.now())
    assignment = None
    if training.is_passed and person.stopped is None:
        assignment = _reserve_work_item(db, person, after)
    elif training.tries_left and person.stopped is None:
        assignments = {row.item_id: row for row in db.run(_TRAINING_ASSIGNMENTS, person=person_id)}
        _, (items, *_) = _get_tries(db, person)
        unanswered = (n for n in items if n not in assignments or assignments[n].state != "done")
        if (item_id := next(unanswered, None)) is not None:
            assignment = assignments.get(item_id) or _create_reservation(db, person_id, item_id)
    return None if assignment is None else build_shown_item(db, assignment)


@writes
def skip_item(db: Transaction, person_id: int, assignment_id: int) -> None:
    """Skip an unfinished item, so that others can get it.

    Raises:
        AnnotationError: The item is another person's, or a training item.
    """
    assignment = get_assignment(db, person_id, assignment_id, lock=True)
    if get_item_content(db, assignment.item_id)[0].purpose == "training":
        raise AnnotationError("practice items cannot be skipped; answer the item", 403)
    if assignment.state != "done":
        change_assignment(db, assignment_id, state="skipped", expires=db.now())


@writes
def report_item(db: Transaction, person_id: int, assignment_id: int, text: str) -> None:
    """Save a person's report of a problem with an item.

    Raises:
        AnnotationError: The item was not assigned to the person.
    """
    item_id = get_assignment(db, person_id, assignment_id).item_id
    detail = {"item": item_id, "text": text.replace("\0", "").strip()}
    db.add(Event(person_id=person_id, kind="reported", detail=detail, created=db.now()))


@reads
def get_past_items(db: Transaction, person_id: int) -> Sequence[Row]:
    """Return assignment id, prompt, state and finishing time of a person's items, latest first."""
    query = select(Assignment.id.label("assignment"), Item.prompt, Assignment.state)
    query = query.add_columns(Assignment.finished).join(Item)
    query = query.where(Assignment.person_id == person_id).order_by(Assignment.position.desc())
    return db.execute(query).all()


@reads
def get_progress(db: Transaction, person_id: int) -> PersonProgress:
    """Return the progress of a person and of the study."""
    person, items = get_person(db, person_id), count_items(db)
    places = db.study.people_per_item
    done, skipped, controls, closed_work = db.run(_PROGRESS, person=person_id, places=places).one()
    remaining = {
        "owner": 0,
        "control": items.control - controls,
        "trial": max(0, items.work + items.control - done - skipped),
    }
    left_for_me = remaining.get(person.role, items.work - items.finished - closed_work)
    if person.stopped is not None:
        left_for_me = 0
    elif (limit := _get_item_limit(db, person)) is not None:
        left_for_me = min(left_for_me, max(0, limit - done))
    return PersonProgress(done, skipped, left_for_me, items.finished, items.work)


@reads
def get_next_step(db: Transaction, person_id: int) -> NextStep:
    """Return whether a person gets another item, or why not, without reserving one."""
    person, now = get_person(db, person_id), db.now()
    training = get_training_state(db, person_id)
    if person.stopped is not None or not (training.is_passed or training.tries_left):
        return NextStep("screened_out")
    done = func.count().filter(Assignment.state == "done")
    opened = func.count().filter(Assignment.state == "open")
    n_done, n_open = db.run(_COUNT.with_only_columns(done, opened), person=person_id).one()
    if n_done and n_done >= (_get_item_limit(db, person) or n_done + 1):
        return NextStep("complete")
    if n_open or not training.is_passed:
        return NextStep("work")
    if db.run(_PAUSED).scalar() is not None:
        return NextStep("paused")
    if _choose_item(db, person) is not None:
        return NextStep("work")
    if person.role == "annotator":
        values = {"person": person_id, "places": db.study.people_per_item, "now": now}
        if (expiry := db.run(_FIRST_EXPIRY, **values).scalar()) is not None:
            return NextStep("waiting", -(-(expiry - now) // MINUTE))
    return NextStep("complete" if n_done else "quota_full")


def _get_item_limit(db: Transaction, person: Person) -> int | None:
    return db.study.items_per_person if person.role in ("annotator", "trial") else None


def _reserve_work_item(db: Transaction, person: Person, after: int | None) -> Row | None:
    last_position = -1 if after is None else get_assignment(db, person.id, after).position
    n_open = 0
    for assignment in db.run(_OPEN, person=person.id).all():
        if assignment.position <= last_position:
            n_open += 1
            continue
        if assignment.expires > db.now():
            return assignment
        purpose = get_item_content(db, assignment.item_id)[0].purpose
        if purpose != "work" or has_free_place(db, person, assignment):
            change_assignment(db, assignment.id, expires=get_reservation_end(db))
            return assignment
        change_assignment(db, assignment.id, state="expired")
    if n_open >= MOST_OPEN or db.run(_PAUSED).scalar() is not None:
        return None
    item_id = _choose_item(db, person)
    return None if item_id is None else _create_reservation(db, person.id, item_id)


def _choose_item(db: Transaction, person: Person) -> int | None:
    if person.role == "owner":
        return None
    if person.role == "control":
        return _find_unseen_item(db, person, "control")
    position = db.run(_NEXT_POSITION, person=person.id).scalar_one()
    limit = _get_item_limit(db, person)
    if limit is not None and position >= limit:
        return None
    if person.role == "trial":
        item_id = _find_unseen_item(db, person, "work")
        if item_id is None:
            return _find_unseen_item(db, person, "control")
    else:
        values = {"person": person.id, "places": db.study.people_per_item, "now": db.now()}
        item_id = None
        for chunk in split_ids(db.get_item_order(person.id, "work")):
            if free_ids := set(db.run(_FREE_ITEM_IDS, part=chunk, **values).scalars()):
                item_id = next(n for n in chunk if n in free_ids)
                break
    study = db.study
    for every, purpose in ((study.checks.every, "check"), (study.control.every, "control")):
        if item_id is not None and is_control_at(position, every, study.seed, person.id, purpose):
            item_id = _find_unseen_item(db, person, purpose) or item_id
    return item_id


def _find_unseen_item(db: Transaction, person: Person, purpose: str) -> int | None:
    seen_ids = set(db.run(_ASSIGNED_ITEM_IDS, person=person.id).scalars())
    order = db.get_item_order(person.id, purpose)
    return next((item_id for item_id in order if item_id not in seen_ids), None)


def _create_reservation(db: Transaction, person_id: int, item_id: int) -> Row:
    last_position, earlier_id = db.run(_LAST_POSITION_AND_ID, person=person_id, item=item_id).one()
    columns = {
        "position": 0 if last_position is None else last_position + 1,
        "state": "open",
        "created": db.now(),
        "expires": get_reservation_end(db),
    }
    if earlier_id is not None:  # expired or skipped earlier
        return db.run(_REOPEN_ASSIGNMENT, assignment=earlier_id, **columns).one()
    return db.run(_INSERT_ASSIGNMENT, person_id=person_id, item_id=item_id, **columns).one()
