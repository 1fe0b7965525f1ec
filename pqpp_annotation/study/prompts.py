"""Creating a study from a table of prompts and images, and adding prompts to it."""

import contextlib
import logging
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.study.blindness import find_model_leak
from pqpp_annotation.study.images import CheckedImage, copy_images, get_copies, get_relative_path
from pqpp_annotation.study.sources import ADDRESS, fetch_images, make_folder
from pqpp_annotation.study.study import Study, parse_study, read_study
from pqpp_datasets.own_benchmark.options import FLAGS
from pqpp_files.atomic_write import lock_folder, write_file
from pqpp_files.hashes import hash_parts
from pqpp_files.paths import expand, join_inside
from pqpp_files.read_table import Table, read_table

REFERENCE = "reference"
_PURPOSES = ("training", "check", "control")
_MOST_CHARACTERS = 20_000
_Row = Mapping[str, str]
_ROW = "\0row"  # key of a row's number; no column has this name
_Locator = Callable[[_Row], str]


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to add to the database; the fields are those of `store.tables.Item`.

    Attributes:
        images: `sha256`, `image`, `model` and `is_reference` of each `store.tables.ItemImage`.
    """

    prompt_id: str
    part: int
    prompt: str
    purpose: str
    images: tuple[Mapping[str, Any], ...]
    expected: dict[str, Any] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)


@contextlib.contextmanager
def read_items(
    study: Study, file: str | Path
) -> Iterator[tuple[list[NewItem], list[CheckedImage]]]:
    r"""Read a table of prompts, and check and copy its images.

    The new copies are deleted if the block fails.

    Args:
        study: The study, which defines the kind of task and the folder of images.
        file: A table that `read_table` accepts, with columns prompt and image (or
            `image_column`). Optional columns: model; prompt_id (default: a hash of the prompt);
            reference, control, training and check (yes or no); and expected (the right answer, for
            training and check). Images with http addresses are downloaded.

    Yields:
        The items in the table's order, and each distinct image.

    Raises:
        AnnotationError: The table is empty, a cell is invalid, or an image cannot be used.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.study.prompts import make_study
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> with read_items(study, folder / "prompts.csv") as (items, images):
        ...     [(x.prompt, x.purpose) for x in items], [(x.width, x.height) for x in images]
        ([('a cat', 'work')], [(768, 768)])
    """
    table = read_table(file, remedy="name the columns prompt and image, or use --image-column")

    def locate(row: _Row) -> str:  # slow: only for errors
        return table.locate(int(row[_ROW]))

    rows = _read_rows(study, table, locate)
    by_prompt: dict[str, list[_Row]] = {}
    by_image: dict[str, dict[str, _Row]] = {}
    keys: set[tuple[str, str, str]] = set()
    for row in rows:
        prompt_id, image = row["prompt_id"], row["image"]
        by_prompt.setdefault(prompt_id, []).append(row)
        by_image.setdefault(image, {}).setdefault(prompt_id, row)
        first, key = by_prompt[prompt_id][0], (prompt_id, image, row.get("model", ""))
        if row["prompt"] != first["prompt"]:
            problem = f"prompt_id {prompt_id} has another prompt in {locate(first)}"
            raise AnnotationError(f"{locate(row)}: {problem}; give each prompt its own id")
        if key in keys:
            raise AnnotationError(f"{locate(row)}: duplicate image {image}; remove the line")
        keys.add(key)
    shared = [[*uses.values()] for uses in by_image.values() if len(uses) > 1]
    if 0 < 2 * len(shared) < len(by_image):  # sharing most images is intended
        locations = " and ".join(map(locate, shared[0][:2]))
        example = f"{len(shared)}, such as {shared[0][0]['image']} in {locations}"
        warning = f"images with several prompts: {example}; correct them if this is a slip"
        logging.getLogger(__name__).warning(warning)
    fetched = fetch_images(filter(ADDRESS.match, by_image), study.root / f"{study.name}-images")
    folder = study.root / expand(study.image_dir or "")

    with copy_images(
        by_image, lambda name: fetched.get(name) or join_inside(folder, name), study
    ) as images:
        hashes = {name: image.sha256 for name, image in images.items()}
        items = []
        for prompt_rows in by_prompt.values():
            for part, group in enumerate(study.kind.to_items(prompt_rows, study.task)):
                detail = study.kind.collect_extra_item_data(group, by_prompt, hashes)
                items.append(_make_item(study, group, part, detail, hashes, locate))
        yield items, [*{image.sha256: image for image in images.values()}.values()]


def draw_control_items(items: Sequence[NewItem], count: int | None, seed: int) -> list[NewItem]:
    """Turn randomly drawn work items into control items; None draws none.

    Raises:
        AnnotationError: There are too few work items.

    Example:
        >>> items = [NewItem(str(n), 0, "a cat", "work", ()) for n in range(4)]
        >>> [item.purpose for item in draw_control_items(items, 1, seed=0)].count("control")
        1
    """
    work = [number for number, item in enumerate(items) if item.purpose == "work"]
    if count is None:
        return list(items)
    if count >= len(work):
        raise AnnotationError(f"control.count must be below {len(work)}, the number of work items")
    chosen = set(random.Random(f"control-{seed}").sample(work, count))
    return [replace(x, purpose="control") if n in chosen else x for n, x in enumerate(items)]


def _read_rows(study: Study, table: Table, locate: _Locator) -> list[_Row]:
    table.columns.setdefault("prompt", table["prompt"])
    table[study.image_column]  # raises an error if the column is missing
    if not len(table):
        raise AnnotationError(f"{table.path}: no rows; add one row per image")
    rows: list[_Row] = []
    for number in range(len(table)):
        row = {name: cells[number] for name, cells in table.columns.items()}
        row = {name: "" if cell is None else str(cell) for name, cell in row.items()}
        row["image"], row[_ROW] = row[study.image_column], str(number)
        if "prompt_id" not in table:
            # A hash, so that tables added later have the same ids for the same prompts.
            row["prompt_id"] = f"p-{hash_parts([row['prompt']])[:12]}"
        for name in ("prompt", "image", "prompt_id"):
            if not row[name].strip():
                raise AnnotationError(f"{locate(row)}: {name!r} is empty; fill in the cell")
        if len(row["prompt"]) > _MOST_CHARACTERS:
            problem = f"prompt has more than {_MOST_CHARACTERS:,} characters; shorten the prompt"
            raise AnnotationError(f"{locate(row)}: {problem}")
        for name, cell in row.items():
            if "\0" in cell:
                raise AnnotationError(f"{locate(row)}: remove the NUL character from {name!r}")
            if name in (REFERENCE, *_PURPOSES) and cell.strip().lower() not in FLAGS:
                raise AnnotationError(f"{locate(row)}: {name!r} is {cell!r:.40}; write yes or no")
        rows.append(row)
    return rows


def _make_item(
    study: Study,
    rows: Sequence[_Row],
    part: int,
    detail: dict,
    hashes: Mapping[str, str],
    locate: _Locator,
) -> NewItem:
    first = rows[0]
    for row in rows:
        for name in _PURPOSES:
            if _has_flag(row, name) != _has_flag(first, name):
                problem = f"only some images of prompt_id {row['prompt_id']} are marked as {name}"
                raise AnnotationError(f"{locate(row)}: {problem}; mark all of them or none")
    purpose = next((name for name in _PURPOSES if _has_flag(first, name)), "work")
    images = tuple(
        {
            "sha256": hashes[row["image"]],
            "image": row["image"],
            "model": row.get("model", ""),
            "is_reference": _has_flag(row, "reference") or row.get("model") == REFERENCE,
        }
        for row in rows
    )
    about_image, expected = study.kind.about_image, {}
    if purpose in ("training", "check"):
        for row in rows if about_image else rows[:1]:
            if not (cell := row.get("expected", "")):
                raise AnnotationError(f"{locate(row)}: `expected` is empty; enter the right answer")
            try:
                value = study.kind.parse_expected(cell, study.task)
            except AnnotationError as error:
                raise AnnotationError(f"{locate(row)}: {error}") from None
            expected[row["image"] if about_image else ""] = value
    return NewItem(first["prompt_id"], part, first["prompt"], purpose, images, expected, detail)


def _has_flag(row: _Row, name: str) -> bool:
    return bool(FLAGS[row.get(name, "").strip().lower()])


def make_study(
    path: str | os.PathLike[str],
    file: str | os.PathLike[str],
    image_dir: str | os.PathLike[str] | None = None,
    kind: str = "relevance",
    **settings: Any,
) -> Study:
    r"""Create a study: check its prompts and images, fill its database, and write the study file.

    Args:
        path: The study file to write, such as study.yaml; its folder also gets the database.
        file: The table of prompts; see `read_items`.
        image_dir: The folder of the images; default: the study file's folder.
        settings: Further settings of the study file.

    Raises:
        AnnotationError: The study exists, or an input is invalid; nothing is written.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.store.database import open_store
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> from pqpp_annotation.store.people import add_person
        >>> from pqpp_annotation.store.work import reserve_item
        >>> store = open_store(study)
        >>> shown = reserve_item(store, add_person(store, "ann").id)
        >>> shown.prompt, [(image.width, image.height) for image in shown.images]
        ('a cat', [(768, 768)])
        >>> store.close()
    """
    from pqpp_annotation.store.database import create_store, drop_store

    target = expand(path)
    if target.suffix not in (".yaml", ".yml"):
        raise AnnotationError(f"{path}: the name of a study file must end in .yaml or .yml")
    # The lock keeps a failing run from deleting another run's copies.
    with make_folder(target.parent), lock_folder(target.parent):
        if target.exists():
            raise AnnotationError(f"{path} already exists; use another file or add prompts to it")
        stem = target.stem if target.stem != "study" else target.absolute().parent.name
        name = re.sub("[^a-z0-9]+", "-", stem.lower()).strip("-")[:64] or "study"
        required = {"name": name, "kind": kind, "database": f"{name}.db"}
        required["prompts"] = get_relative_path(target.parent, file)
        if image_dir is not None:
            required["image_dir"] = get_relative_path(target.parent, image_dir)
        study = parse_study(required | settings, target.parent)
        with read_items(study, os.fspath(file)) as (items, images):
            items = draw_control_items(items, study.control.count, study.seed)
            if not any(item.purpose == "work" for item in items):
                fault = f"{file}: all prompts are marked as control, training or check"
                raise AnnotationError(f"{fault}; add unmarked prompts")
            by_model: dict[str, list[CheckedImage]] = {}
            by_hash = {image.sha256: image for image in images}
            for image in (image for item in items for image in item.images):
                if image["model"] and not image["is_reference"]:
                    by_model.setdefault(image["model"], []).append(by_hash[image["sha256"]])
            if warning := find_model_leak(by_model, get_copies(study)):
                logging.getLogger(__name__).warning("%s; see `image_size` and `fit`", warning)
            create_store(study, items, images, is_first=True)
            try:
                write_file(target, _format_yaml(study))
            except BaseException:
                target.unlink(missing_ok=True)
                drop_store(study)
                raise
    return read_study(target)


def add_prompts(study: Study, file: str | os.PathLike[str]) -> int:
    r"""Add the prompts of a table to a study, which may be running.

    Items whose prompt id exists are unchanged. Only marked prompts become control items.

    Returns:
        Number of new items.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> _ = (folder / "more.csv").write_text("prompt,image\na cat,a.png\na dog,a.png\n")
        >>> add_prompts(study, folder / "more.csv")
        1
    """
    from pqpp_annotation.store.database import open_store
    from pqpp_annotation.store.items import add_items

    with (
        lock_folder(study.root),
        closing(open_store(study)) as store,
        read_items(study, os.fspath(file)) as (items, images),
    ):
        return add_items(store, items, images)


def _format_yaml(study: Study) -> str:
    """Return the text of a study file, with a comment above each setting."""
    import yaml

    helps = {field.name: field.metadata.get("help") for field in fields(study)}
    helps["kind"] = helps["kind_name"]
    lines = ["# A study; every setting may be changed but name, kind and seed."]
    for name, value in study.to_config().items():
        lines.append(f"\n# {helps[name]}" if helps[name] else "")
        lines.append(yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True).rstrip())
    return "\n".join(lines) + "\n"
