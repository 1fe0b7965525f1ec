"""Small studies on generated pictures, and a person's answers in them."""

import itertools
import uuid

from PIL import Image
from sqlalchemy import select

from pqpp_annotation.store.answers import save_answer
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.work import reserve_item
from pqpp_annotation.study import make_study
from support.kinds import write_csv

VALUES = {"relevance": {"label": 2}, "rating": {"label": 4}, "match": {"label": 1}}
"""An answer that each kind takes."""
MODELS = ("sdxl", "reference")
_FLAGS = ("control", "training", "check")


def write_table(
    folder, prompts=4, controls=0, training=0, models=MODELS, expected="2", check_items=0
):
    """Write images and the table of a study; return the table's path."""
    rows = []
    purposes = ["work"] * prompts + ["control"] * controls + ["training"] * training
    purposes += ["check"] * check_items
    (folder / "images").mkdir(exist_ok=True)
    for number, purpose in enumerate(purposes):
        for index, model in enumerate(models):
            name = f"{number}-{model}.png"
            color = (number % 256, number // 256, index)
            Image.new("RGB", (8, 6), color).save(folder / "images" / name)
            rows.append(
                {
                    "prompt_id": f"q{number}",
                    "prompt": f"a cat and {number} dogs",
                    "image": name,
                    "model": model,
                    **{flag: "yes" if purpose == flag else "" for flag in _FLAGS},
                    "expected": expected if purpose in ("training", "check") else "",
                }
            )
    return write_csv(folder / "prompts.csv", rows)


def write_study(
    folder, kind="relevance", prompts=4, controls=0, training=0, check_items=0, **settings
):
    """Make a study in a folder."""
    table = write_table(folder, prompts, controls, training, check_items=check_items)
    return make_study(folder / "study.yaml", table, folder / "images", kind, **settings)


def create_store(folder, **settings):
    """Make a study and open its database."""
    return open_store(write_study(folder, **settings))


def read_rows(store, table):
    """All rows of a table."""
    with store.begin_read() as db:
        return db.execute(select(*table.__table__.c).order_by(*table.__table__.primary_key)).all()


def answer_item(store, person_id, item, value=None):
    """Answer all of an item as one person; return the result of each save."""
    study = store.study
    if value is None and study.kind.name == "order":
        value = {"places": {str(image.id): 1 + index for index, image in enumerate(item.images)}}
    value = VALUES[study.kind.name] if value is None else value
    images = [image.id for image in item.images] if study.kind.about_image else [None]
    return [
        save_answer(store, person_id, item.assignment, image, value, str(uuid.uuid4()), 1.5)
        for image in images
    ]


def answer_all(store, person_id, value=None, limit=1000):
    """Let a person answer all items that are assigned; return the items shown."""
    items = []
    for _ in itertools.repeat(None, limit):
        item = reserve_item(store, person_id)
        if item is None:
            break
        answer_item(store, person_id, item, value)
        items.append(item)
    return items
