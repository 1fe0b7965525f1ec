"""All answers of a study in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Select, Text, cast, func, select

from pqpp_annotation.protocol.admission import study_votes
from pqpp_annotation.store.answers import SHOWN_MODEL
from pqpp_annotation.store.database import parse_cell
from pqpp_annotation.store.tables import Answer, Assignment, Item, ItemImage, Person
from pqpp_annotation.store.transactions import Transaction
from pqpp_datasets.own_benchmark.votes.votes import Votes

if TYPE_CHECKING:
    import pandas

_CHUNK = 5_000
_WHOLE = -1  # the image of an answer about its item


@dataclass(frozen=True)
class Records:
    """What a database holds, in tables whose index are its ids; times are in milliseconds.

    What is said to try a study is left out.

    Attributes:
        answers: assignment_id, item_image_id, created, seconds, current (False once it was
            replaced), label (NaN where the kind has none), and what the assignment says.
        assignments: person_id, item_id, given (when), state, finished (NaN before).
        items: prompt_id, prompt, purpose.
        images: image (its name), model ("reference" for a reference image).
    """

    answers: pandas.DataFrame
    assignments: pandas.DataFrame
    items: pandas.DataFrame
    images: pandas.DataFrame


def read_records(db: Transaction) -> Records:
    """Return all that there is."""
    import pandas

    query = select(
        Answer.id,
        Answer.assignment_id,
        func.coalesce(Answer.item_image_id, _WHOLE).label("item_image_id"),
        Answer.created,
        Answer.seconds,
        Answer.current,
        cast(Answer.value, Text).label("value"),
    )
    types = {"assignment_id": int, "item_image_id": int, "created": int, "current": bool}
    answers = _table(db, query.order_by(Answer.id), seconds=float, **types)
    codes, texts = pandas.factorize(answers.pop("value"))  # most answers are a few texts
    labels = [db.study.kind.label(parse_cell(text)) for text in texts]
    answers["label"] = np.array(labels, float)[codes]
    given = select(
        Assignment.id,
        Assignment.person_id,
        Assignment.item_id,
        Assignment.created.label("given"),
        Assignment.state,
        Assignment.finished,
    )
    types = {"person_id": int, "item_id": int, "given": int, "finished": float}
    given = given.join(Person).where(Person.role != "trial")
    assignments = _table(db, given.order_by(Assignment.id), **types)
    items = select(Item.id, Item.prompt_id, Item.prompt, Item.purpose).order_by(Item.id)
    images = select(ItemImage.id, ItemImage.image, SHOWN_MODEL).order_by(ItemImage.id)
    return Records(
        answers=answers.join(assignments, on="assignment_id", how="inner"),
        assignments=assignments,
        items=_table(db, items),
        images=_table(db, images),
    )


def _table(db: Transaction, query: Select, **types: type) -> pandas.DataFrame:
    """Return the rows of a query, those of the columns that are no texts in their types."""
    import pandas

    table = pandas.read_sql_query(query, db.connection())
    return table.astype({"id": int, **types}).set_index("id")


def votes_table(db: Transaction, records: Records) -> tuple[Votes | None, pandas.DataFrame]:
    """Return the table of votes that admission is computed from, as that of the export.

    Returns:
        The table of `pqpp build`; and its rows, with the columns of `records` and the person's.
    """
    kind, answers = db.study.kind, records.answers
    is_used = answers["current"] & answers["label"].notna() & (answers["state"] != "skipped")
    votes = answers[is_used].join(records.items, on="item_id")
    people = _table(db, select(Person.id, Person.name.label("annotator"), Person.role))
    votes = votes[votes["purpose"] != "training"].join(people, on="person_id")
    # The order of the export: item by item, person by person, image by image.
    votes = votes.sort_values(["item_id", "person_id", "item_image_id"], kind="stable")
    votes = votes.join(records.images, on="item_image_id")
    if not kind.about_image:
        votes = votes.assign(image="", model="")
    votes["control"] = votes["role"] == "control"
    compared = votes if kind.about_image else votes.assign(image=votes["item_id"].astype(str))
    return study_votes(compared, kind, db.study.task), votes
