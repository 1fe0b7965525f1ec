"""What people said: kept once, checked, never dropped, and read in a stream."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, insert, select, update

from pqpp_annotation.errors import AnswerError
from pqpp_annotation.kinds import ShownItem, Vote
from pqpp_annotation.store import tables
from pqpp_annotation.store.rows import SavedAnswer
from pqpp_annotation.study.items import REFERENCE

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store

_MOST_VALUE = 200_000
_MOST_SECONDS = 86_400.0
_ITEMS_AT_ONCE = 500
_NO_IMAGE = (None, "", "")
Item, Assignment, Answer, Person = tables.Item, tables.Assignment, tables.Answer, tables.Person


class StoredAnswers:
    """The votes of a study."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(
        self,
        person_id: int,
        assignment_id: int,
        image_id: int | None,
        value: Mapping[str, Any],
        client_id: str,
        seconds: float = 0.0,
    ) -> SavedAnswer:
        """Keep an answer; when this returns, it is on the disk.

        Another answer to the same question replaces the one before, which stays, no longer current.
        An item whose reservation has ended is taken again if a place is left.

        Args:
            person_id: Who answers.
            assignment_id: Of the item.
            image_id: The image, as `ShownItem` names it; None where a kind asks about the item.
            value: As the kind's schema says.
            client_id: Made by the browser, one for each answer: the same one again changes nothing.
            seconds: Active time on it.

        Raises:
            AnswerError: The value does not fit, others have done the item meanwhile, or it is a
                training item that was answered.
            NotAllowedError: The item was not given to this person, or the person has withdrawn.
        """
        text = _checked_text(value, client_id, seconds)
        store = self._store
        with store.writing() as db:
            store.work.allowed_in(db, person_id)
            row = store.work.own_in(db, person_id, assignment_id, lock=True)
            known = db.scalar(select(Answer.assignment_id).where(Answer.client_id == client_id))
            if known is not None:
                if known != assignment_id:
                    raise AnswerError("client_id is that of another answer; make a new one")
                return SavedAnswer(False, row.state == "done")
            shown = store.work.shown_in(db, row)
            if shown.purpose == "training" and row.state == "done":
                raise AnswerError("a training item is answered once; its right answer was shown")
            self._check(shown, image_id, value)
            self._keep_place(db, shown, row)
            row_values = {"assignment_id": row.id, "item_image_id": image_id}
            about = Answer.item_image_id == image_id if image_id else Answer.item_image_id.is_(None)
            before = update(Answer).where(Answer.assignment_id == row.id, about, Answer.current)
            db.execute(before.values(current=False))
            row_values |= {"client_id": client_id, "value": json.loads(text), "current": True}
            row_values |= {"seconds": float(seconds), "created": store.clock()}
            db.execute(insert(Answer).values(**row_values))
            wanted = len(shown.images) if store.study.kind.about_image else 1
            is_complete = len({*shown.answers, image_id}) >= wanted
            self._finish(db, row, is_complete)
            return SavedAnswer(True, is_complete)

    def of(self, person_id: int) -> list[Vote]:
        """Return a person's current votes."""
        return list(self.votes(person_id=person_id))

    def count(self) -> int:
        """Return how many answers are kept, those that were changed included."""
        with self._store.reading() as db:
            return db.scalar(select(func.count()).select_from(Answer)) or 0

    def votes(
        self,
        purpose: str | Sequence[str] | None = None,
        current: bool = True,
        person_id: int | None = None,
    ) -> Iterator[Vote]:
        """Give the votes one by one, ordered by item, person and image.

        They are read some hundred items at a time, so that memory does not grow with them. Answers
        of items that a person has skipped afterwards are left out.

        Args:
            purpose: Of the items, such as "work", or several; all if None.
            current: Only those that were not changed afterwards; else all, the older first.
            person_id: Only those of a person.
        """
        purposes = [purpose] if isinstance(purpose, str) else purpose
        with self._store.reading() as db:
            query = select(Item.id, Item.prompt_id, Item.prompt, Item.purpose, Item.detail)
            if purposes is not None:
                query = query.where(Item.purpose.in_(list(purposes)))
            last = 0
            while items := db.execute(
                query.where(Item.id > last).order_by(Item.id).limit(_ITEMS_AT_ONCE)
            ).all():
                last = items[-1].id
                yield from _votes_of(db, items, current, person_id)

    def _check(self, shown: ShownItem, image_id: int | None, value: Mapping[str, Any]) -> None:
        """Refuse a value that does not fit the item."""
        from jsonschema import Draft202012Validator

        study = self._store.study
        ids = [image.id for image in shown.images] if study.kind.about_image else [None]
        if image_id not in ids:
            raise AnswerError(f"image {image_id} is not one of this item; answer those shown")
        schema = study.kind.schema_of(study.task)
        fault = next(Draft202012Validator(schema).iter_errors(value), None)
        if fault is not None:
            raise AnswerError(f"value: {fault.message[:200]}")
        study.kind.check(value, shown, study.task)

    def _keep_place(self, db: Connection, shown: ShownItem, row: Any) -> None:
        """Take the place again that ended by time or by a skip, or say that it is gone."""
        is_held = row.state == "open" and row.expires > self._store.clock()
        if row.state == "done" or is_held or shown.purpose != "work":
            return
        self._store.be_alone(db)
        if not self._store.work.is_free(db, row.item_id, row.person_id):
            raise AnswerError(
                "the time for this item was over and others have done it meanwhile; go on with "
                "the next"
            )

    def _finish(self, db: Connection, row: Any, is_complete: bool) -> None:
        """Put the end of the reservation off, or close the item for this person."""
        own = update(Assignment).where(Assignment.id == row.id)
        if row.state == "done":
            return
        if not is_complete:
            db.execute(own.values(state="open", expires=self._store.work.expires()))
            return
        db.execute(own.values(state="done", finished=self._store.clock()))
        role = select(Person.role).where(Person.id == row.person_id).scalar_subquery()
        counted = update(Item).where(Item.id == row.item_id, role == "annotator")
        db.execute(counted.values(done=Item.done + 1))


