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

_ROWS_AT_ONCE = 2_000
_SAME = select(Answer.assignment_id).where(Answer.client_id == bindparam("client_id"))
_KEPT = insert(Answer)
_REPLACED = update(Answer).where(
    Answer.assignment_id == bindparam("assignment"),
    Answer.item_image_id.is_not_distinct_from(bindparam("image")),
    Answer.current,
)
_COUNTED = update(Item).where(Item.id == bindparam("item")).values(done=Item.done + 1)
SHOWN_MODEL = case((ItemImage.is_reference, REFERENCE), else_=ItemImage.model).label("model")
"""The model of an image in exports: "reference" for a reference image."""
_FILE = (
    *(Asset.file_width.label("width"), Asset.file_height.label("height")),
    *(Asset.orientation, Asset.frame),
)


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
    saved_to = db.run(_SAME, client_id=client_id).scalar()
    if saved_to is not None:
        if saved_to != assignment_id:
            raise AnnotationError("client_id: used for another answer; use a new client_id", 409)
        return assignment.state == "done"
    shown = work.build_shown_item(db, assignment)
    if assignment.state == "done" and shown.purpose == "training":
        raise AnnotationError("you already answered this practice item; rate the next item", 409)
    if read_from_page is not None:
        image_id, value = read_from_page(shown)
    kind = db.study.kind
    image_ids = [image.id for image in shown.images] if kind.about_image else [None]
    if image_id not in image_ids:
        raise AnnotationError("image: not found in this item; rate the images shown", 409)
    kind.check_answer(value, shown, db.study.task)
    is_held = assignment.state == "open" and assignment.expires > db.now()
    if assignment.state != "done" and not is_held and shown.purpose == "work":
        db.lock_database()
        if not work.has_free_place(db, person, assignment):
            raise AnnotationError("others rated this item in the meantime; rate the next item", 409)
    if image_id in shown.answers:
        db.run(_REPLACED, assignment=assignment.id, image=image_id, current=False)
    db.run(
        _KEPT,
        assignment_id=assignment.id,
        item_image_id=image_id,
        client_id=client_id,
        value=dict(value),
        seconds=float(seconds),
        created=db.now(),
    )
    is_complete = len({*shown.answers, image_id}) >= len(image_ids)
    if assignment.state != "done" and not is_complete:
        work.change_assignment(
            db, assignment.id, state="open", expires=work.get_reservation_end(db)
        )
    elif assignment.state != "done":
        work.change_assignment(db, assignment.id, state="done", finished=db.now())
        if person.role == "annotator" and person.reopened is None:
            db.run(_COUNTED, item=assignment.item_id)
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
        read = db.connection().execute  # does not create ORM objects
        of_item = select(Item.id, Item.prompt_id, Item.prompt, Item.purpose, Item.detail)
        items, shown = _index_by_id(read(of_item)), defaultdict(list)
        of_image: Any = (ItemImage.id, ItemImage.item_id, ItemImage.image, SHOWN_MODEL)
        of_image = select(*of_image, *_FILE).join(Asset)
        images = _index_by_id(read(of_image.order_by(ItemImage.item_id, ItemImage.position)))
        for image_id, image in images.items():
            shown[image.pop("item_id")].append((image["image"], image["model"], image_id))
        given = (Answer.id, Answer.value, Answer.seconds, Answer.created)
        who = (Person.name.label("annotator"), (Person.role == "control").label("is_control"))
        said = select(Assignment.item_id, Answer.item_image_id, *who, *given).select_from(Answer)
        said = said.join(Assignment).join(Person)
        said = said.outerjoin(ItemImage, ItemImage.id == Answer.item_image_id)
        is_used = (Assignment.state != "skipped") & Answer.current & (Person.role != "trial")
        in_order = (Assignment.item_id, Person.id, ItemImage.position, Answer.id)
        said = said.where(is_used).order_by(*in_order).execution_options(yield_per=_ROWS_AT_ONCE)
        for answer in map(dict, read(said).mappings()):
            item_id, image_id = answer.pop("item_id"), answer.pop("item_image_id")
            about = images.get(image_id, {"image": "", "model": ""})
            together = () if image_id else tuple(shown[item_id])
            yield Vote(**items[item_id], **about, **answer, images=together)


def _index_by_id(rows: CursorResult) -> dict[int, dict[str, Any]]:
    return {row.pop("id"): row for row in map(dict, rows.mappings())}
