"""What is given to whom: reservations, so that as many people see an item as the study wants."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, func, select, update

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.kinds import ShownItem
from pqpp_annotation.protocol.order import is_control
from pqpp_annotation.store.assignments import (
    MINUTE,
    allowed_person,
    is_free,
    own_assignment,
    reserved_until,
    shown_of,
    takes_place,
)
from pqpp_annotation.store.items import count_items
from pqpp_annotation.store.people import person_by_id
from pqpp_annotation.store.tables import Assignment, Item, Person, StudyRow
from pqpp_annotation.store.training import (
    end_try,
    items_of_try,
    own_training,
    training_state,
)
from pqpp_annotation.store.transactions import Store, Transaction, reads, writes, writes_alone

MOST_OPEN = 5
"""How many items one person can hold at a time: the one on the page, and some ahead for a lost
connection."""


@dataclass(frozen=True)
class PersonProgress:
    """How far a person and the study are, in items.

    Attributes:
        done: Items that the person has finished, training apart.
        skipped: Those that the person has passed over.
        left_for_me: Those that are still open for the person, in the sitting.
        study_done: Work items that have as many people as the study wants.
        study_total: All work items.
    """

    done: int
    skipped: int
    left_for_me: int
    study_done: int
    study_total: int


@dataclass(frozen=True)
class WayOn:
    """Why nothing more is given to a person.

    Attributes:
        name: `complete`, `screened_out`, `quota_full` (all places are taken), `waiting` (places are
            reserved that may come free), `paused` (the study is) or `work` (there is more).
        minutes: Of `waiting`: when to come back.
    """

    name: str
    minutes: int = 0


def next_item(store: Store, person_id: int, after: int | None = None) -> ShownItem | None:
    """Return what a person does next, reserved for the person.

    Training items come first, then the work with its control items. An item that is open is
    given back before a new one is taken.

    Args:
        after: An assignment: what comes behind it, so that a page can fetch ahead.

    Returns:
        None where nothing more is given, which `way_on` explains, or as many are open as a person
        can hold.

    Raises:
        NotAllowedError: The person has not consented, or has withdrawn.
    """
    return _next(store, person_id, after)


@writes
def skip_item(db: Transaction, person_id: int, assignment_id: int) -> None:
    """Pass over an item that is not finished; its place is free for others.

    Raises:
        NotAllowedError: It is another's, or a training item.
    """
    allowed_person(db, person_id)
    assignment = own_assignment(db, person_id, assignment_id, lock=True)
    if db.get_one(Item, assignment.item_id).purpose == "training":
        raise NotAllowedError("a training item cannot be skipped; answer it")
    if assignment.state != "done":
        assignment.state, assignment.expires = "skipped", db.now()


@writes_alone
def take_item(db: Transaction, person_id: int, item_id: int) -> int:
    """Give a person an item that was done elsewhere, whoever has it; return the assignment.

    What the person has of it already stays as it is.
    """
    allowed_person(db, person_id)
    assignment = _assignment_of(db, person_id, item_id)
    if assignment is None or assignment.state not in ("open", "done"):
        assignment = _reserve(db, person_id, item_id)
    return assignment.id


@reads
def past_items(db: Transaction, person_id: int) -> Sequence[Row]:
    """Return assignment, prompt, state and end of what a person was given, the latest first."""
    query = select(
        Assignment.id.label("assignment"), Item.prompt, Assignment.state, Assignment.finished
    ).join(Item)
    own = query.where(Assignment.person_id == person_id)
    return db.execute(own.order_by(Assignment.position.desc())).all()


@reads
def progress_of(db: Transaction, person_id: int) -> PersonProgress:
    """Return how far a person and the study are."""
    person, items = person_by_id(db, person_id), count_items(db)
    is_closed = Assignment.state.in_(("done", "skipped"))
    is_open_work = (Item.purpose == "work") & (Item.done < db.study.people_per_item)
    query = (
        select(
            func.count().filter(Assignment.state == "done"),
            func.count().filter(Assignment.state == "skipped"),
            func.count().filter(is_closed, Item.purpose == "control"),
            func.count().filter(is_closed, is_open_work),
        )
        .join_from(Assignment, Item)
        .where(Assignment.person_id == person_id, Item.purpose != "training")
    )
    done, skipped, controls, work = db.execute(query).one()
    left = {
        "owner": 0,
        "control": items.control - controls,
        "trial": items.work + items.control - done - skipped,
    }
    left_for_me = left.get(person.role, items.work - items.finished - work)
    if person.stopped is not None or _is_over(db, person):
        left_for_me = 0
    elif (most := _most_items(db, person)) is not None:
        left_for_me = min(left_for_me, max(0, most - done))
    return PersonProgress(done, skipped, left_for_me, items.finished, items.work)


@reads
def way_on(db: Transaction, person_id: int) -> WayOn:
    """Say why nothing more is given to a person; asked when `next_item` gave nothing."""
    person, now = person_by_id(db, person_id), db.now()
    training = training_state(db, person_id)
    if person.stopped is not None or not (training.is_passed or training.tries_left):
        return WayOn("screened_out")
    own = Assignment.person_id == person_id
    done = func.count().filter(Assignment.state == "done")
    opened = func.count().filter(Assignment.state == "open", Assignment.expires > now)
    counts = select(done, opened).join_from(Assignment, Item).where(own, Item.purpose != "training")
    finished, held = db.execute(counts).one()
    is_over = _is_over(db, person) or finished >= (_most_items(db, person) or finished + 1)
    if finished and is_over:
        return WayOn("complete")
    if held or not training.is_passed:
        return WayOn("work")
    if db.scalar(select(StudyRow.paused)) is not None:
        return WayOn("paused")
    # Places that others hold at items which the person has not seen.
    reserved = (
        select(func.min(Assignment.expires))
        .join(Item)
        .where(
            Assignment.state == "open",
            Assignment.expires > now,
            takes_place(db),
            Item.purpose == "work",
            Item.done < db.study.people_per_item,
            Item.id.not_in(_given_items(person)),
        )
    )
    free = None if person.role != "annotator" else db.scalar(reserved)
    if free is not None:
        return WayOn("waiting", -(-(free - now) // MINUTE))
    return WayOn("complete" if finished else "quota_full")


def _most_items(db: Transaction, person: Person) -> int | None:
    """Return how many items a person's sitting has; None where it has no bound."""
    return db.study.items_per_person if person.role in ("annotator", "trial") else None


