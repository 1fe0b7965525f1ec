"""All answers of a study in columns, kept between two looks: only what came since is read."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection, Text, case, cast, func, select

from pqpp_annotation.protocol.admission import REFERENCE, label_scale, study_votes
from pqpp_annotation.store.tables import Answer, Assignment, Item, ItemImage, Person
from pqpp_datasets.own_benchmark.judgment_files import Coded
from pqpp_datasets.own_benchmark.votes.votes import Votes

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store
    from pqpp_annotation.study.study import Study

NONE = -1  # the image of an answer about its item
_CHUNK = 5_000
_STATES = {"open": 0, "done": 1, "skipped": 2, "expired": 3}
DONE, SKIPPED = _STATES["done"], _STATES["skipped"]


@dataclass(frozen=True)
class StudyAnswers:
    """The answers, a place in each array an answer, the oldest first.

    Attributes:
        id: int64 (answers,), of the row in the database; likewise `assignment`, `person`, `item`
            and `image` (`NONE` where it is about the item).
        created: int64 (answers,), milliseconds since 1970.
        seconds: float64 (answers,).
        label: float64 (answers,), NaN where the kind has none.
        current: bool (answers,), False once it was replaced.
        given: What was given to whom.
    """

    id: np.ndarray
    assignment: np.ndarray
    person: np.ndarray
    item: np.ndarray
    image: np.ndarray
    created: np.ndarray
    seconds: np.ndarray
    label: np.ndarray
    current: np.ndarray
    given: Given

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True)
class Given:
    """The assignments, in the order of their ids; each array is int64 (assignments,).

    Attributes:
        state: 0 open, 1 done, 2 skipped, 3 expired.
        finished: In milliseconds; 0 before.
    """

    id: np.ndarray
    person: np.ndarray
    item: np.ndarray
    created: np.ndarray
    state: np.ndarray
    finished: np.ndarray


class Ledger:
    """The answers of a study, brought up to date by what came since the last look.

    Args:
        store: Of the study.
        study: The study.
    """

    def __init__(self, store: Store, study: Study):
        self._store, self._study = store, study
        self._lock = threading.Lock()
        self._labels: dict[str, float] = {}
        self._said = _NOTHING
        self._gone = 0
        self._items: Items | None = None

    def now(self, db: Connection) -> tuple[StudyAnswers, Items]:
        """Return all answers and all items.

        Args:
            db: A connection in a transaction that reads.
        """
        with self._lock:
            gone = db.scalar(select(func.count()).where(Person.withdrawn.is_not(None)))
            assert gone is not None
            if gone != self._gone:  # answers may be gone, and their ids be given again
                self._said, self._gone = _NOTHING, gone
            new = self._read(db, self._said.shape[1] and int(self._said[0, -1]))
            self._said = _joined(self._said, new)
            images = db.scalar(select(func.count()).select_from(ItemImage))
            items = db.scalar(select(func.count()).select_from(Item))
            known = self._items
            if known is None or (len(known.id), len(known.image_id)) != (items, images):
                known = self._items = _items(db)
            return _columns(self._said, _given(db)), known

    def _read(self, db, after: int) -> np.ndarray:
        """Return the answers behind one: id, assignment, image, time, seconds, current, label."""
        columns = (
            Answer.id,
            Answer.assignment_id,
            func.coalesce(Answer.item_image_id, NONE),
            Answer.created,
            Answer.seconds,
            case((Answer.current, 1), else_=0),
        )
        query = select(*columns).where(Answer.id > after).order_by(Answer.id)
        values = select(cast(Answer.value, Text)).where(Answer.id > after).order_by(Answer.id)
        labels = [self._label(text) for rows in _chunks(db, values) for (text,) in rows]
        return np.concatenate([_numbers(db, query), np.array([labels], float)])

    def _label(self, text: str) -> float:
        found = self._labels.get(text)
        if found is None:
            label = self._study.kind.label(json.loads(text))
            found = self._labels[text] = float("nan") if label is None else float(label)
        return found


_NOTHING = np.zeros((7, 0))


def _chunks(db, query) -> Iterator[list[tuple]]:
    """Give the rows of a query as the driver does, some thousand at a time.

    Very many rows at once would be gone through again and again by the garbage collector.
    """
    result = db.execute(query)
    while rows := result.cursor.fetchmany(_CHUNK):
        yield rows
    result.close()


def _numbers(db, query) -> np.ndarray:
    """Return the columns of a query as the rows of an array, float64; ids and times are exact."""
    parts = [np.array(rows, float) for rows in _chunks(db, query)]
    return np.concatenate(parts).T if parts else np.zeros((len(query.selected_columns), 0))


def _texts(db, query) -> list[tuple]:
    """Return the columns of a query."""
    rows = [row for some in _chunks(db, query) for row in some]
    return list(zip(*rows, strict=True)) or [()] * len(query.selected_columns)


def _joined(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Append answers; those to the same question take the place of older ones."""
    if not known.shape[1] or not new.shape[1]:
        return new if new.shape[1] else known
    old, again = ((one[1] * 2**32 + one[2]).astype(np.int64) for one in (known, new))
    joined = np.concatenate([known, new], axis=1)
    joined[5, : len(old)] *= ~np.isin(old, again)
    return joined


