"""Saving people's answers, and reading them as votes."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from sqlalchemy import CursorResult, bindparam, case, func, insert, select, update

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import ShownItem, Vote
from pqpp_annotation.store import work
from pqpp_annotation.store.tables import Answer, Asset, Assignment, Item, ItemImage, Person
from pqpp_annotation.store.transactions import Store, Transaction, reads, writes
from pqpp_annotation.study.prompts import REFERENCE

_BATCH_SIZE = 2_000
_ASSIGNMENT_ID = select(Answer.assignment_id).where(Answer.client_id == bindparam("client_id"))
_INSERT_ANSWER = insert(Answer)
_REPLACE_ANSWER = update(Answer).where(
    Answer.assignment_id == bindparam("assignment"),
    Answer.item_image_id.is_not_distinct_from(bindparam("image")),
    Answer.current,
)
_INCREMENT_DONE = update(Item).where(Item.id == bindparam("item")).values(done=Item.done + 1)
SHOWN_MODEL = case((ItemImage.is_reference, REFERENCE), else_=ItemImage.model).label("model")
"""The model of an image in exports: "reference" for a reference image."""


@writes
def save_answer(
    db: Transaction,
    person_id: int,
    assignment_id: int,
    image_id: int | None,
    value: Mapping[str, Any],
    client_id: str,
    seconds: float = 0.0,
    read_from_page: Callable[[ShownItem], tuple[int | None, Mapping[str, Any]]] | None = None,
) -> bool:
    """Save an answer, which is on disk when this returns; return whether the item is complete.

    An earlier answer to the same image or item is kept but no longer current. An expired
    reservation is renewed if a place is left.

    Args:
        image_id: Id of the image; None if the answer is about the item.
        value: The answer, as `TaskKind.answer` defines it.
        client_id: Unique id of the answer, from the browser; a repeated id changes nothing.
        seconds: Active time in seconds.
        read_from_page: Converts the shown item to `image_id` and `value`, which replace the
            arguments.

    Raises:
        AnnotationError: The value is invalid, other people have completed the item, it is not
            assigned to this person or is an answered training item, or the person has withdrawn.
    """
    person = work.get_active_person(db, person_id)
    assignment = work.get_assignment(db, person_id, assignment_id, lock=True)
    saved_assignment_id = db.run(_ASSIGNMENT_ID, client_id=client_id).scalar()
    if saved_assignment_id is not None:
        if saved_assignment_id != assignment_id:
            raise AnnotationError("client_id: used for another answer; use a new client_id", 409)
        return assignment.state == "done"
    item = work.build_shown_item(db, assignment)
    if assignment.state == "done" and item.purpose == "training":
        raise AnnotationError("you already answered this practice item; rate the next item", 409)
    if read_from_page is not None:
        image_id, value = read_from_page(item)
    kind = db.study.kind
    image_ids = [image.id for image in item.images] if kind.about_image else [None]
    if image_id not in image_ids:
        raise AnnotationError("image: not found in this item; rate the images shown", 409)
    kind.check_answer(value, item, db.study.task)
    is_reserved = assignment.state == "open" and assignment.expires > db.now()
    if assignment.state != "done" and not is_reserved and item.purpose == "work":
        db.lock_database()
        if not work.has_free_place(db, person, assignment):
            raise AnnotationError("others rated this item in the meantime; rate the next item", 409)
    if image_id in item.answers:
        db.run(_REPLACE_ANSWER, assignment=assignment.id, image=image_id, current=False)
    db.run(
        _INSERT_ANSWER,
        assignment_id=assignment.id,
        item_image_id=image_id,
        client_id=client_id,
        value=dict(value),
        seconds=float(seconds),
        created=db.now(),
    )
    is_complete = len({*item.answers, image_id}) >= len(image_ids)
    if assignment.state != "done" and not is_complete:
        expires = work.get_reservation_end(db)
        work.change_assignment(db, assignment.id, state="open", expires=expires)
    elif assignment.state != "done":
        work.change_assignment(db, assignment.id, state="done", finished=db.now())
        if person.role == "annotator" and person.reopened is None:
            db.run(_INCREMENT_DONE, item=assignment.item_id)
    return is_complete


@reads
def count_answers(db: Transaction) -> int:
    """Return the number of answers, including replaced ones."""
    return db.scalar(select(func.count()).select_from(Answer)) or 0


def iterate_votes(source: Store | Transaction) -> Iterator[Vote]:
    """Yield the current answers, ordered by item, person and image.

    Answers of trial links, and of items that the person skipped later, are left out.
    """
    with nullcontext(source) if isinstance(source, Transaction) else source.begin_read() as db:
        execute = db.connection().execute  # does not create ORM objects
        item_query = select(Item.id, Item.prompt_id, Item.prompt, Item.purpose, Item.detail)
        items, item_images = _index_by_id(execute(item_query)), defaultdict(list)
        width, height = Asset.file_width.label("width"), Asset.file_height.label("height")
        image_query = select(ItemImage.id, ItemImage.item_id, ItemImage.image, SHOWN_MODEL)
        image_query = image_query.add_columns(width, height, Asset.orientation, Asset.frame)
        image_query = image_query.join(Asset).order_by(ItemImage.item_id, ItemImage.position)
        images = _index_by_id(execute(image_query))
        for image_id, image in images.items():
            item_images[image.pop("item_id")].append((image["image"], image["model"], image_id))
        is_control = (Person.role == "control").label("is_control")
        query = select(Assignment.item_id, Answer.item_image_id, Person.name.label("annotator"))
        query = query.add_columns(is_control, Answer.id, Answer.value, Answer.seconds)
        query = query.add_columns(Answer.created)
        query = query.select_from(Answer).join(Assignment).join(Person)
        query = query.outerjoin(ItemImage, ItemImage.id == Answer.item_image_id)
        is_used = (Assignment.state != "skipped") & Answer.current & (Person.role != "trial")
        order = (Assignment.item_id, Person.id, ItemImage.position, Answer.id)
        query = query.where(is_used).order_by(*order).execution_options(yield_per=_BATCH_SIZE)
        for answer in map(dict, execute(query).mappings()):
            item_id, image_id = answer.pop("item_id"), answer.pop("item_image_id")
            image_fields = images.get(image_id, {"image": "", "model": ""})
            images_of_item = () if image_id else tuple(item_images[item_id])
            yield Vote(**items[item_id], **image_fields, **answer, images=images_of_item)


def _index_by_id(rows: CursorResult) -> dict[int, dict[str, Any]]:
    return {row.pop("id"): row for row in map(dict, rows.mappings())}
