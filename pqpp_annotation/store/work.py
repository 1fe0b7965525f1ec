"""What is given to whom: reservations, so that as many people see an item as the study wants."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Row, bindparam, case, func, insert, select, update

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.kinds import ShownItem
from pqpp_annotation.protocol.order import is_control
from pqpp_annotation.store.assignments import (
    MINUTE,
    TAKES_PLACE,
    allowed_person,
    change_assignment,
    content_of,
    is_free,
    own_assignment,
    reserved_until,
    shown_of,
)
from pqpp_annotation.store.items import count_items
from pqpp_annotation.store.people import person_by_id
from pqpp_annotation.store.tables import Assignment, Item, Person, StudyRow
from pqpp_annotation.store.training import end_try, items_of_try, own_training, training_state
from pqpp_annotation.store.transactions import Transaction, reads, writes, writes_alone

MOST_OPEN = 5
"""How many items one person can hold at a time: the one on the page, and some ahead for a lost
connection."""

_OWN = Assignment.person_id == bindparam("person")
_WORK = select(func.count()).join_from(Assignment, Item).where(_OWN, Item.purpose != "training")
_OPEN = (
    select(*Assignment.__table__.c)
    .where(_OWN, Assignment.state == "open")
    .order_by(Assignment.position)
)
_ENDED = update(Assignment).where(_OWN, Assignment.state == "open").values(state="expired")
_GIVEN = select(Assignment.item_id).where(_OWN, Assignment.state != "expired")
_PLACE = _WORK.where(Assignment.state.in_(("open", "done")))
_FIRST = _WORK.with_only_columns(func.min(Assignment.created))
_PAUSED = select(StudyRow.paused)
# Of the person's assignments the last place, and the id of the one of an item.
_LAST = select(
    func.max(Assignment.position),
    func.max(case((Assignment.item_id == bindparam("item"), Assignment.id))),
).where(_OWN)
_UNSEEN = (Item.done < bindparam("places"), Item.id.not_in(_GIVEN))
_FREE = select(Item.id).where(
    Item.id.in_(bindparam("part", expanding=True)),
    *_UNSEEN,
    select(func.count()).where(Assignment.item_id == Item.id, TAKES_PLACE).scalar_subquery()
    < bindparam("places"),
)
# Places that others hold at items which the person has not seen.
_RESERVED = (
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
_CLOSED = Assignment.state.in_(("done", "skipped"))
_PROGRESS = _WORK.with_only_columns(
    func.count().filter(Assignment.state == "done"),
    func.count().filter(Assignment.state == "skipped"),
    func.count().filter(_CLOSED, Item.purpose == "control"),
    func.count().filter(_CLOSED, Item.purpose == "work", Item.done < bindparam("places")),
)
_NEW = insert(Assignment).returning(*Assignment.__table__.c)
_AGAIN = (
    update(Assignment)
    .where(Assignment.id == bindparam("assignment"))
    .returning(*Assignment.__table__.c)
)


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


@writes_alone
def next_item(db: Transaction, person_id: int, after: int | None = None) -> ShownItem | None:
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
    person = allowed_person(db, person_id)
    training = end_try(db, person, db.now())
    assignment = None
    if training.is_passed and person.stopped is None:
        assignment = _next_work(db, person, after)
    elif training.tries_left and person.stopped is None:
        assignment = _next_training(db, person)
    return None if assignment is None else shown_of(db, assignment)


@writes
def skip_item(db: Transaction, person_id: int, assignment_id: int) -> None:
    """Pass over an item that is not finished; its place is free for others.

    Raises:
        NotAllowedError: It is another's, or a training item.
    """
    allowed_person(db, person_id)
    assignment = own_assignment(db, person_id, assignment_id, lock=True)
    if content_of(db, assignment.item_id).purpose == "training":
        raise NotAllowedError("a training item cannot be skipped; answer it")
    if assignment.state != "done":
        change_assignment(db, assignment_id, state="skipped", expires=db.now())


@writes_alone
def take_item(db: Transaction, person_id: int, item_id: int) -> int:
    """Give a person an item that was done elsewhere, whoever has it; return the assignment.

    What the person has of it already stays as it is.
    """
    allowed_person(db, person_id)
    own = select(Assignment.id).where(
        Assignment.person_id == person_id,
        Assignment.item_id == item_id,
        Assignment.state.in_(("open", "done")),
    )
    return db.scalar(own) or _reserve(db, person_id, item_id).id


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
    places = db.study.people_per_item
    done, skipped, controls, work = db.run(_PROGRESS, person=person_id, places=places).one()
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
    done = func.count().filter(Assignment.state == "done")
    opened = func.count().filter(Assignment.state == "open", Assignment.expires > now)
    finished, held = db.run(_WORK.with_only_columns(done, opened), person=person_id).one()
    is_over = _is_over(db, person) or finished >= (_most_items(db, person) or finished + 1)
    if finished and is_over:
        return WayOn("complete")
    if held or not training.is_passed:
        return WayOn("work")
    if db.run(_PAUSED).scalar() is not None:
        return WayOn("paused")
    if person.role == "annotator":
        about = {"person": person_id, "places": db.study.people_per_item, "now": now}
        if (free := db.run(_RESERVED, **about).scalar()) is not None:
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
    began = db.run(_FIRST, person=person.id).scalar()
    return began is not None and db.now() - began >= minutes * MINUTE


def _next_work(db: Transaction, person: Person, after: int | None) -> Row | None:
    behind = -1 if after is None else own_assignment(db, person.id, after).position
    if _is_over(db, person):
        db.run(_ENDED, person=person.id)
        return None
    held = 0
    for assignment in db.run(_OPEN, person=person.id).all():
        if assignment.position <= behind:
            held += 1
            continue
        if assignment.expires > db.now():
            return assignment
        purpose = content_of(db, assignment.item_id).purpose
        if purpose != "work" or is_free(db, person, assignment):
            change_assignment(db, assignment.id, expires=reserved_until(db))
            return assignment
        change_assignment(db, assignment.id, state="expired")
    if held >= MOST_OPEN or db.run(_PAUSED).scalar() is not None:
        return None
    item_id = _choose(db, person)
    return None if item_id is None else _reserve(db, person.id, item_id)


def _next_training(db: Transaction, person: Person) -> Row | None:
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
    place = db.run(_PLACE, person=person.id).scalar_one()
    most = _most_items(db, person)
    if most is not None and place >= most:
        return None
    work = _first_free(db, person)
    if work is None:
        return _first_control(db, person) if person.role == "trial" else None
    control = None
    if is_control(place, db.study.control.every, db.study.seed, person.id):
        control = _first_control(db, person)
    return work if control is None else control


def _first_control(db: Transaction, person: Person) -> int | None:
    given = set(db.run(_GIVEN, person=person.id).scalars())
    order = db.store.orders.of(db, person.id, "control")
    return next((item_id for item_id in order if item_id not in given), None)


def _first_free(db: Transaction, person: Person) -> int | None:
    """Return the first item of a person's order that has a place left."""
    places, orders = db.study.people_per_item, db.store.orders
    order = orders.of(db, person.id, "work")
    if person.role == "trial":
        given = set(db.run(_GIVEN, person=person.id).scalars())
        return next((item_id for item_id in order if item_id not in given), None)
    about = {"person": person.id, "places": places, "now": db.now()}
    for part, start in orders.parts(person.id, order):
        free_items = set(db.run(_FREE, part=part, **about).scalars())
        for place, item_id in enumerate(part, start):
            if item_id in free_items:
                orders.reached(person.id, place)
                return item_id
    return None


def _reserve(db: Transaction, person_id: int, item_id: int) -> Row:
    last, known = db.run(_LAST, person=person_id, item=item_id).one()
    columns = {
        "position": 0 if last is None else last + 1,
        "state": "open",
        "created": db.now(),
        "expires": reserved_until(db),
    }
    if known is not None:  # it had expired, or was skipped, and its place is free again
        return db.run(_AGAIN, assignment=known, **columns).one()
    return db.run(_NEW, person_id=person_id, item_id=item_id, **columns).one()
