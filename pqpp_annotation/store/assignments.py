"""What was given to whom: who may see it, what it shows, when its place is free again."""

from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.kinds import ShownImage, ShownItem
from pqpp_annotation.protocol.order import shuffled
from pqpp_annotation.store.people import person_by_id
from pqpp_annotation.store.tables import Answer, Asset, Assignment, Item, ItemImage, Person
from pqpp_annotation.store.transactions import Transaction, reads

MINUTE = 60_000


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


def own_assignment(
    db: Transaction, person_id: int, assignment_id: int, lock: bool = False
) -> Assignment:
    """Return an assignment of a person.

    Raises:
        NotAllowedError: It was given to another, or to nobody.
    """
    assignment = db.get(Assignment, assignment_id, with_for_update=lock or None)
    if assignment is None or assignment.person_id != person_id:
        raise NotAllowedError("this item was not given to you; go on with your own")
    return assignment


@reads
def shown_item(db: Transaction, person_id: int, assignment_id: int) -> ShownItem:
    """Return an item that the person was given before, with the answers.

    Raises:
        NotAllowedError: It was given to another, or to nobody.
    """
    allowed_person(db, person_id)
    return shown_of(db, own_assignment(db, person_id, assignment_id))


def shown_of(db: Transaction, assignment: Assignment) -> ShownItem:
    """Return what an assignment shows."""
    item = db.get_one(Item, assignment.item_id)
    images = (
        select(ItemImage.id, ItemImage.sha256, Asset.width, Asset.height)
        .join(Asset)
        .where(ItemImage.item_id == item.id)
    )
    by_id = {row.id: ShownImage(*row) for row in db.execute(images)}
    order = shuffled(by_id, db.study.seed, "images", assignment.person_id, item.id)
    return ShownItem(
        assignment=assignment.id,
        prompt=item.prompt,
        images=tuple(by_id[image_id] for image_id in order),
        answers=current_answers(db, assignment),
        purpose=item.purpose,
        detail=item.detail,
        position=assignment.position,
    )


@reads
def shown_images(db: Transaction, person_id: int, assignment_id: int) -> dict[int | str, str]:
    """Return the hashes of what an assignment shows: by id its images, by hash those beside them.

    Raises:
        NotAllowedError: It was given to another, or to nobody.
    """
    item = db.get_one(Item, own_assignment(db, person_id, assignment_id).item_id)
    images = select(ItemImage.id, ItemImage.sha256).where(ItemImage.item_id == item.id)
    others = db.study.kind.other_images(item.detail)
    return {**dict(db.execute(images).all()), **{sha256: sha256 for sha256 in others}}


def current_answers(db: Transaction, assignment: Assignment) -> dict[int | None, dict[str, Any]]:
    """Return image id (None for the item) to what the person says of it now."""
    query = select(Answer.item_image_id, Answer.value)
    query = query.where(Answer.assignment_id == assignment.id, Answer.current)
    return dict(db.execute(query).all())


def reserved_until(db: Transaction) -> int:
    """Return when a reservation that is made now ends."""
    return db.now() + int(db.study.reservation_minutes * MINUTE)


def takes_place(db: Transaction) -> ColumnElement[bool]:
    """Return the condition that an assignment takes a place at its item."""
    is_held = and_(Assignment.state == "open", Assignment.expires > db.now())
    placeless = or_(Person.reopened.is_not(None), Person.role == "trial")
    takes_none = select(Person.id).where(placeless)
    return and_(or_(Assignment.state == "done", is_held), Assignment.person_id.not_in(takes_none))


def is_free(db: Transaction, person: Person, assignment: Assignment) -> bool:
    """Tell whether a person has, or could have, a place at a work item."""
    if person.role == "trial":
        return True
    taken = select(func.count()).where(
        Assignment.item_id == assignment.item_id,
        Assignment.person_id != assignment.person_id,
        takes_place(db),
    )
    return (db.scalar(taken) or 0) < db.study.people_per_item
