"""Read prompts with scores, to which a predictor can be fitted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from pqpp_datasets.benchmarks import BENCHMARKS
from pqpp_datasets.target_columns import drop_single_means, get_targets
from pqpp_files.names import did_you_mean
from pqpp_files.open_input import is_input, is_sharded
from pqpp_files.read_table import read_table
from pqpp_metrics.tables import TABLES
from pqpp_models.errors import PredictorError
from pqpp_models.prompt_rows import load_dataset_rows, refuse_split_options
from pqpp_models.prompts import COLUMN, ID


@dataclass
class ScoredPrompts:
    """A table of prompts with scores.

    Attributes:
        ids: Ids of the prompts, or None.
        columns: Scores by target, NaN if missing.
        limits: Lowest and highest value of each target, if known.
        dataset: The ``name`` and ``licence`` of the dataset, for the card.
    """

    prompts: list[str]
    ids: Sequence[Any] | None
    columns: dict[str, list[float]]
    name: str
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)
    dataset: dict[str, str] | None = None


def read_score_table(
    dataset: str,
    targets: Sequence[str] | None = None,
    subset: str | None = None,
    split: str | None = None,
    data_dir: str | None = None,
    column: str = COLUMN,
) -> ScoredPrompts:
    """Read prompts and scores from a table or dataset.

    Args:
        dataset: A table, a listed name, a folder or OWNER/REPOSITORY.
        targets: The columns of scores; default: all targets of the dataset, or the only numeric
            column of a table.
        split: The split; default: `train`, or the only split.

    Raises:
        BenchmarkError: The dataset, or the requested split, does not exist.
        PredictorError: The column does not exist, or a score is not a number.
        FileError: The table cannot be read.
    """
    path = Path(dataset)
    is_named_as_table = path.suffix.lower() in TABLES and not path.is_dir()
    if is_input(dataset) or is_sharded(path) or is_named_as_table:
        refuse_split_options(dataset, {"subset": subset, "split": split, "data_dir": data_dir})
        table = read_table(dataset, remedy="set `column` to the prompt column")
        prompts = table.texts(column)
        names = [name for name in table.columns if name not in (column, ID)]
        if not targets:  # only the numeric ones are proposed, and a single one is chosen
            names = [n for n in names if {*map(type, table.values(n))} <= {int, float, NoneType}]
            targets = names if len(names) == 1 else None
        names = _choose_columns(dataset, targets, names)
        columns = {name: table.numbers(name) for name in names}
        return ScoredPrompts(prompts, table.columns.get(ID), columns, path.name)
    rows, read_split = load_dataset_rows(
        dataset, subset, split, data_dir, column=column, usual_splits=["train"]
    )
    declared = get_targets(rows.features)
    names = _choose_columns(dataset, targets, rows.column_names, drop_single_means(declared))
    dtypes = {name: getattr(rows.features[name], "dtype", "list") for name in names}
    if texts := [name for name in names if not dtypes[name].startswith(("float", "int", "uint"))]:
        fault = f"column {texts[0]!r} must be numeric, not {dtypes[texts[0]]}"
        raise PredictorError(f"`dataset` {dataset}: {fault}; choose other columns with `targets`")
    columns = {name: np.array(rows[name], dtype=float).tolist() for name in names}
    limits = {n: ends for n in names if n in declared and (ends := declared[n].limits)}
    title = path.resolve().name if path.is_dir() else dataset
    listed = BENCHMARKS.get(subset or "") or BENCHMARKS.get(dataset)
    licence = listed.licence if listed else rows.info.license or ""
    card_facts = {"name": title, "licence": licence}
    ids = list(rows[ID]) if ID in rows.column_names else None
    name = ", ".join(filter(None, (title, subset, read_split)))
    return ScoredPrompts(list(rows[COLUMN]), ids, columns, name, limits, card_facts)


def _choose_columns(
    dataset: str, targets: Sequence[str] | None, columns: list[str], declared: Sequence[str] = ()
) -> list[str]:
    names = list(declared if targets is None else targets)
    if not names:
        problem = f"`targets` is missing; choose from the columns {', '.join(columns)[:200]}"
        problem = problem if columns else "no column has numbers; add a column of scores"
        raise PredictorError(f"{dataset}: {problem}, or turn votes into scores with pqpp build")
    if len(set(names)) < len(names):
        raise PredictorError(f"duplicate `targets`: {', '.join(names)}; list each column once")
    if missing := [name for name in names if name not in columns]:
        hint = did_you_mean(missing[0], columns)
        raise PredictorError(f"`targets` {missing[0]}: {dataset} has no such column; {hint}")
    return names
