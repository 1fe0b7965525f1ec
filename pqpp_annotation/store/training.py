"""The training round: right answers are known, feedback is given, a check opens the work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Row, bindparam, select

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.store.assignments import current_answers, own_assignment
from pqpp_annotation.store.people import person_by_id
from pqpp_annotation.store.tables import Assignment, Item, ItemImage, Person
from pqpp_annotation.store.transactions import Transaction, reads

_TRAINING = (
    select(*Assignment.__table__.c)
    .join(Item)
    .where(Assignment.person_id == bindparam("person"), Item.purpose == "training")
)


@dataclass(frozen=True)
class TrainingState:
    """How far a person is in the training round.

    Attributes:
        done: Items answered in this try.
        total: Items in a try.
        right: Answers of this try that were right.
        tries_left: How often it may still be tried, this try included.
        is_passed: Whether work is given; True where a study has no training.
    """

    done: int
    total: int
    right: int
    tries_left: int
    is_passed: bool


@dataclass(frozen=True)
class TrainingFeedback:
    """What a finished training item should have been.

    Attributes:
        is_right: Whether all of it was right.
        expected: Image id (None for the item) to the right value.
    """

    is_right: bool
    expected: Mapping[int | None, Mapping[str, Any]]


@reads
def training_state(db: Transaction, person_id: int) -> TrainingState:
    """Return how far a person is in the training round; control members and owners have none."""
    person = person_by_id(db, person_id)
    there = db.store.orders.count(db, "training")
    total = _items_of_try(db, there)
    tries = min(db.study.training.tries, there // total) if total else 0
    tries_left = max(tries - person.training_tries, 0)
    if person.trained is not None or not total or person.role not in ("annotator", "trial"):
        return TrainingState(0, total, 0, tries_left, True)
    items = items_of_try(db, person)
    done = [row for row in own_training(db, person_id) if row.state == "done"]
    done = [row for row in done if row.item_id in items]
    right = sum(_feedback_on(db, row).is_right for row in done)
    return TrainingState(len(done), total, right, tries_left, False)


def items_of_try(db: Transaction, person: Person) -> Sequence[int]:
    """Return the items of the try that a person is at; no two tries share one."""
    order = db.store.orders.of(db, person.id, "training")
    total = _items_of_try(db, len(order))
    return order[person.training_tries * total :][:total]


def _items_of_try(db: Transaction, there: int) -> int:
    rules = db.study.training
    return min(there, rules.items or max(1, there // rules.tries))


@reads
def training_feedback(db: Transaction, person_id: int, assignment_id: int) -> TrainingFeedback:
    """Return the right answers of a training item that the person has answered.

    Raises:
        NotAllowedError: It is another's, no training item, or not answered yet.
    """
    return _feedback_on(db, own_assignment(db, person_id, assignment_id))


def _feedback_on(db: Transaction, assignment: Row) -> TrainingFeedback:
    item = db.get_one(Item, assignment.item_id)
    if item.purpose != "training" or assignment.state != "done":
        raise NotAllowedError("only a training item that was answered has feedback")
    images = select(ItemImage.image, ItemImage.id).where(ItemImage.item_id == item.id)
    ids = {"": None, **dict(db.execute(images).all())}
    expected = {ids[name]: value for name, value in item.expected.items()}
    given, agrees = current_answers(db, assignment.id), db.study.kind.agrees
    is_right = all(image in given and agrees(given[image], expected[image]) for image in expected)
    return TrainingFeedback(is_right, expected)


def end_try(db: Transaction, person: Person, now: int) -> TrainingState:
    """Look whether a try is over: it opens the work, or other items come.

    It is called when a person goes on, so that the feedback on the last item can be read before.

    Returns:
        How far the person is now.
    """
    state, rules = training_state(db, person.id), db.study.training
    if state.is_passed or state.done < state.total or not state.tries_left:
        return state
    if state.right >= rules.least * state.total:
        person.trained = now
        return replace(state, is_passed=True)
    person.training_tries += 1
    if state.tries_left == 1:
        person.stopped = now
    return replace(state, done=0, right=0, tries_left=state.tries_left - 1)


def own_training(db: Transaction, person_id: int) -> Sequence[Row]:
    """Return the training items that a person was given."""
    return db.run(_TRAINING, person=person_id).all()
