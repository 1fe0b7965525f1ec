"""Files of other tools: their prompts and images, and answers from elsewhere."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
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

_SERVED = ("/data/local-files/?d=", "/data/upload/")
Row = dict[str, Any]
TOOLS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "label-studio": lambda record: record.get("data") or record,
    "argilla": lambda record: (record.get("metadata") or {}) | (record.get("fields") or {}),
}
"""Tool to what gives the prompt and the images of a record."""


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
    prompts = read_table(file)
    rows: dict[tuple, Row] = {}
    for cells in zip(*prompts.columns.values(), strict=True):
        record = dict(zip(prompts.columns, cells, strict=True))
        for row in _sides(flattened(TOOLS[tool](record))):
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
