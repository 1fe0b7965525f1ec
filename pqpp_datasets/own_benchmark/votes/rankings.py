"""Rankings of models' images of a prompt, read as the preferences that they say."""

import math

import numpy as np
import pandas as pd

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.long_table import COLUMN, FILE, LongTable, texts_of
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.votes.votes import require_once
from pqpp_files.names import how_many
from pqpp_files.table_formats.table_format import ROW

_OF_ONE = ("prompt", "prompt_id", "source", "annotator")
"""Rows with the same of these are one ranking."""


def as_preferences(table: LongTable, options: BuildOptions) -> LongTable:
    """Return the preferences between all pairs of each ranking; rank 1 is the best, equals tie.

    A row of what is returned stands where the second of its two rows stands. One ranking is what
    one person says of one prompt; without annotators a prompt has one.

    Args:
        table: With a row a ranked image: prompt, model and rank.
        options: What blank ranks do.

    Raises:
        DataFileError: A rank is no number from 0 on, a model (and image) stands twice in one
            ranking, or no ranking has two.
    """
    rows = table.rows
    if options.blank == "refuse":
        table.require_filled("rank", "fill it, or `blank` drop leaves such rows out")
    rank = table.values("rank", _rank_of, "a number from 0 on is allowed, the lowest for the best")
    keys = [role for role in _OF_ONE if role in rows]
    entry = [role for role in ("model", "image") if role in rows]
    require_once(
        table,
        rows.loc[~np.isnan(rank), ["prompt", *keys[1:], *entry]],
        "this rank",
        "keep one of them, or name who ranked by the column annotator",
    )
    table.raise_faults()
    ranking = rows.groupby(keys, observed=True, sort=False).ngroup().to_numpy()
    first, second = _pairs(np.where(np.isnan(rank), -1, ranking))
    model = rows["model"].cat.codes.to_numpy()
    apart = model[first] != model[second]  # two images of one model say nothing of models
    first, second = first[apart], second[apart]
    if not len(first):
        raise DataFileError(
            f"{table.name}: each ranking has one image, and nothing to compare it with (two of one "
            "model are not compared); give a person's images of a prompt the same annotator and "
            "the same prompt"
        )
    common = [role for role in rows if role not in (*entry, "rank", "control", COLUMN, FILE, ROW)]
    pairs = rows[[*common, FILE, ROW]].iloc[second].reset_index(drop=True)
    for role in entry:
        for side, chosen in (("a", first), ("b", second)):
            pairs[f"{role}_{side}"] = pd.Categorical(rows[role].iloc[chosen].to_numpy())
    order = np.sign(rank[second] - rank[first]).astype(int)  # the lower rank is the better one
    pairs["choice"] = texts_of(order + 1, ["b", "tie", "a"])
    note = (
        f"rankings: {how_many(len(np.unique(ranking)), 'ranking')} with 1 for the best "
        f"read as {how_many(len(pairs), 'preference')}; intervals take those of one ranking as "
        "independent, so they are somewhat narrow"
    )
    return LongTable(pairs, table.name, {}, [*table.notes, note])


def _rank_of(text: str) -> float | None:
    try:
        rank = float(text) if text.strip() else math.nan
    except ValueError:
        return None
    return rank if math.isnan(rank) or 0 <= rank < math.inf else None


def _pairs(group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of all pairs within each group, the earlier row first; -1 is in no group.

    Example:
        >>> [rows.tolist() for rows in _pairs(np.array([0, 1, 0, -1, 0, 1]))]
        [[0, 0, 2, 1], [2, 4, 4, 5]]
    """
    order = np.argsort(group, kind="stable")[np.count_nonzero(group < 0) :]
    starts = np.unique(group[order], return_index=True)[1]
    firsts, seconds = [np.empty(0, int)], [np.empty(0, int)]
    for part in np.split(order, starts[1:]):
        left, right = np.triu_indices(len(part), 1)
        firsts.append(part[left])
        seconds.append(part[right])
    return np.concatenate(firsts), np.concatenate(seconds)
