"""Files of other tools: votes as theirs, their prompts and images, and answers from elsewhere."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from sqlalchemy import select

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds.kind import Partial
from pqpp_annotation.store.access import make_links
from pqpp_annotation.store.answers import save_answer
from pqpp_annotation.store.people import add_person, find_person
from pqpp_annotation.store.tables import Item, ItemImage
from pqpp_annotation.store.transactions import Store
from pqpp_annotation.store.work import take_item
from pqpp_datasets.own_benchmark.formats import flattened, roles_in
from pqpp_files.read_table import read_table
from pqpp_files.write_beside import write_whole

_PERSONS = ("annotator", "seconds", "left")
_QUESTIONS = {"judgments": "label", "preferences": "choice"}
"""Table of an export to the question that it answers."""
_SIDES = {"a": "left", "b": "right", "tie": "tie"}
_SERVED = ("/data/local-files/?d=", "/data/upload/")
Row = dict[str, Any]


def tool_records(tool: str, tables: Mapping[str, Iterable[Row]]) -> dict[str, Iterable[Row]]:
    """Return the tables of an export as one of a tool's records, each with the answers of all.

    Args:
        tool: A key of `TOOLS`.
        tables: Name to rows, as a kind of task exports them.

    Raises:
        AnnotationError: The kind of task asks for more than a label or a choice.

    Example:
        >>> row = {"prompt": "a cat", "image": "1.png", "annotator": "ann", "label": 2}
        >>> [record] = tool_records("argilla", {"judgments": [row]})["argilla"]
        >>> record["fields"], record["responses"]["label"][0]["value"]
        ({'prompt': 'a cat', 'image': '1.png'}, 2)
        >>> [task] = tool_records("label-studio", {"judgments": [row]})["label-studio"]
        >>> task["annotations"][0]["result"][0]["value"]
        {'number': 2}
    """
    name = next((name for name in _QUESTIONS if name in tables), None)
    if name is None:
        raise AnnotationError(f"{tool}: no form for {', '.join(tables)}; write csv or parquet")
    question = _QUESTIONS[name]
    units: dict[tuple, tuple[Row, list[Row]]] = {}
    for row in tables[name]:
        own = {key: cell for key, cell in row.items() if key not in (*_PERSONS, question)}
        units.setdefault(tuple(own.values()), (own, []))[1].append(row)
    write, _ = TOOLS[tool]
    pairs = enumerate(units.values(), 1)
    return {tool: (write(number, own, rows, question) for number, (own, rows) in pairs)}


def _label_studio(number: int, data: Row, rows: list[Row], question: str) -> Row:
    return {
        "id": number,
        "data": data,
        "annotations": [
            {
                "completed_by": {"email": row["annotator"]},
                "lead_time": row.get("seconds"),
                "was_cancelled": False,
                "result": _result(question, row[question]),
            }
            for row in rows
        ],
    }


def _result(question: str, answer: Any) -> list[Row]:
    """Return an answer as Label Studio's number or better side; nothing for "unsure"."""
    if answer is None:
        return []
    is_side = isinstance(answer, str)
    value = {"selected": _SIDES[answer]} if is_side else {"number": answer}
    kind = "pairwise" if is_side else "number"
    return [{"from_name": question, "to_name": "image", "type": kind, "value": value}]


def _argilla(number: int, data: Row, rows: list[Row], question: str) -> Row:
    is_field = {name: name == "prompt" or name.startswith("image") for name in data}
    return {
        "id": str(number),
        "fields": {name: cell for name, cell in data.items() if is_field[name]},
        "metadata": {name: cell for name, cell in data.items() if not is_field[name]},
        "responses": {
            question: [
                {"user_id": row["annotator"], "value": row[question], "status": "submitted"}
                for row in rows
            ]
        },
    }


_Write = Callable[[int, Row, list[Row], str], Row]
TOOLS: dict[str, tuple[_Write, Callable[[Mapping[str, Any]], Any]]] = {
    "label-studio": (_label_studio, lambda record: record.get("data") or record),
    "argilla": (_argilla, lambda r: (r.get("metadata") or {}) | (r.get("fields") or {})),
}
"""Tool to what writes a record, and what gives the prompt and the images of one."""


