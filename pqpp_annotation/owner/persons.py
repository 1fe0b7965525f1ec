"""What one person said, for the owner to look at: images, times, and what the others said."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from pqpp_annotation.store.tables import Answer, Assignment, Item, ItemImage, Person
from pqpp_annotation.store.transactions import Transaction, reads


@dataclass(frozen=True)
class GivenAnswer:
    """A current answer of a person.

    Attributes:
        item: Id of the item; `purpose` what it is for.
        images: Hashes of the image that it is about, or of all of the item.
        value: What was said.
        others: What the others say of the same, control members first.
        seconds: What it took.
    """

    item: int
    prompt: str
    purpose: str
    images: list[str]
    value: Mapping[str, Any]
    others: list[tuple[str, Mapping[str, Any]]]
    seconds: float
    created: int


@reads
def answers_of(
    db: Transaction, person_id: int, page: int, size: int
) -> tuple[list[GivenAnswer], int]:
    """Return a page of what a person said, the latest first, and how many pages there are.

    Example:
        >>> from pqpp_annotation.demo import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> [answer], pages = answers_of(store, 1, page=1, size=10)
        >>> answer.prompt, len(answer.images), len(answer.others), pages
        ('a cat', 1, 1, 1)
        >>> store.close()
    """
    own = (Assignment.person_id == person_id) & Answer.current
    total = db.scalar(select(func.count()).select_from(Answer).join(Assignment).where(own)) or 0
    pages = max(1, -(-total // size))
    query = select(Answer, Item).select_from(Answer).join(Assignment).join(Item).where(own)
    query = query.order_by(Answer.id.desc()).limit(size)
    rows = db.execute(query.offset((min(max(page, 1), pages) - 1) * size)).all()
    items = {item.id for _, item in rows}
    images: dict[int, list[ItemImage]] = {}
    of_items = select(ItemImage).where(ItemImage.item_id.in_(items)).order_by(ItemImage.position)
    for image in db.scalars(of_items):
        images.setdefault(image.item_id, []).append(image)
    others: dict[tuple[int, int | None], list] = {}
    said = (
        select(Assignment.item_id, Answer.item_image_id, Person.name, Person.role, Answer.value)
        .select_from(Answer)
        .join(Assignment)
        .join(Person)
        .where(Assignment.item_id.in_(items), Answer.current, Person.role != "trial")
        .where(Assignment.person_id != person_id, Assignment.state != "skipped")
        .order_by(Person.role != "control", Person.id)
    )
    for item_id, image_id, name, role, value in db.execute(said):
        shown = f"{name} (control)" if role == "control" else name
        others.setdefault((item_id, image_id), []).append((shown, value))
    return [
        GivenAnswer(
            item.id,
            item.prompt,
            item.purpose,
            [
                picture.sha256
                for picture in images.get(item.id, ())
                if answer.item_image_id in (None, picture.id)
            ],
            answer.value,
            others.get((item.id, answer.item_image_id), []),
            answer.seconds,
            answer.created,
        )
        for answer, item in rows
    ], pages
