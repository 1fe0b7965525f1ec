"""What is given to whom: reservations, so that as many people see an item as the study wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, func, insert, or_, select, update

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.kinds import ShownImage, ShownItem
from pqpp_annotation.protocol.order import is_control, shuffled
from pqpp_annotation.store import tables
from pqpp_annotation.store.orders import Orders
from pqpp_annotation.store.rows import (
    Participant,
    Past,
    PersonProgress,
    TrainingFeedback,
    TrainingState,
)
from pqpp_annotation.store.training import check_in, feedback_in, training_in

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store

MOST_OPEN = 5
"""How many items one person can hold at a time: the one on the page, and some ahead for a lost
connection."""

_MINUTE = 60_000
Item, Assignment, Answer = tables.Item, tables.Assignment, tables.Answer
_COLUMNS = list(Assignment.__table__.c)


class Work:
    """The items of a study, as people are given them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._orders = Orders()

    def next(self, person_id: int, after: int | None = None) -> ShownItem | None:
        """Return what a person does next, reserved for the person.

        Training items come first, then the work with its control items. An item that is open is
        given back before a new one is taken.

        Args:
            person_id: Who.
            after: An assignment: what comes behind it, so that a page can fetch ahead.

        Returns:
            None where there is nothing left, or as many are open as a person can hold.

        Raises:
            NotAllowedError: The person has not consented, has withdrawn, or has failed the
                comprehension check as often as it may be tried.
        """
        with self._store.writing(alone=True) as db:
            person = self.allowed_in(db, person_id)
            training = check_in(db, self._store.study, person, self._store.clock())
            if training.is_passed:
                found = self._next_in(db, person, after)
            else:
                found = self._next_training(db, person) if training.tries_left else None
            shown = found and self.shown_in(db, found)
        if not training.is_passed and not training.tries_left:
            raise NotAllowedError(
                "the comprehension check was not passed; thank you, nothing more is asked"
            )
        return shown

    def upcoming(self, person_id: int) -> list[str]:
        """Return the hashes of the images that a person will probably see next; reserves nothing.

        Empty in training, whose items come with feedback.
        """
        with self._store.reading() as db:
            person = self.allowed_in(db, person_id)
            if not training_in(db, self._store.study, person).is_passed:
                return []
            opened = self._open_in(db, person_id)
            held = [row.item_id for row in opened[1:]]
            item = held[0] if held else self._choose(db, person)
            if item is None:
                return []
            image = tables.ItemImage
            query = select(image.sha256).where(image.item_id == item).order_by(image.position)
            return list(db.scalars(query))

    def shown(self, person_id: int, assignment_id: int) -> ShownItem:
        """Return an item that the person was given before, with the answers.

        Raises:
            NotAllowedError: It was given to another, or to nobody.
        """
        with self._store.reading() as db:
            self.allowed_in(db, person_id)
            return self.shown_in(db, self.own_in(db, person_id, assignment_id))

    def skip(self, person_id: int, assignment_id: int) -> None:
        """Pass over an item that is not finished; its place is free for others.

        Raises:
            NotAllowedError: It is another's, or a training item.
        """
        with self._store.writing() as db:
            self.allowed_in(db, person_id)
            row = self.own_in(db, person_id, assignment_id, lock=True)
            if db.scalar(select(Item.purpose).where(Item.id == row.item_id)) == "training":
                raise NotAllowedError("a training item cannot be skipped; answer it")
            if row.state != "done":
                self._set(db, row.id, state="skipped", expires=self._store.clock())

    def take(self, person_id: int, item_id: int) -> int:
        """Give a person an item that was done elsewhere, whoever has it; return the assignment.

        What the person has of it already stays as it is.
        """
        with self._store.writing(alone=True) as db:
            self.allowed_in(db, person_id)
            own = select(Assignment.id, Assignment.state)
            own = own.where(Assignment.person_id == person_id, Assignment.item_id == item_id)
            row = db.execute(own).first()
            if row is None or row.state not in ("open", "done"):
                row = self._reserve(db, person_id, item_id)
            return row.id

    def history(self, person_id: int) -> list[Past]:
        """Return what a person was given, the latest first."""
        columns = (Assignment.id, Item.prompt, Assignment.state, Assignment.finished)
        query = (
            select(*columns)
            .join(Item, Item.id == Assignment.item_id)
            .where(Assignment.person_id == person_id)
            .order_by(Assignment.position.desc())
        )
        with self._store.reading() as db:
            return [Past(*row) for row in db.execute(query)]

    def progress(self, person_id: int) -> PersonProgress:
        """Return how far a person and the study are."""
        is_full = (Item.done >= self._store.study.people_per_item).label("is_full")
        with self._store.reading() as db:
            person = self._store.people.get_in(db, person_id)
            own = (
                select(Item.purpose, Assignment.state, is_full, func.count())
                .join(Item, Item.id == Assignment.item_id)
                .where(Assignment.person_id == person_id, Item.purpose != "training")
                .group_by(Item.purpose, Assignment.state, is_full)
            )
            counts: list[tuple[Any, ...]] = [tuple(row) for row in db.execute(own)]
            everything = select(Item.purpose, is_full, func.count())
            everything = everything.group_by(Item.purpose, is_full)
            items = {(purpose, bool(full)): n for purpose, full, n in db.execute(everything)}
        done = sum(n for _, state, _, n in counts if state == "done")
        skipped = sum(n for _, state, _, n in counts if state == "skipped")
        total = items.get(("work", False), 0) + items.get(("work", True), 0)
        closed = [row for row in counts if row[1] in ("done", "skipped")]
        if person.role == "control":
            controls = items.get(("control", False), 0) + items.get(("control", True), 0)
            left = controls - sum(n for purpose, _, _, n in closed if purpose == "control")
        else:
            mine = sum(n for purpose, _, full, n in closed if purpose == "work" and not full)
            left = 0 if person.role == "owner" else items.get(("work", False), 0) - mine
        return PersonProgress(done, skipped, left, items.get(("work", True), 0), total)

    def training(self, person_id: int) -> TrainingState:
        """Return how far a person is in the training round."""
        with self._store.reading() as db:
            person = self._store.people.get_in(db, person_id)
            return training_in(db, self._store.study, person)

    def feedback(self, person_id: int, assignment_id: int) -> TrainingFeedback:
        """Return the right answers of a training item that the person has answered.

        Raises:
            NotAllowedError: It is another's, no training item, or not answered yet.
        """
        with self._store.reading() as db:
            row = self.own_in(db, person_id, assignment_id)
            return feedback_in(db, self._store.study.kind, row)

    def shown_in(self, db: Connection, row: Any) -> ShownItem:
        """Return what a row of the assignments shows."""
        item = db.execute(
            select(Item.prompt, Item.purpose, Item.detail).where(Item.id == row.item_id)
        ).one()
        image, asset = tables.ItemImage, tables.Asset
        images = db.execute(
            select(image.id, image.sha256, asset.width, asset.height)
            .join(asset, asset.sha256 == image.sha256)
            .where(image.item_id == row.item_id)
        )
        by_id = {one.id: ShownImage(*one) for one in images}
        order = shuffled(by_id, self._store.study.seed, "images", row.person_id, row.item_id)
        answers = db.execute(
            select(Answer.item_image_id, Answer.value).where(
                Answer.assignment_id == row.id, Answer.current
            )
        )
        return ShownItem(
            assignment=row.id,
            prompt=item.prompt,
            images=tuple(by_id[one] for one in order),
            answers={image_id: value for image_id, value in answers},
            purpose=item.purpose,
            detail=item.detail,
            position=row.position,
        )

    def own_in(self, db: Connection, person_id: int, assignment_id: int, lock: bool = False) -> Any:
        """Return the row of an assignment that is the person's.

        Raises:
            NotAllowedError: It was given to another, or to nobody.
        """
        query = select(*_COLUMNS).where(
            Assignment.id == assignment_id, Assignment.person_id == person_id
        )
        row = db.execute(query.with_for_update() if lock else query).first()
        if row is None:
            raise NotAllowedError("this item was not given to you; go on with your own")
        return row

    def is_free(self, db: Connection, item_id: int, person_id: int) -> bool:
        """Tell whether a person has, or could have, a place at a work item."""
        taken = select(func.count()).where(
            Assignment.item_id == item_id, Assignment.person_id != person_id, self._is_taken()
        )
        return (db.scalar(taken) or 0) < self._store.study.people_per_item

    def expires(self) -> int:
        """Return when a reservation that is made now ends."""
        return self._store.clock() + int(self._store.study.reservation_minutes * _MINUTE)

    def allowed_in(self, db: Connection, person_id: int) -> Participant:
        """Return a person who may see items."""
        person = self._store.people.get_in(db, person_id)
        if person.withdrawn is not None:
            raise NotAllowedError("you have left this study; nothing more is asked of you")
        if self._store.study.consent and person.consented is None:
            raise NotAllowedError("the consent text comes first; read it and agree")
        return person

    def _next_in(self, db: Connection, person: Participant, after: int | None) -> Any:
        opened = self._open_in(db, person.id)
        behind, held = -1, 0
        if after is not None:
            behind = self.own_in(db, person.id, after).position
        for row in opened:
            if row.position <= behind:
                held += 1
                continue
            if row.expires > self._store.clock():
                return row
            purpose = db.scalar(select(Item.purpose).where(Item.id == row.item_id))
            if purpose != "work" or self.is_free(db, row.item_id, person.id):
                self._set(db, row.id, expires=self.expires())
                return row
            self._set(db, row.id, state="expired")
        if held >= MOST_OPEN or self._is_paused(db):
            return None
        item = self._choose(db, person)
        return None if item is None else self._reserve(db, person.id, item)

    def _next_training(self, db: Connection, person: Participant) -> Any:
        """Return the first training item that is open in this try."""
        items = self._orders.of(db, self._store.study.seed, person.id, "training")
        own = select(*_COLUMNS).join(Item, Item.id == Assignment.item_id)
        own = own.where(Assignment.person_id == person.id, Item.purpose == "training")
        rows = {row.item_id: row for row in db.execute(own)}
        for item in items:
            if item not in rows:
                return self._reserve(db, person.id, item)
            if rows[item].state != "done":
                return rows[item]
        return None

    def _choose(self, db: Connection, person: Participant) -> int | None:
        """Return the item that a person is given next, None where there is none."""
        if person.role == "owner":
            return None
        if person.role == "control":
            return self._first_control(db, person)
        work = self._first_free(db, person)
        if work is None:
            return None
        count = select(func.count()).join_from(Assignment, Item, Item.id == Assignment.item_id)
        place = db.scalar(
            count.where(
                Assignment.person_id == person.id,
                Assignment.state.in_(("open", "done")),
                Item.purpose != "training",
            )
        )
        study = self._store.study
        if is_control(place or 0, study.control.every, study.seed, person.id):
            control = self._first_control(db, person)
            return work if control is None else control
        return work

    def _first_control(self, db: Connection, person: Participant) -> int | None:
        order = self._orders.of(db, self._store.study.seed, person.id, "control")
        own = set(db.scalars(self._own_items(person.id)))
        return next((item for item in order if item not in own), None)

    def _first_free(self, db: Connection, person: Participant) -> int | None:
        """Return the first item of a person's order that has a place left."""
        places = self._store.study.people_per_item
        order = self._orders.of(db, self._store.study.seed, person.id, "work")
        taken = (
            select(func.count())
            .where(Assignment.item_id == Item.id, self._is_taken())
            .scalar_subquery()
        )
        for part, start in self._orders.parts(person.id, order):
            free = select(Item.id).where(
                Item.id.in_(part),
                Item.done < places,
                Item.id.not_in(self._own_items(person.id)),
                taken < places,
            )
            found = set(db.scalars(free))
            for place, item in enumerate(part, start):
                if item in found:
                    self._orders.reached(person.id, place)
                    return item
        return None

    def _is_taken(self) -> Any:
        """Return the condition that an assignment takes a place at its item."""
        is_held = and_(Assignment.state == "open", Assignment.expires > self._store.clock())
        return or_(Assignment.state == "done", is_held)

    def _own_items(self, person_id: int) -> Any:
        return select(Assignment.item_id).where(
            Assignment.person_id == person_id, Assignment.state != "expired"
        )

    def _open_in(self, db: Connection, person_id: int) -> Sequence[Any]:
        query = select(*_COLUMNS).where(
            Assignment.person_id == person_id, Assignment.state == "open"
        )
        return db.execute(query.order_by(Assignment.position)).all()

    def _reserve(self, db: Connection, person_id: int, item_id: int) -> Any:
        own = Assignment.person_id == person_id
        last = db.scalar(select(func.max(Assignment.position)).where(own))
        values = {
            "position": 0 if last is None else last + 1,
            "state": "open",
            "created": self._store.clock(),
            "expires": self.expires(),
        }
        # One that had expired, whose place is free again.
        again = update(Assignment).where(own, Assignment.item_id == item_id).values(**values)
        row = db.execute(again.returning(*_COLUMNS)).first()
        if row is None:
            values |= {"person_id": person_id, "item_id": item_id}
            row = db.execute(insert(Assignment).values(**values).returning(*_COLUMNS)).one()
        return row

    def _set(self, db: Connection, assignment_id: int, **values: Any) -> None:
        db.execute(update(Assignment).where(Assignment.id == assignment_id).values(**values))

    def _is_paused(self, db: Connection) -> bool:
        return db.scalar(select(tables.StudyRow.paused)) is not None
