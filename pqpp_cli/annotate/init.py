"""`pqpp annotate init`: make a study of a table of prompts and a folder of images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pqpp_annotation.kinds.kind import TASK_KINDS
from pqpp_cli.annotate.groups import Address, StudyFile, needing_annotate
from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_cli.groups import ColumnOptions, Dataset
from pqpp_files.errors import FileError
from pqpp_files.foreign.yaml_values import parse_yaml
from pqpp_files.options.option import option
from pqpp_files.visible import visible

_OWNER_DAYS, _TRY_DAYS = 365, 1
_OWN_OPTIONS = ("kind", "image_dir", "file", "path")


class AnnotateInit(StudyFile, Address, Dataset, ColumnOptions, Command):
    """Make a study of a table of prompts and a folder of images."""

    EPILOG = """examples:
  pqpp annotate init study.yaml --file prompts.csv --image-dir images
  pqpp annotate init study.yaml --file urls.csv --kind match --title "Does the image match?"
  pqpp annotate init study.yaml --dataset OWNER/NAME --split train --set control.count=20
  pqpp annotate init study.yaml --file export.json --from label-studio --image-dir images
  pqpp annotate init study.yaml --file more.csv --add

The table has a row for each image: prompt, image (a file below --image-dir, or an address), and if
wanted prompt_id, model (`reference` for a true photo), control and training (yes or no) and
expected (the right answer of a training item). Each image is opened and hashed before anything is
written. All else stands in the study file, with comments; edit it whenever you like.
"""
    dataset: str | None = option(None, "take prompts and images from a dataset instead")
    file: str | None = option(None, "the table of prompts and images", metavar="FILE", path="file")
    from_format: str | None = option(
        None,
        "the tool that wrote the file, whose prompts and images are taken",
        choices=("label-studio", "argilla"),
        also=("from",),
    )
    image_dir: str | None = option(None, "folder of the images", metavar="DIR", path="images")
    image_column: str = option("image", "of images", metavar="COLUMN")
    column: str = option("prompt", "the dataset's prompts")
    kind: str = option("relevance", f"of task: {', '.join(TASK_KINDS)}")
    title: str | None = option(None, "what is asked, in one line")
    people_per_item: int = option(3, "how many people judge an item", metavar="N")
    seed: int = option(0, "seed of all random orders", metavar="N")
    set: dict[str, str] | None = option(
        None, "any other setting of the study, like control.count=20", metavar="NAME=VALUE"
    )
    add: bool = option(False, "add the prompts of the table to a study that is there")

    def __post_init__(self) -> None:
        """Check that prompts come from one place, and settings have no option of their own."""
        super().__post_init__()
        self.require_one_of("file", "dataset")
        for name in _OWN_OPTIONS:
            if name in (self.set or {}):
                raise CommandError(
                    f"`set` {name}: it has an option or a word of its own; see --help"
                )

    def run(self) -> None:
        """Make a study, or add prompts to one."""
        with needing_annotate():
            from pqpp_annotation.study import add_prompts, make_study, read_study

        if self.add:
            study = read_study(self.study)
            file, _ = self._table(study.name or "")
            print(f"added: {add_prompts(study, file)} items, {self.study}")
            return
        place = Path(self.study)
        if place.exists():
            raise CommandError(
                f"{place} is there already; `add` adds prompts to it, or name another"
            )
        settings: dict[str, Any] = {"people_per_item": self.people_per_item, "seed": self.seed}
        settings |= {"image_column": self.image_column, **settings_of(self.set or {})}
        if self.title is not None:
            settings["title"] = self.title
        file, folder = self._table(place.stem)
        study = make_study(place, file, folder, self.kind, **settings)
        self.warn(study)
        with self.opened() as store:
            from pqpp_annotation.store.invitations import keep_url, make_links
            from pqpp_annotation.store.items import count_items

            counts = count_items(store)
            if self.address:
                keep_url(store, self.address)
            links = [
                self.link(store, make_links(store, 1, role, label, days)[0][0])
                for role, label, days in (
                    ("owner", "made by init", _OWNER_DAYS),
                    ("trial", "to try it", _TRY_DAYS),
                )
            ]
        print(visible(f"made: {place} and {study.database} ({counts})"))
        print(f"next: pqpp annotate serve {place}")
        print(f"your own view: {links[0]}")
        print(f"to try it:     {links[1]}")

    def _table(self, name: str) -> tuple[str, str | None]:
        """Return the table and the folder of images; of a dataset or a tool they are written."""
        root = Path(self.study).parent
        table, folder = root / f"{name}-prompts.jsonl", root / f"{name}-images"
        if self.dataset is None:
            if self.from_format is None:
                return self.file or "", self.image_dir
            from pqpp_annotation.tool_files import write_prompts

            write_prompts(self.from_format, self.file or "", table)
            return str(table), self.image_dir
        from pqpp_annotation.study.sources import write_dataset
        from pqpp_models.prompt_rows import dataset_rows

        rows, _ = dataset_rows(
            self.dataset, self.subset, self.split, self.data_dir, column=self.column
        )
        write_dataset(rows, folder, table, self.image_column)
        return str(table), str(folder)


def settings_of(given: dict[str, str]) -> dict[str, Any]:
    """Return settings like `control.count=20` as the study file has them; YAML reads the values.

    Raises:
        CommandError: A group has a value already.

    Example:
        >>> settings_of({"control.count": "20", "consent": "I agree.", "control.every": "4"})
        {'control': {'count': 20, 'every': 4}, 'consent': 'I agree.'}
    """
    settings: dict[str, Any] = {}
    for name, value in given.items():
        *groups, last = name.split(".")
        if not all([*groups, last]):
            raise CommandError(f"`set` {name}={value}: write it like control.count=20")
        place = settings
        for group in groups:
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                raise CommandError(f"`set` {name}={value}: {group} has a value already")
        try:
            place[last] = parse_yaml(value, name)
        except FileError:
            place[last] = value
    return settings
