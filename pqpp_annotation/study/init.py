"""Making a study from a table of prompts and a folder of images, and adding prompts to it."""

import os
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

from pqpp_annotation.errors import StoreError, StudyError
from pqpp_annotation.kinds import task_kind
from pqpp_annotation.study.images import seen_from
from pqpp_annotation.study.items import draw_controls, read_items
from pqpp_annotation.study.study import Study, read_study, study_of
from pqpp_files.paths import expanded
from pqpp_files.write_beside import folder_to_itself, write_whole


def make_study(
    path: str | os.PathLike[str],
    file: str | os.PathLike[str],
    image_dir: str | os.PathLike[str] | None = None,
    kind: str = "relevance",
    **settings: Any,
) -> Study:
    r"""Make a study: check all that it shows, fill its database, and write its file.

    Args:
        path: The study file to write, like study.yaml; the database comes beside it.
        file: The table of prompts; see `read_items`.
        image_dir: The folder of the images; where the study file stands if None.
        kind: The kind of task.
        settings: Others of the study file, by name.

    Returns:
        The study.

    Raises:
        StudyError: The study is there already, or something that it shows cannot be used; then
            nothing was written.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.store.database import open_store
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> from pqpp_annotation.store.people import add_person
        >>> from pqpp_annotation.store.work import next_item
        >>> store = open_store(study)
        >>> shown = next_item(store, add_person(store, "ann").id)
        >>> shown.prompt, [(image.width, image.height) for image in shown.images]
        ('a cat', [(8, 6)])
        >>> store.close()
    """
    from pqpp_annotation.store.database import create_store, drop_store

    task_kind(kind)
    place = expanded(path)
    if place.suffix not in (".yaml", ".yml"):
        raise StudyError(f"{path}: a study file is written; name it like study.yaml")
    with folder_to_itself(
        place.parent
    ):  # a run that fails takes back copies, which are none of another's
        if place.exists():
            raise StudyError(
                f"{path} is there already; add prompts to it by --add, or name another"
            )
        name = _name_of(place)
        given = {"name": name, "kind": kind, "database": f"{name}.db"}
        given["prompts"] = seen_from(place.parent, file)
        if image_dir is not None:
            given["image_dir"] = seen_from(place.parent, image_dir)
        study = study_of(given | settings, place.parent)
        with read_items(study, os.fspath(file)) as (items, images):
            items = draw_controls(items, study.control.count, study.seed)
            if not any(item.purpose == "work" for item in items):
                raise StudyError(f"{file}: it holds control and training items only; add others")
            try:
                create_store(study, items, images, is_first=True)
                write_whole(place, _yaml_of(study))
            except StoreError:  # the database may be another's
                raise
            except BaseException:
                drop_store(study)
                raise
    return read_study(place)


def add_prompts(study: Study, file: str | os.PathLike[str]) -> int:
    r"""Add the prompts of a table to a study, also while people work.

    Prompts that are there already, by their id, stay as they are. Control items are those that the
    table marks.

    Returns:
        How many items are new.

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
        folder_to_itself(study.root),
        read_items(study, os.fspath(file)) as (items, images),
        closing(open_store(study)) as store,
    ):
        return add_items(store, items, images)


def _name_of(place: Path) -> str:
    stem = place.stem if place.stem != "study" else place.absolute().parent.name
    letters = [letter if letter.isascii() and letter.isalnum() else "-" for letter in stem.lower()]
    return "-".join("".join(letters).split("-")).strip("-")[:64] or "study"


def _yaml_of(study: Study) -> str:
    """Return a study file, each setting below its line of explanation."""
    import yaml

    helps = {field.name: field.metadata.get("help") for field in fields(study)}
    helps["kind"] = helps["kind_name"]
    lines = ["# A study; every setting may be changed but name, kind and seed."]
    for name, value in study.config().items():
        lines.append(f"\n# {helps[name]}" if helps[name] else "")
        lines.append(yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True).rstrip())
    return "\n".join(lines) + "\n"