def _is_over(db: Transaction, person: Person) -> bool:
    """Say whether the time of a person's sitting is over; it begins with the first item of work."""
    minutes = db.study.minutes_per_person
    if minutes is None or person.role not in ("annotator", "trial"):
        return False
    first = (
        select(func.min(Assignment.created))
        .join(Item)
        .where(Assignment.person_id == person.id, Item.purpose != "training")
    )
    began = db.scalar(first)
    return began is not None and db.now() - began >= minutes * MINUTE


@writes_alone
def _next(db: Transaction, person_id: int, after: int | None) -> ShownItem | None:
    person = allowed_person(db, person_id)
    training = end_try(db, person, db.now())
    assignment = None
    if training.is_passed and person.stopped is None:
        assignment = _next_work(db, person, after)
    elif training.tries_left and person.stopped is None:
        assignment = _next_training(db, person)
    return None if assignment is None else shown_of(db, assignment)


def _next_work(db: Transaction, person: Person, after: int | None) -> Assignment | None:
    behind = -1 if after is None else own_assignment(db, person.id, after).position
    is_open = (Assignment.person_id == person.id) & (Assignment.state == "open")
    if _is_over(db, person):
        db.execute(update(Assignment).where(is_open).values(state="expired"))
        return None
    held = 0
    opened = select(Assignment).where(is_open).order_by(Assignment.position)
    for assignment in db.scalars(opened).all():
        if assignment.position <= behind:
            held += 1
            continue
        if assignment.expires > db.now():
            return assignment
        purpose = db.get_one(Item, assignment.item_id).purpose
        if purpose != "work" or is_free(db, person, assignment):
            assignment.expires = reserved_until(db)
            return assignment
        assignment.state = "expired"
    if held >= MOST_OPEN or db.scalar(select(StudyRow.paused)) is not None:
        return None
    item_id = _choose(db, person)
    return None if item_id is None else _reserve(db, person.id, item_id)