def _given(db) -> Given:
    query = select(
        Assignment.id,
        Assignment.person_id,
        Assignment.item_id,
        Assignment.created,
        case(_STATES, value=Assignment.state, else_=0),
        func.coalesce(Assignment.finished, 0),
    ).order_by(Assignment.id)
    return Given(*_numbers(db, query).astype(np.int64))


def _columns(said: np.ndarray, given: Given) -> StudyAnswers:
    ids, assignment, image, created = said[:4].astype(np.int64)
    place = np.searchsorted(given.id, assignment)
    return StudyAnswers(
        id=ids,
        assignment=assignment,
        person=given.person[place],
        item=given.item[place],
        image=image,
        created=created,
        seconds=said[4],
        label=said[6],
        current=said[5] > 0,
        given=given,
    )


@dataclass(frozen=True)
class Items:
    """The items and their images, in the order of their ids.

    Attributes:
        id: int64 (items,).
        prompt_id: The prompt of each item; `prompt` its text, `purpose` its purpose.
        image_id: int64 (images,).
        image_item: int64 (images,), the id of the item of each.
        image: The name of each image; `model` its model, `reference` for a reference image.
        item_images: Id of an item to the names of its images, in the file's order.
    """

    id: np.ndarray
    prompt_id: list[str]
    prompt: list[str]
    purpose: np.ndarray
    image_id: np.ndarray
    image_item: np.ndarray
    image: list[str]
    model: list[str]

    def place(self, ids: np.ndarray) -> np.ndarray:
        """Return where items stand, by their ids."""
        return np.searchsorted(self.id, ids)


def _items(db) -> Items:
    of_items = select(Item.id, Item.prompt_id, Item.prompt, Item.purpose).order_by(Item.id)
    items = _texts(db, of_items)
    of_images = select(
        ItemImage.id, ItemImage.item_id, ItemImage.image, ItemImage.model, ItemImage.is_reference
    ).order_by(ItemImage.id)
    images = _texts(db, of_images)
    return Items(
        np.array(items[0], np.int64),
        list(items[1]),
        list(items[2]),
        np.array(items[3], dtype="U16"),
        np.array(images[0], np.int64),
        np.array(images[1], np.int64),
        list(images[2]),
        [
            REFERENCE if is_reference else model
            for model, is_reference in zip(images[3], images[4], strict=True)
        ],
    )


def votes_table(
    db: Connection, study: Study, answers: StudyAnswers, items: Items
) -> tuple[Votes | None, np.ndarray]:
    """Return the table of votes that admission is computed from, as that of the export.

    Args:
        db: A connection in a transaction that reads.
        study: The study.
        answers: All.
        items: All.

    Returns:
        The table, and int64 (rows,), the place of each row among the answers.
    """
    skipped = answers.given.id[answers.given.state == SKIPPED]
    place = items.place(answers.item)
    used = answers.current & ~np.isnan(answers.label) & ~np.isin(answers.assignment, skipped)
    used[used] = items.purpose[place[used]] != "training"
    rows = np.flatnonzero(used)
    # The order of the export: item by item, person by person, image by image.
    rows = rows[np.lexsort((answers.image[rows], answers.person[rows], answers.item[rows]))]
    people = {
        one: (name, role)
        for one, name, role in db.execute(select(Person.id, Person.name, Person.role))
    }
    of_person, code = np.unique(answers.person[rows], return_inverse=True)
    names = [people[one][0] for one in of_person.tolist()]
    is_member = np.array([people[one][1] == "control" for one in of_person.tolist()], bool)
    image = _image_columns(answers.image[rows], place[rows], items)
    label = answers.label[rows]
    table = study_votes(
        _coded(place[rows], items.prompt_id),
        *image,
        _in_order(Coded(code.astype(np.int32), names)),
        label,
        is_member[code] if len(code) else np.zeros(0, bool),
        answers.seconds[rows],
        label_scale(study.kind, study.task, label),
    )
    return table, rows


def _image_columns(images: np.ndarray, place: np.ndarray, items: Items) -> tuple[Coded, Coded]:
    """Return the columns of models and images; an item that is judged whole is one of its own."""
    at = np.searchsorted(items.image_id, images)
    whole = images == NONE
    if not whole.any():
        return _coded(at, items.model), _coded(at, items.image)
    return Coded(np.zeros(len(images), np.int32), [""]), _coded(place, list(map(str, items.id)))


def _coded(place: np.ndarray, texts: list[str]) -> Coded:
    """Return the texts at some places as a column, its names in order of first appearance."""
    distinct, first, code = np.unique(place, return_index=True, return_inverse=True)
    names: dict[str, int] = {}
    order = np.argsort(first, kind="stable")
    number = np.empty(len(distinct), np.int32)
    for one in order.tolist():
        number[one] = names.setdefault(texts[distinct[one]], len(names))
    return Coded(number[code], list(names))


def _in_order(column: Coded) -> Coded:
    """Return a column with its names in order of first appearance."""
    return _coded(column.codes, column.names)
