"""Answers by item and by person, and the study's events, for the owner's pages."""

import datetime
from collections import defaultdict
from typing import Any

from sqlalchemy import func, select

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.tables import Answer, Assignment, Event, Item, ItemImage, Person
from pqpp_annotation.store.transactions import Transaction, reads

_LARGEST_ID = 2**62


@reads
def get_item_answers(db: Transaction, item_id: int) -> dict[str, Any]:
    """Return an item with its current answers.

    Returns:
        `item`; `images`; `votes`, pairs of an image (None if answers are about the item) and its
        answers as (annotator, role, answer), control members first; and `reports`, the reported
        problems as (annotator, text).

    Raises:
        AnnotationError: The item does not exist.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> case = get_item_answers(store, 1)
        >>> case["item"].prompt, [len(answers) for image, answers in case["votes"]]
        ('a cat', [2])
        >>> store.close()
    """
    item = db.get(Item, item_id) if 0 < item_id < _LARGEST_ID else None
    if item is None:
        raise AnnotationError(f"item {item_id} not found; choose an item from the list", 409)
    image_query = select(ItemImage).where(ItemImage.item_id == item_id).order_by(ItemImage.position)
    images = db.scalars(image_query).all()
    votes = _get_votes_by_item(db, {item_id})
    rated = images if db.study.kind.about_image else [None]
    votes_by_image = [(image, votes[item_id, image.id if image else None]) for image in rated]
    reports = [(row["person"], row["text"]) for row in list_events(db) if row["item"] == item_id]
    return {"item": item, "images": images, "votes": votes_by_image, "reports": reports}


def _get_votes_by_item(
    db: Transaction, items: set[int]
) -> dict[tuple[int, int | None], list[tuple]]:
    """Return current answers as (annotator, role, answer), by item id and image id."""
    columns = (Assignment.item_id, Answer.item_image_id, Person.name, Person.role, Answer.value)
    query = select(*columns).select_from(Answer).join(Assignment).join(Person)
    query = query.where(Assignment.item_id.in_(items), Answer.current, Person.role != "trial")
    query = query.where(Assignment.state != "skipped")
    votes = defaultdict(list)
    for item, image, *vote in db.execute(query.order_by(Person.role != "control", Person.id)):
        votes[item, image].append(tuple(vote))
    return votes


@reads
def list_events(db: Transaction) -> list[dict[str, Any]]:
    """List the study's events, oldest first.

    Columns: `when` and `person`; `what` is consented, decided (by the owner or the rules), reported
    (a problem with an item) or withdrawn; `item` is the item's id; `by` is the owner who decided;
    `text` is the consent text, the decision, the report, or `delete` or `anonymous`.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> from pqpp_annotation.store.people import decide_on_person
        >>> decide_on_person(store, 1, "refuse", by="owner")
        >>> [(row["person"], row["what"], row["text"]) for row in list_events(store)]
        [('ann', 'decided', 'refuse')]
        >>> store.close()
    """
    is_public = Event.kind.not_in(("doubted", "surveyed"))
    query = select(Event, Person.name).join(Person).where(is_public)
    rows = []
    for event, name in db.execute(query.order_by(Event.created, Event.id)):
        when = datetime.datetime.fromtimestamp(event.created / 1000, datetime.UTC)
        detail = dict.fromkeys(("item", "by", "text"), "") | event.detail
        detail["text"] = detail.pop("as", "") or detail.pop("mode", "") or detail["text"]
        rows.append({"when": when.isoformat(), "person": name, "what": event.kind, **detail})
    return rows


@reads
def list_answers(
    db: Transaction, person_id: int, page: int, size: int
) -> tuple[list[dict[str, Any]], int]:
    """Return a page of a person's answers, latest first, and the number of pages.

    An answer has `item` (the item's id), `prompt`, `purpose`, `images` (the hash of its image, or
    of all images of the item), `value`, `others` (other people's answers to the same image or item,
    as in `get_item_answers`), `seconds` and `created`.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> [answer], pages = list_answers(store, 1, page=1, size=10)
        >>> answer["prompt"], len(answer["images"]), len(answer["others"]), pages
        ('a cat', 1, 1, 1)
        >>> store.close()
    """
    is_own = (Assignment.person_id == person_id) & Answer.current
    total = db.scalar(select(func.count()).select_from(Answer).join(Assignment).where(is_own)) or 0
    pages = max(1, -(-total // size))
    query = select(Answer, Item).select_from(Answer).join(Assignment).join(Item).where(is_own)
    query = query.order_by(Answer.id.desc()).limit(size)
    rows = db.execute(query.offset((min(max(page, 1), pages) - 1) * size)).all()
    items = {item.id for _, item in rows}
    images: dict[int, list[ItemImage]] = defaultdict(list)
    image_query = select(ItemImage).where(ItemImage.item_id.in_(items)).order_by(ItemImage.position)
    for image in db.scalars(image_query):
        images[image.item_id].append(image)
    own_name = db.get_one(Person, person_id).name
    other_votes = {
        key: [vote for vote in votes if vote[0] != own_name]
        for key, votes in _get_votes_by_item(db, items).items()
    }
    return [
        {
            "item": item.id,
            "prompt": item.prompt,
            "purpose": item.purpose,
            "images": [i.sha256 for i in images[item.id] if answer.item_image_id in (None, i.id)],
            "others": other_votes.get((item.id, answer.item_image_id), []),
            **{name: getattr(answer, name) for name in ("value", "seconds", "created")},
        }
        for answer, item in rows
    ], pages
