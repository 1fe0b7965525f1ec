"""Saving people's answers, and reading them as tables and as votes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from sqlalchemy import Select, Text, bindparam, case, cast, func, insert, select, update

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import ShownItem, Vote
from pqpp_annotation.store import work
from pqpp_annotation.store.database import parse_json_cell
from pqpp_annotation.store.people import get_person
from pqpp_annotation.store.tables import Answer, Asset, Assignment, Item, ItemImage, Person
from pqpp_annotation.store.transactions import Transaction, reads, writes
from pqpp_annotation.study.prompts import REFERENCE

_NO_IMAGE = -1  # the image of an answer about its item
_VOTE_FIELDS = ["id", "purpose", "value", "seconds", "created"]
_ASSIGNMENT_ID = select(Answer.assignment_id).where(Answer.client_id == bindparam("client_id"))
_INSERT_ANSWER = insert(Answer)
_REPLACE_ANSWER = update(Answer).where(
    Answer.assignment_id == bindparam("assignment"),
    Answer.item_image_id.is_not_distinct_from(bindparam("image")),
    Answer.current,
)
_INCREMENT_DONE = update(Item).where(Item.id == bindparam("item")).values(done=Item.done + 1)


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
        AnnotationError: The value is invalid, other people have completed the item, or it is not
            assigned to this person or is an answered training item.
    """
    person = get_person(db, person_id)
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


@dataclass(frozen=True)
class Records:
    """A study's answers, assignments, items and images, as tables indexed by their database ids.

    Times are in milliseconds since 1970, UTC. Answers of trial links are left out.

    Attributes:
        answers: Columns assignment_id, item_image_id (-1 if about the item), created, seconds,
            current (False once replaced), value, label (NaN if undecided), turned (whether the
            second image of a pair was on the left), and the columns of the assignment.
        assignments: Columns person_id, item_id, given (time of assignment), state, finished (NaN if
            unfinished) and the item's purpose.
        items: Columns prompt_id, prompt and detail.
        images: Columns item_id, image (its name), model ("reference" for a reference image) and the
            file's width, height, orientation and frame, as in `Vote`.
        people: Columns annotator (name) and role.
    """

    answers: pandas.DataFrame
    assignments: pandas.DataFrame
    items: pandas.DataFrame
    images: pandas.DataFrame
    people: pandas.DataFrame

    def select_votes(self) -> pandas.DataFrame:
        """Return the current answers to items not skipped later, by item, person and image."""
        is_used = self.answers["current"] & (self.answers["state"] != "skipped")
        return self.answers[is_used].sort_values(["item_id", "person_id", "item_image_id"])


@reads
def read_records(db: Transaction) -> Records:
    """Read all records of a study."""
    image = func.coalesce(Answer.item_image_id, _NO_IMAGE).label("item_image_id")
    query: Any = select(Answer.id, Answer.assignment_id, image, Answer.created, Answer.seconds)
    query = query.add_columns(Answer.current, cast(Answer.value, Text).label("value"))
    types = {"assignment_id": int, "item_image_id": int, "created": int, "current": bool}
    answers = _read_rows(db, query.order_by(Answer.id), seconds=float, **types)
    codes, texts = pandas.factorize(answers.pop("value"))  # few values are distinct
    values = [parse_json_cell(text) for text in texts]
    answers["value"] = [values[code] for code in codes]
    answers["label"] = np.array([*map(db.study.kind.get_label, values)], float)[codes]
    answers["turned"] = np.array([value.get("left") == "b" for value in values], bool)[codes]
    columns = (Assignment.created.label("given"), Assignment.state, Assignment.finished)
    query = select(Assignment.id, Assignment.person_id, Assignment.item_id, *columns, Item.purpose)
    types = {"person_id": int, "item_id": int, "given": int, "finished": float}
    query = query.join(Person).join(Item).where(Person.role != "trial")
    assignments = _read_rows(db, query.order_by(Assignment.id), **types)
    items = select(Item.id, Item.prompt_id, Item.prompt, Item.detail).order_by(Item.id)
    model = case((ItemImage.is_reference, REFERENCE), else_=ItemImage.model).label("model")
    size = Asset.file_width.label("width"), Asset.file_height.label("height")
    images = select(ItemImage.id, ItemImage.item_id, ItemImage.image, model, *size).join(Asset)
    images = images.add_columns(Asset.orientation, Asset.frame).order_by(ItemImage.id)
    return Records(
        answers=answers.join(assignments, on="assignment_id", how="inner"),
        assignments=assignments,
        items=_read_rows(db, items),
        images=_read_rows(db, images),
        people=_read_rows(db, select(Person.id, Person.name.label("annotator"), Person.role)),
    )


def _read_rows(db: Transaction, query: Select, **types: type) -> pandas.DataFrame:
    """Return the rows of a query, indexed by id, with columns converted to `types`."""
    rows = db.execute(query)  # pandas.read_sql_query would hide the type of errors
    frame = pandas.DataFrame.from_records([*rows], columns=[*rows.keys()], coerce_float=True)
    return frame.astype(types | {"id": int}).set_index("id")


def iterate_votes(records: Records) -> Iterator[Vote]:
    """Yield the votes of `Records.select_votes`, including those on training items and checks."""
    tables: Any = records.items, records.images, records.people
    items, images, people = (table.to_dict("index") for table in tables)
    item_images = defaultdict(list)
    for image_id, image in images.items():
        item_images[image.pop("item_id")].append((image["image"], image["model"], image_id))
    for answer in records.select_votes().reset_index().to_dict("records"):
        person, image_id = people[answer["person_id"]], answer["item_image_id"]
        yield Vote(
            annotator=person["annotator"],
            is_control=person["role"] == "control",
            images=() if image_id in images else tuple(item_images[answer["item_id"]]),
            **items[answer["item_id"]],
            **images.get(image_id, {"image": "", "model": ""}),
            **{name: answer[name] for name in _VOTE_FIELDS},
        )
