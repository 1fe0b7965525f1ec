"""Going on with answers that were given elsewhere: a partial file becomes a person's own work."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from sqlalchemy import select

from pqpp_annotation.errors import StudyError
from pqpp_annotation.store.tables import Item, ItemImage

if TYPE_CHECKING:
    from pqpp_annotation.kinds.partial import Partial
    from pqpp_annotation.store.database import Store
    from pqpp_annotation.study.study import Study


def import_votes(
    store: Store, study: Study, file: str | Path, annotator: str
) -> tuple[list[str], str]:
    r"""Take in what somebody answered elsewhere, so that the person goes on here with the rest.

    All rows are checked before the first is kept; a file that is taken in again changes nothing.
    Items that are answered wholly are done; the others are open for the person.

    Args:
        store: Of the study.
        study: The study.
        file: A table like the export of the kind, or GIMBRR's; blank answers are left out.
        annotator: The person's name; made if there is none of it.

    Returns:
        What is to be said, a line each, and the token of a link for the person.

    Raises:
        StudyError: The kind cannot be continued, a row is no answer or fits no image of the study,
            or two rows are about one image; names the row.
    """
    kind = study.kind
    if not hasattr(kind, "read_partial"):
        raise StudyError(f"{kind.name}: answers of this kind cannot be taken in from a table")
    answers = _placed(store, kind.read_partial(file, study.task), file)
    person = store.people.by_name(annotator) or store.people.add(annotator, "annotator")
    [(token, _)] = store.invitations.create(1, label=f"for {annotator}", person_id=person.id)
    if study.consent and person.consented is None:
        said = "nothing was taken in: the consent text comes first"
        return [f"{said}; {annotator} opens the link and agrees, then import again"], token
    new = done = 0
    for item, own in answers.items():
        assignment = store.work.take(person.id, item)
        for image, value in own.items():
            saved = store.answers.save(
                person_id=person.id,
                assignment_id=assignment,
                image_id=image,
                value=value,
                client_id=f"imported-{person.id}-{image}",
            )
            new += saved.is_new
        done += saved.is_complete
    count = sum(map(len, answers.values()))
    lines = [f"{count} answers of {annotator} on {len(answers)} items, {done} of these done"]
    if new < count:
        lines.append(f"{count - new} of them were here already")
    return lines, token


def _placed(store: Store, partials: list[Partial], file: str | Path) -> dict[int, dict[int, dict]]:
    """Return item to image to answer, of the items and images of the study."""
    if not partials:
        raise StudyError(f"{file}: it holds no answer; name another file")
    with store.reading() as db:
        query = select(
            Item.id, Item.prompt_id, ItemImage.id, ItemImage.image, ItemImage.model
        ).join(ItemImage, ItemImage.item_id == Item.id)
        known = defaultdict(list)
        for row in db.execute(query.where(Item.purpose != "training").order_by(ItemImage.id)):
            known[row[1], PurePosixPath(row[3]).name].append(row)
    found: dict[int, dict[int, dict]] = {}
    for one in partials:
        rows = known[one.prompt_id, PurePosixPath(one.image).name]
        fitting = [row for row in rows if one.fits(row[1], row[3], row[4])]
        if len(fitting) != 1:
            said = "fits no image" if not fitting else f"fits {len(fitting)} images"
            raise StudyError(
                f"{one.place}: {one.image!r:.60} of prompt {one.prompt_id!r:.40} {said} of the "
                "study; the prompt's id, the model and the file's name have to be the study's"
            )
        item, _, image, *_ = fitting[0]
        if found.setdefault(item, {}).setdefault(image, dict(one.value)) != dict(one.value):
            raise StudyError(f"{one.place}: another row says something else of this image")
    return found