def write_prompts(tool: str, file: str | Path, table: Path) -> None:
    r"""Write the prompts and images of a tool's records as a table that a study is made of.

    Records of pairs give a row for each side. Answers stay where they are: `pqpp build --from`
    reads them.

    Args:
        tool: A key of `TOOLS`.
        file: The tool's export: JSON or JSON Lines, a task or a record each.
        table: The table to write, JSON Lines.

    Raises:
        AnnotationError: No record has a prompt and an image.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> task = {"id": 1, "data": {"text": "a cat", "image": "/data/upload/1/a.png"}}
        >>> _ = (folder / "tasks.json").write_text(json.dumps([task]))
        >>> write_prompts("label-studio", folder / "tasks.json", folder / "prompts.jsonl")
        >>> (folder / "prompts.jsonl").read_text()
        '{"prompt": "a cat", "image": "1/a.png"}\n'
    """
    _, data = TOOLS[tool]
    prompts = read_table(file)
    rows: dict[tuple, Row] = {}
    for cells in zip(*prompts.columns.values(), strict=True):
        record = dict(zip(prompts.columns, cells, strict=True))
        for row in _sides(flattened(data(record))):
            rows.setdefault((row["prompt"], row["image"]), row)
    if not rows:
        raise AnnotationError(
            f"{file}: no record has a prompt and an image under their usual names; write a table "
            "with the columns prompt and image"
        )
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values())
    write_whole(table, "".join(lines))


def _sides(fields: Row) -> Iterator[Row]:
    """Give a row for each image of a record."""
    roles = roles_in(fields)
    if "prompt" not in roles:
        return
    kept: Row = {name: fields[name] for name in ("prompt_id", "control") if name in fields}
    for side in ("", "_a", "_b"):
        image, model = roles.get(f"image{side}"), roles.get(f"model{side}")
        if image is None or not isinstance(fields[image], str):
            continue
        name = fields[image]
        for served in _SERVED:
            name = name.removeprefix(served)
        more: Row = {} if model is None else {"model": fields[model]}
        yield {**kept, "prompt": fields[roles["prompt"]], "image": name, **more}


def import_votes(store: Store, file: str | Path, annotator: str) -> tuple[list[str], str]:
    """Take in what somebody answered elsewhere, so that the person goes on here with the rest.

    All rows are checked before the first is kept; a file that is taken in again changes nothing.
    Items that are answered wholly are done; the others are open for the person.

    Args:
        file: A table like the export of the kind, or GIMBRR's; blank answers are left out.
        annotator: The person's name; made if there is none of it.

    Returns:
        What is to be said, a line each, and the token of a link for the person.

    Raises:
        AnnotationError: The kind cannot be continued, a row is no answer or fits no image of the
            study, or two rows are about one image; names the row.
    """
    kind = store.study.kind
    answers = _placed(store, kind.read_partial(file, store.study.task), file)
    person = find_person(store, annotator) or add_person(store, annotator)
    [(token, _)] = make_links(store, label=f"for {annotator}", person_id=person.id)
    if store.study.consent and person.consented is None:
        reason = "nothing was taken in: the consent text comes first"
        return [f"{reason}; {annotator} opens the link and agrees, then import again"], token
    new = done = 0
    for item_id, values in answers.items():
        assignment = take_item(store, person.id, item_id)
        for image_id, value in values.items():
            client_id = f"imported-{person.id}-{image_id}"
            saved = save_answer(store, person.id, assignment, image_id, value, client_id)
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
        raise AnnotationError(f"{file}: it holds no answer; name another file")
    query = select(ItemImage, Item.prompt_id).join(Item).where(Item.purpose != "training")
    by_name = defaultdict(list)
    with store.reading() as db:
        for image, prompt_id in db.execute(query.order_by(ItemImage.id)):
            by_name[prompt_id, PurePosixPath(image.image).name].append(image)
    answers: dict[int, dict[int, dict]] = defaultdict(dict)
    for partial in partials:
        images = [
            image
            for image in by_name[partial.prompt_id, PurePosixPath(partial.image).name]
            if partial.fits(partial.prompt_id, image.image, image.model)
        ]
        if len(images) != 1:
            reason = "fits no image" if not images else f"fits {len(images)} images"
            raise AnnotationError(
                f"{partial.place}: {partial.image!r:.60} of prompt {partial.prompt_id!r:.40} "
                f"{reason} of the study; the prompt's id, the model and the file's name have to "
                "be the study's"
            )
        value = dict(partial.value)
        if answers[images[0].item_id].setdefault(images[0].id, value) != value:
            raise AnnotationError(f"{partial.place}: another row says something else of this image")
    return answers
