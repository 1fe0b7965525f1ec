"""The training round: right answers are known, feedback is given, a check opens the work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, func, select, update

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.kinds import TaskKind
from pqpp_annotation.store import tables
from pqpp_annotation.store.rows import Participant, TrainingFeedback, TrainingState
from pqpp_annotation.study.study import Study

Item, Assignment, Answer = tables.Item, tables.Assignment, tables.Answer
_COUNT = select(func.count()).select_from(Item).where(Item.purpose == "training")


def training_in(db: Connection, study: Study, person: Participant) -> TrainingState:
    """Return how far a person is in the training round; control members and owners have none."""
    tries_left = max(study.training.tries - person.training_tries, 0)
    total = db.scalar(_COUNT) or 0
    if person.trained is not None or not total or person.role != "annotator":
        return TrainingState(0, total, 0, tries_left, True)
    rows = [row for row in _own(db, person.id) if row.state == "done"]
    right = sum(feedback_in(db, study.kind, row).is_right for row in rows)
    return TrainingState(len(rows), total, right, tries_left, False)


def feedback_in(db: Connection, kind: TaskKind, row: Any) -> TrainingFeedback:
    """Return what a finished training item should have been.

    Args:
        db: A connection in a transaction.
        kind: Of the study.
        row: Of the assignments.

    Raises:
        NotAllowedError: It is no training item, or not finished.
    """
    purpose, expected = db.execute(
        select(Item.purpose, Item.expected).where(Item.id == row.item_id)
    ).one()
    if purpose != "training" or row.state != "done":
        raise NotAllowedError("only a training item that was answered has feedback")
    image = tables.ItemImage
    names = db.execute(select(image.image, image.id).where(image.item_id == row.item_id))
    ids = {"": None, **{name: number for name, number in names}}
    by_id = {ids[name]: value for name, value in expected.items()}
    query = select(Answer.item_image_id, Answer.value)
    given = dict(
        map(tuple, db.execute(query.where(Answer.assignment_id == row.id, Answer.current)))
    )
    is_right = all(one in given and kind.agrees(given[one], by_id[one]) for one in by_id)
    return TrainingFeedback(is_right, by_id)


def check_in(db: Connection, study: Study, person: Participant, now: int) -> TrainingState:
    """Look whether a try is over: it opens the work, or the items come once more.

    It is called when a person goes on, so that the feedback on the last item can be read before.
    The answers of a failed try stay, no longer current.

    Returns:
        How far the person is now.
    """
    state = training_in(db, study, person)
    if state.is_passed or state.done < state.total or not state.tries_left:
        return state
    own = tables.Person.id == person.id
    if state.right >= study.training.least * state.total:
        db.execute(update(tables.Person).where(own).values(trained=now))
        return replace(state, is_passed=True)
    tries = person.training_tries + 1
    db.execute(update(tables.Person).where(own).values(training_tries=tries))
    if tries < study.training.tries:
        ids = [row.id for row in _own(db, person.id)]
        again = update(Assignment).where(Assignment.id.in_(ids))
        db.execute(again.values(state="open", finished=None))
        old = update(Answer).where(Answer.assignment_id.in_(ids))
        db.execute(old.values(current=False))
    return replace(state, done=0, right=0, tries_left=state.tries_left - 1)


def _own(db: Connection, person_id: int) -> list[Any]:
    query = select(*Assignment.__table__.c).join(Item, Item.id == Assignment.item_id)
    is_own = Assignment.person_id == person_id
    return list(db.execute(query.where(is_own, Item.purpose == "training")).all())
