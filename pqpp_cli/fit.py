"""`pqpp fit`: a predictor for anybody's scores, in seconds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_cli.options import add_targets, given_once, names_of
from pqpp_cli.output import OutputFolder
from pqpp_cli.prompt_datasets import OPTIONS, add_dataset

if TYPE_CHECKING:
    from pqpp_models.predictor import Predictor

_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
_TRAINED_ON = ("pqpp", "pqpp-v1.0")
_TOO_GOOD = (
    "static's network was trained on {known} of these prompts with their scores, so the "
    "figures are too good; measure on prompts that it has not seen, pqpp bench marks the others"
)
_EPILOG = """examples:
  pqpp fit my_benchmark --output my_predictor
  pqpp fit ratings.csv --targets mean_rating --output my_predictor
  pqpp fit votes.parquet --column caption --targets match_rate,rating --output my_predictor
  pqpp fit pqpp --subset pqpp-v1.0 --targets mean_hbpp,mean_p10 --output my_predictor
  pqpp predict "two robots play chess" --predictor ./my_predictor --uncertainty

The predictor is a linear head on the network of `static`; it is fitted in closed form, on one core,
without torch. Rows of one prompt become one with their mean score. What is printed is measured on
prompts that were left out of the fit, each in its turn.

Targets may have any name. What ends in _hbpp must be in -1 .. 2, what ends in _p10, _rr or _rate in
0 .. 1, what a dataset tells a range of in that, and predictions stay within; those of other targets
may leave the observed range by a tenth. Of a dataset with splits, train is taken if none is named.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "fit",
        help="make a predictor for your own scores, in seconds",
        description="Fit a predictor to prompts with scores: a table, a dataset, a benchmark.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATASET",
        help=f"a table ({', '.join(_TABLES)}), pqpp, a folder, or OWNER/REPOSITORY",
    )
    add_dataset(parser, "another way to name DATASET", images=False)
    parser.add_argument(
        "--column", default="prompt", help="the column of prompts (default: %(default)s)"
    )
    add_targets(parser, "all that the data tells of", "the columns of scores to learn")
    parser.add_argument(
        "--folds",
        type=int,
        default=5,
        help="parts of the cross-validation (default: %(default)s)",
    )
    parser.add_argument(
        "--encoder",
        default="static",
        metavar="NAME",
        help="the static on whose network the predictor stands: a name or a folder, like a build "
        "that has not learned your prompts (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        "--output_dir",
        type=OutputFolder,
        metavar="DIR",
        required=True,
        help="where to save the predictor",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the predictor that is there"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fit, save, and print what the predictor scores on prompts that were left out."""
    from pqpp_models.checkpoint import check_place
    from pqpp_models.text.ridge.fitting import fit
    from pqpp_models.training.publish import refuse_finished

    options.dataset = given_once(options.data, "--dataset", options.dataset)
    check_place(options.output, "ridge")
    refuse_finished(Path(options.output), options)
    data = _read(options)
    scores = list(zip(*data.columns.values(), strict=True))
    shown = sys.stderr.isatty()
    names = list(data.columns)
    fitted = fit(
        data.prompts,
        scores,
        names,
        data.name,
        folds=options.folds,
        progress=shown,
        ids=data.ids,
        limits=data.limits,
        encoder=options.encoder,
    )
    folder = fitted.save_pretrained(options.output)
    print(format_figures(fitted))
    known = _known_to_network(fitted, data.prompts, data.ids, options)
    if known:
        print(_TOO_GOOD.format(known=known))
    print(f"saved in {folder}; use it by pqpp predict --predictor {folder}")


def _known_to_network(fitted, prompts: list[str], ids: Any, options: argparse.Namespace) -> int:
    """Return how many of the rows static's network was trained on."""
    from pqpp_models.prompts import COLUMN, ID

    known = fitted.encoder.record.rows
    if known is None:  # an older network: PQPP's train split
        is_pqpp = (options.subset or options.dataset) in _TRAINED_ON
        return len(prompts) if is_pqpp and options.split == "train" else 0
    rows = {COLUMN: prompts, ID: ids or [None] * len(prompts)}
    return int(known.among(rows).sum())


def format_figures(fitted: Predictor) -> str:
    """Return as a table what a ridge predictor scores on prompts that were left out of its fit."""
    from tabulate import tabulate

    training = fitted.details["training"]
    rows = [
        (
            name,
            training["scores"][name],
            *(found[one] for one in ("pearson", "kendall", "spearman")),
        )
        for name, found in training["cross_validation"].items()
    ]
    table = tabulate(rows, ("target", "prompts", "Pearson", "Kendall", "Spearman"), floatfmt=".3f")
    note = f"on prompts left out of the fit, {training['folds']} parts"
    if any(found["spearman"] <= 0 for found in training["cross_validation"].values()):
        note += "; a target at or below 0 was not learned, predictions of it mean nothing"
    return f"{table}\n{note}"


@dataclass
class _Data:
    """What is fitted to.

    Attributes:
        ids: Of the prompts, None where they have none.
        columns: Target to its scores.
        name: What the data is called.
        limits: Lowest and highest value of a target, where that is told.
    """

    prompts: list[str]
    ids: Any
    columns: dict[str, list[float]]
    name: str
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)


