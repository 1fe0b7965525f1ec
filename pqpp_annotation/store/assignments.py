"""What was given to whom: who may see it, what it shows, when its place is free again."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, and_, bindparam, func, or_, select, update

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.kinds import ShownImage, ShownItem
from pqpp_annotation.protocol.order import shuffled
from pqpp_annotation.store.people import person_by_id
from pqpp_annotation.store.tables import Answer, Asset, Assignment, Item, ItemImage, Person
from pqpp_annotation.store.transactions import Transaction, reads

MINUTE = 60_000
_NO_PLACE = select(Person.id).where(or_(Person.reopened.is_not(None), Person.role == "trial"))
_HELD = and_(Assignment.state == "open", Assignment.expires > bindparam("now"))
TAKES_PLACE = and_(or_(Assignment.state == "done", _HELD), Assignment.person_id.not_in(_NO_PLACE))
"""The condition that an assignment takes a place at its item, as it is `now`."""

_TAKEN = select(func.count()).where(
    Assignment.item_id == bindparam("item"),
    Assignment.person_id != bindparam("person"),
    TAKES_PLACE,
)
_CONTENT = (
    select(Item.prompt, Item.purpose, Item.detail, ItemImage.id, *Asset.__table__.c)
    .select_from(Item)
    .join(ItemImage)
    .join(Asset)
    .where(Item.id == bindparam("item"))
)
_OWN = select(*Assignment.__table__.c).where(Assignment.id == bindparam("id"))
_LOCKED = _OWN.with_for_update()
_CHANGE = update(Assignment).where(Assignment.id == bindparam("assignment"))
_ANSWERS = select(Answer.item_image_id, Answer.value).where(
    Answer.assignment_id == bindparam("assignment"), Answer.current
)


def allowed_person(db: Transaction, person_id: int) -> Person:
    """Return a person who may see items.

    Raises:
        NotAllowedError: The person has withdrawn, or has not consented.
    """
    person = person_by_id(db, person_id)
    if person.withdrawn is not None:
        raise NotAllowedError("you have left this study; nothing more is asked of you")
    if db.study.consent and person.consented is None:
        raise NotAllowedError("the consent text comes first; read it and agree")
    return person


def own_assignment(db: Transaction, person_id: int, assignment_id: int, lock: bool = False) -> Row:
    """Return an assignment of a person, with the columns of its table.

    Raises:
        NotAllowedError: It was given to another, or to nobody.
    """
    assignment = db.run(_LOCKED if lock else _OWN, id=assignment_id).first()
    if assignment is None or assignment.person_id != person_id:
        raise NotAllowedError("this item was not given to you; go on with your own")
    return assignment


def change_assignment(db: Transaction, assignment_id: int, **columns: Any) -> None:
    """Write columns of an assignment."""
    db.run(_CHANGE, assignment=assignment_id, **columns)


@dataclass(frozen=True)
class Content:
    """What an item shows to everybody; `images` by their ids."""

    prompt: str
    purpose: str
    detail: dict[str, Any]
    images: dict[int, Any]


def content_of(db: Transaction, item_id: int) -> Content:
    """Return what an item shows."""
    rows = db.run(_CONTENT, item=item_id).all()
    first = rows[0]
    return Content(first.prompt, first.purpose, first.detail, {row.id: row for row in rows})


@reads
def shown_item(db: Transaction, person_id: int, assignment_id: int) -> ShownItem:
    """Return an item that the person was given before, with the answers.

    Raises:
        NotAllowedError: It was given to another, or to nobody.
    """
    allowed_person(db, person_id)
    return shown_of(db, own_assignment(db, person_id, assignment_id))


def shown_of(db: Transaction, assignment: Row) -> ShownItem:
    """Return what an assignment shows."""
    content = content_of(db, assignment.item_id)
    seeds = (db.study.seed, "images", assignment.person_id, assignment.item_id)
    shown = {key: content.images[key] for key in shuffled(content.images, *seeds)}
    return ShownItem(
        assignment=assignment.id,
        prompt=content.prompt,
        images=tuple(ShownImage(key, i.sha256, i.width, i.height) for key, i in shown.items()),
        answers=current_answers(db, assignment.id),
        purpose=content.purpose,
        detail=content.detail,
        position=assignment.position,
    )


@reads
def shown_images(db: Transaction, item_id: int) -> dict[int | str, Any]:
    """Return what an item shows: its images by their ids, those beside them by hash."""
    content = content_of(db, item_id)
    others = db.study.kind.other_images(content.detail)
    return content.images | {sha256: db.get_one(Asset, sha256) for sha256 in others}


def current_answers(db: Transaction, assignment_id: int) -> dict[int | None, dict[str, Any]]:
    """Return image id (None for the item) to what the person says of it now."""
    return dict(map(tuple, db.run(_ANSWERS, assignment=assignment_id)))


def reserved_until(db: Transaction) -> int:
    """Return when a reservation that is made now ends."""
    return db.now() + int(db.study.reservation_minutes * MINUTE)


def is_free(db: Transaction, person: Person, assignment: Row) -> bool:
    """Tell whether a person has, or could have, a place at a work item."""
    if person.role == "trial":
        return True
    taken = db.run(_TAKEN, item=assignment.item_id, person=person.id, now=db.now()).scalar_one()
    return taken < db.study.people_per_item
