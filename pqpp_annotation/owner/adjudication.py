"""What people said of one item, and what the owner decides there; no vote is replaced by it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from pqpp_annotation.errors import AnswerError, StudyError
from pqpp_annotation.simulate import single_choices
from pqpp_annotation.store.tables import (
    Adjudication,
    Answer,
    Assignment,
    Item,
    ItemImage,
    Person,
)

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store
    from pqpp_annotation.study.study import Study


@dataclass(frozen=True)
class JudgedPart:
    """An image of an item, or the item itself, with all that people said of it.

    Attributes:
        image_id: Of the image in the item; None where the answers are about the item.
        sha256: By which the image is shown; None for an item.
        votes: (who, role, what was said), the earliest first.
        decision: What the owner decided, None before.
    """

    image_id: int | None
    image: str
    model: str
    sha256: str | None
    votes: tuple[tuple[str, str, Mapping[str, Any]], ...]
    decision: Mapping[str, Any] | None


@dataclass(frozen=True)
class Case:
    """An item that is decided on: its prompt, and what people said of each image."""

    item: int
    prompt_id: str
    prompt: str
    parts: tuple[JudgedPart, ...]
    images: tuple[tuple[str, str], ...]


def case_of(store: Store, study: Study, item_id: int) -> Case:
    r"""Return an item with all current votes on it.

    Raises:
        AnswerError: There is no such item.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> case = case_of(store, study, 1)
        >>> case.prompt, len(case.parts), len(case.parts[0].votes)
        ('a cat', 1, 2)
        >>> store.close()
    """
    with store.reading() as db:
        item = db.execute(
            select(Item.prompt_id, Item.prompt).where(Item.id == item_id)
        ).one_or_none()
        if item is None:
            raise AnswerError(f"item {item_id}: there is none; choose one from the list")
        images = db.execute(
            select(ItemImage.id, ItemImage.image, ItemImage.model, ItemImage.sha256)
            .where(ItemImage.item_id == item_id)
            .order_by(ItemImage.position)
        ).fetchall()
        said: dict[int | None, list] = {}
        query = (
            select(Answer.item_image_id, Person.name, Person.role, Answer.value)
            .join(Assignment, Answer.assignment_id == Assignment.id)
            .join(Person, Assignment.person_id == Person.id)
            .where(Assignment.item_id == item_id, Answer.current, Assignment.state != "skipped")
            .order_by(Answer.id)
        )
        for image, *vote in db.execute(query):
            said.setdefault(image, []).append(tuple(vote))
        decided: dict[Any, Any] = dict(
            db.execute(
                select(Adjudication.item_image_id, Adjudication.value).where(
                    Adjudication.item_id == item_id
                )
            ).fetchall()
        )
    parts: list[JudgedPart] = []
    if study.kind.about_image:
        for one in images:
            votes = tuple(said.get(one.id, ()))
            parts.append(
                JudgedPart(one.id, one.image, one.model, one.sha256, votes, decided.get(one.id))
            )
    else:
        parts.append(JudgedPart(None, "", "", None, tuple(said.get(None, ())), decided.get(None)))
    shown = tuple((one.image, one.sha256) for one in images)
    return Case(item_id, item.prompt_id, item.prompt, tuple(parts), shown)


def choices_of(study: Study, part: JudgedPart) -> list[dict[str, Any]]:
    """Return what may be decided: the labels of the kind, and whatever people said.

    Args:
        study: The study.
        part: The image, or the item.

    Example:
        >>> from pqpp_annotation.study.study import study_of
        >>> study = study_of({"name": "mine", "kind": "relevance"})
        >>> len(choices_of(study, JudgedPart(None, "", "", None, (), None))) > 1
        True
    """
    try:
        found = single_choices(study.kind, study.task)
    except StudyError:
        found = []
    for *_, value in part.votes:
        if dict(value) not in found:
            found.append(dict(value))
    return found


def decide(store: Store, study: Study, case: Case, person_id: int, image: str, choice: str) -> None:
    r"""Keep what the owner decided on an image, beside the votes; "" takes the decision back.

    Args:
        store: Of the study.
        study: The study.
        case: The item.
        person_id: Of the owner.
        image: The id of the image in the item; "" for the item itself.
        choice: The value, as JSON.

    Raises:
        AnswerError: The image is not of this item, or the value none of the choices.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> owner, case = store.people.add("owner", "owner"), case_of(store, study, 1)
        >>> image = str(case.parts[0].image_id or "")
        >>> decide(store, study, case, owner.id, image, '{"label": 1}')
        >>> case_of(store, study, 1).parts[0].decision
        {'label': 1}
        >>> store.close()
    """
    part = next((one for one in case.parts if str(one.image_id or "") == image), None)
    if part is None:
        raise AnswerError(f"image {image[:20]!r} is not of this item; load the page again")
    allowed = {json.dumps(one, sort_keys=True): one for one in choices_of(study, part)}
    value = None
    if choice:
        try:
            value = allowed[json.dumps(json.loads(choice), sort_keys=True)]
        except (ValueError, KeyError, RecursionError):
            raise AnswerError("this is none of the choices; load the page again") from None
    about = Adjudication.item_image_id
    same = about.is_(None) if part.image_id is None else about == part.image_id
    with store.writing() as db:
        db.execute(delete(Adjudication).where(Adjudication.item_id == case.item, same))
        if value is not None:
            row = {"item_id": case.item, "item_image_id": part.image_id, "person_id": person_id}
            db.execute(insert(Adjudication).values(value=value, created=store.clock(), **row))