def _read(options: argparse.Namespace) -> _Data:
    from pqpp_files.open_input import names_input

    place = Path(options.dataset)
    if names_input(options.dataset) or (place.suffix.lower() in _TABLES and not place.is_dir()):
        return _read_table(options)
    from pqpp_cli.prompt_datasets import dataset_rows
    from pqpp_datasets.target_columns import sort_targets, targets_of
    from pqpp_models.prompts import COLUMN, ID

    rows = dataset_rows(options, usual_split="train")
    told = targets_of(rows.features)
    targets = _targets(options, rows.column_names, sort_targets(told))
    columns = {name: _numbers(options.dataset, name, rows[name]) for name in targets}
    known = {name: told[name].limits for name in targets if name in told}
    limits = {name: ends for name, ends in known.items() if ends}
    name = place.resolve().name if place.is_dir() else options.dataset
    parts = (name, options.subset, options.split)
    ids = list(rows[ID]) if ID in rows.column_names else None
    return _Data(list(rows[COLUMN]), ids, columns, ", ".join(filter(None, parts)), limits)


def _read_table(options: argparse.Namespace) -> _Data:
    from pqpp_cli.errors import CommandError
    from pqpp_files.read_table import read_table
    from pqpp_models.prompts import ID

    for name in OPTIONS:
        if getattr(options, name) is not None:
            option = name.replace("_", "-")
            raise CommandError(
                f"--{option}: {options.dataset} is a table and has none; leave it out"
            )
    table = read_table(options.dataset, remedy="name it with --column")
    prompts = table.texts(options.column)
    targets = _targets(options, [name for name in table.columns if name != options.column])
    columns = {name: table.numbers(name) for name in targets}
    return _Data(prompts, table.columns.get(ID), columns, Path(options.dataset).name)


def _targets(
    options: argparse.Namespace, columns: list[str], told: Sequence[str] = ()
) -> list[str]:
    from pqpp_cli.errors import CommandError

    known = ", ".join(columns)[:200]
    names = list(told) if options.targets is None else names_of(options.targets)
    if not names:
        raise CommandError(f"--targets is needed: columns of {options.dataset}, which has {known}")
    if len(set(names)) < len(names):
        raise CommandError(f"--targets {options.targets}: it names a column twice; name each once")
    missing = [name for name in names if name not in columns]
    if missing:
        raise CommandError(
            f"--targets {missing[0]}: {options.dataset} has no such column; it has {known}"
        )
    return names


def _numbers(dataset: str, name: str, cells) -> list[float]:
    """Return a column of a dataset as numbers, NaN where there is none."""
    from pqpp_cli.errors import CommandError

    found = []
    for number, cell in enumerate(cells, 1):
        if cell is None:
            cell = float("nan")
        if isinstance(cell, bool) or not isinstance(cell, (int, float)):
            raise CommandError(
                f"--dataset {dataset}, row {number}: {name} is {cell!r:.60}, a number is needed"
            )
        found.append(float(cell))
    return found