def _checked_text(value: object, client_id: object, seconds: object) -> str:
    """Return a value as JSON, after a look at what a browser may send."""
    if not isinstance(client_id, str) or not 8 <= len(client_id) <= 100:
        raise AnswerError("client_id: a text of 8 to 100 characters is needed")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise AnswerError("seconds: a number is needed")
    if not (math.isfinite(seconds) and 0 <= seconds <= _MOST_SECONDS):
        raise AnswerError(f"seconds: 0 to {_MOST_SECONDS:.0f} is allowed")
    if not isinstance(value, Mapping):
        raise AnswerError("value: an object is needed")
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise AnswerError("value: it is no JSON") from None
    if len(text) > _MOST_VALUE or "\\u0000" in text or "\0" in client_id:
        raise AnswerError("value: it is too long, or holds a character of value zero")
    return text


def _model_of(image: Any) -> str:
    return REFERENCE if image.is_reference else image.model


def _votes_of(
    db: Connection, items: Sequence[Any], current: bool, person_id: int | None
) -> Iterator[Vote]:
    """Give the votes on some items that follow one another."""
    first, last = items[0].id, items[-1].id
    image, asset = tables.ItemImage, tables.Asset
    columns = (image.item_id, image.id, image.image, image.model, image.is_reference)
    found = db.execute(
        select(*columns, image.position, asset.width, asset.height)
        .join(asset, asset.sha256 == image.sha256)
        .where(image.item_id.between(first, last))
        .order_by(image.item_id, image.position)
    ).all()
    by_id = {one.id: (one, one.image, _model_of(one)) for one in found}
    by_item = {
        item: tuple((one.image, _model_of(one), one.id) for one in own)
        for item, own in itertools.groupby(found, lambda one: one.item_id)
    }
    query = (
        select(
            Assignment.item_id,
            Answer.item_image_id,
            Person.name,
            Person.role,
            Answer.value,
            Answer.seconds,
            Answer.created,
        )
        .select_from(Answer)
        .join(Assignment, Assignment.id == Answer.assignment_id)
        .join(Person, Person.id == Assignment.person_id)
        .outerjoin(image, image.id == Answer.item_image_id)
        .where(Assignment.item_id.between(first, last), Assignment.state != "skipped")
        .order_by(Assignment.item_id, Assignment.person_id, image.position, Answer.id)
    )
    if current:
        query = query.where(Answer.current)
    if person_id is not None:
        query = query.where(Assignment.person_id == person_id)
    known = {item.id: item for item in items}
    for item_id, image_id, name, role, value, seconds, created in db.execute(query):
        item = known.get(item_id)
        if item is None:
            continue  # of another purpose
        shown, its_name, its_model = by_id.get(image_id, _NO_IMAGE)
        yield Vote(
            prompt_id=item.prompt_id,
            prompt=item.prompt,
            image=its_name,
            model=its_model,
            annotator=name,
            is_control=role == "control",
            value=value,
            seconds=seconds,
            created=created,
            purpose=item.purpose,
            detail=item.detail,
            images=() if shown else by_item.get(item_id, ()),
            width=shown.width if shown else 0,
            height=shown.height if shown else 0,
        )
