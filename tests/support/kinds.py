"""Items and answers as the kinds of task receive them, and exports as files."""

import csv

import pandas

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import ShownImage, ShownItem, Vote, get_task_kind


def make_item(*ids, prompt="A cat.", size=(100, 50)):
    """Return an item with images of these ids, 100 wide and 50 high."""
    images = tuple(ShownImage(number, "0" * 64, *size) for number in ids)
    return ShownItem(1, prompt, images, {})


def make_vote(image, annotator, value, prompt_id="1", prompt="A cat.", model="sdxl", **fields):
    """A vote of three seconds on an image."""
    defaults = {"is_control": False, "seconds": 3.0, "created": 0, "purpose": "work", "detail": {}}
    return Vote(prompt_id, prompt, image, model, annotator, value=value, **(defaults | fields))


def to_frame(votes, kind_name):
    """Return votes in the table of the owner's page."""
    table = pandas.DataFrame([vars(row) for row in votes])
    pairs = table["images"].map(lambda images: "\n".join(name for name, *_ in images))
    table["image"] = table["image"].where(table["image"] != "", pairs)
    table["item_id"], table["unit"] = table["prompt_id"], table["image"]
    table["label"] = table["value"].map(get_task_kind(kind_name).get_label)
    table["turned"] = [value.get("left") == "b" for value in table["value"]]
    return table.assign(spent=table["seconds"], control=table["is_control"])


def find_error(kind, value, item, task):
    """Return the error of a value; None if it is valid."""
    try:
        kind.check_answer(value, item, kind.complete_settings(task))
    except AnnotationError as error:
        return str(error)
    return None


def write_csv(path, rows):
    """Write the rows of an export as a CSV file."""
    rows = list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