def _next_training(db: Transaction, person: Person) -> Assignment | None:
    """Return the first training item that is open in this try."""
    given = {assignment.item_id: assignment for assignment in own_training(db, person.id)}
    for item_id in items_of_try(db, person):
        if item_id not in given:
            return _reserve(db, person.id, item_id)
        if given[item_id].state != "done":
            return given[item_id]
    return None


def _choose(db: Transaction, person: Person) -> int | None:
    """Return the item that a person is given next, None where there is none."""
    if person.role == "owner":
        return None
    if person.role == "control":
        return _first_control(db, person)
    given = select(func.count()).join_from(Assignment, Item)
    place = db.scalar(
        given.where(
            Assignment.person_id == person.id,
            Assignment.state.in_(("open", "done")),
            Item.purpose != "training",
        )
    )
    most = _most_items(db, person)
    if most is not None and (place or 0) >= most:
        return None
    work = _first_free(db, person)
    if work is None:
        return _first_control(db, person) if person.role == "trial" else None
    control = None
    if is_control(place or 0, db.study.control.every, db.study.seed, person.id):
        control = _first_control(db, person)
    return work if control is None else control


def _first_control(db: Transaction, person: Person) -> int | None:
    given = set(db.scalars(_given_items(person)))
    order = db.store.orders.of(db, person.id, "control")
    return next((item_id for item_id in order if item_id not in given), None)


def _first_free(db: Transaction, person: Person) -> int | None:
    """Return the first item of a person's order that has a place left."""
    places, orders = db.study.people_per_item, db.store.orders
    order = orders.of(db, person.id, "work")
    if person.role == "trial":
        given = set(db.scalars(_given_items(person)))
        return next((item_id for item_id in order if item_id not in given), None)
    taken = select(func.count()).where(Assignment.item_id == Item.id, takes_place(db))
    for part, start in orders.parts(person.id, order):
        free = select(Item.id).where(
            Item.id.in_(part),
            Item.done < places,
            Item.id.not_in(_given_items(person)),
            taken.scalar_subquery() < places,
        )
        free_items = set(db.scalars(free))
        for place, item_id in enumerate(part, start):
            if item_id in free_items:
                orders.reached(person.id, place)
                return item_id
    return None


def _given_items(person: Person) -> Any:
    return select(Assignment.item_id).where(
        Assignment.person_id == person.id, Assignment.state != "expired"
    )


def _assignment_of(db: Transaction, person_id: int, item_id: int) -> Assignment | None:
    query = select(Assignment).where(Assignment.person_id == person_id)
    return db.scalar(query.where(Assignment.item_id == item_id))


def _reserve(db: Transaction, person_id: int, item_id: int) -> Assignment:
    last = db.scalar(select(func.max(Assignment.position)).where(Assignment.person_id == person_id))
    # There may be one that had expired, whose place is free again.
    assignment = _assignment_of(db, person_id, item_id)
    assignment = assignment or Assignment(person_id=person_id, item_id=item_id)
    assignment.position = 0 if last is None else last + 1
    assignment.state, assignment.created = "open", db.now()
    assignment.expires = reserved_until(db)
    db.add(assignment)
    db.flush()
    return assignment
