"""`pqpp annotate init`: a study from a table or a dataset, and more prompts for one."""

from __future__ import annotations

import argparse
from pathlib import Path

from pqpp_cli.annotate.action import add_action, needing_annotate
from pqpp_cli.errors import CommandError
from pqpp_cli.prompt_datasets import add_dataset
from pqpp_files.visible import visible

_EPILOG = """examples:
  pqpp annotate init study.yaml --file prompts.csv --image-dir images
  pqpp annotate init study.yaml --file urls.csv --kind match --title "Does the image match?"
  pqpp annotate init study.yaml --dataset OWNER/NAME --split train --set control.count=20
  pqpp annotate init study.yaml --file more.csv --add

The table has a row for each image: prompt, image (a file below --image-dir, or an address), and if
wanted prompt_id, model (`reference` for a true photo), control and training (yes or no) and
expected (the right answer of a training item). Each image is opened and hashed before anything is
written. All else stands in the study file, with comments; edit it whenever you like.
"""
ADDRESS = "http://127.0.0.1:8000"
_OWNER_DAYS, _TRY_DAYS = 365, 1


def add_init(actions: argparse._SubParsersAction) -> None:
    """Add the action."""
    what = "make a study of a table of prompts and a folder of images"
    init = add_action(actions, "init", what, run_init, _EPILOG)
    init.add_argument("--file", metavar="FILE", help="the table of prompts and images")
    init.add_argument("--image-dir", metavar="DIR", help="folder of the images")
    init.add_argument(
        "--image-column", metavar="COLUMN", default="image", help="of images (default: image)"
    )
    add_dataset(init, "take prompts and images from a dataset instead", images=False)
    init.add_argument("--column", default="prompt", help="the dataset's prompts (default: prompt)")
    init.add_argument(
        "--kind",
        default="relevance",
        help="of task: relevance, ranking, match, rich, preference, rating (default: %(default)s)",
    )
    init.add_argument("--title", default=None, help="what is asked, in one line")
    init.add_argument(
        "--people-per-item", type=int, metavar="N", default=3, help="(default: %(default)s)"
    )
    init.add_argument(
        "--seed", type=int, metavar="N", default=0, help="of all random orders (default: 0)"
    )
    init.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other setting of the study file, like control.count=20; as often as is needed",
    )
    init.add_argument(
        "--add", action="store_true", help="add the prompts of the table to a study that is there"
    )


def run_init(options: argparse.Namespace) -> None:
    """Make a study, or add prompts to one."""
    with needing_annotate():
        from pqpp_annotation.store.database import open_store
        from pqpp_annotation.study import add_prompts, make_study, read_study

    if (options.file is None) == (options.dataset is None):
        raise CommandError("--file: give a table of prompts by it, or a dataset by --dataset")
    if options.add:
        study = read_study(options.study)
        assert study.name is not None
        file, _ = _table_of(options, study.name)
        print(f"added: {add_prompts(study, file)} items, {options.study}")
        return
    place = Path(options.study)
    if place.exists():
        raise CommandError(f"{place} is there already; --add adds prompts to it, or name another")
    settings = {"people_per_item": options.people_per_item, "seed": options.seed}
    settings |= {"image_column": options.image_column, **settings_of(options.set)}
    for name in ("kind", "image_dir", "file", "path"):
        if name in settings:
            raise CommandError(f"--set {name}: it has an option or a word of its own; see --help")
    if options.title is not None:
        settings["title"] = options.title
    file, folder = _table_of(options, place.stem)
    study = make_study(place, file, folder, options.kind, **settings)
    store = open_store(study)
    try:
        counts = store.count_items()
        links = [
            store.invitations.create(1, role, label, days)[0][0]
            for role, label, days in (
                ("owner", "made by init", _OWNER_DAYS),
                ("annotator", "to try it", _TRY_DAYS),
            )
        ]
    finally:
        store.close()
    print(visible(f"made: {place} and {study.database} ({counts})"))
    print(f"next: pqpp annotate serve {place}")
    print(f"your own view: {ADDRESS}/join/{links[0]}")
    print(f"to try it:     {ADDRESS}/join/{links[1]}")


def settings_of(pairs: list[str]) -> dict:
    """Read settings like `control.count=20`; a value is what YAML takes it for.

    Raises:
        CommandError: One is written otherwise.

    Example:
        >>> settings_of(["control.count=20", "consent=I agree.", "control.every=4"])
        {'control': {'count': 20, 'every': 4}, 'consent': 'I agree.'}
    """
    import yaml

    found: dict = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        *groups, last = name.split(".")
        if not sign or not all([*groups, last]):
            raise CommandError(f"--set {pair}: write it like control.count=20")
        try:
            plain = yaml.safe_load(value)
        except yaml.YAMLError:
            plain = value
        place = found
        for group in groups:
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                raise CommandError(f"--set {pair}: {group} has a value already")
        place[last] = plain
    return found


def _table_of(options: argparse.Namespace, name: str) -> tuple[str, str | None]:
    """Return the table and the folder of images; those of a dataset are written first."""
    if options.dataset is None:
        return options.file, options.image_dir
    from pqpp_annotation.study.sources import write_dataset
    from pqpp_cli.prompt_datasets import dataset_rows

    rows = dataset_rows(options)
    root = Path(options.study).parent
    table, folder = root / f"{name}-prompts.jsonl", root / f"{name}-images"
    write_dataset(rows, folder, table, options.image_column)
    return str(table), str(folder)
