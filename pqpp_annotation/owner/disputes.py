"""On which items people disagree most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from pqpp_annotation.protocol.admission import Standings
from pqpp_annotation.store.tables import Adjudication
from pqpp_annotation.store.transactions import Transaction
from pqpp_datasets.own_benchmark.votes.votes import Votes

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Dispute:
    """An item on which people disagree.

    Attributes:
        item: Its id.
        disagreement: Of its most disputed image: how far two votes on it are apart on the average,
            over the range of the labels; on a nominal scale the share of pairs that differ.
        image: The name of that image; "" where the answers are about the item.
        votes: How many votes that image has.
        labels: Label to how many of them have it, the lowest first.
        is_decided: Whether the owner has decided.
    """

    item: int
    prompt_id: str
    prompt: str
    disagreement: float
    image: str
    votes: int
    labels: Mapping[float, int]
    is_decided: bool


def disagreements(unit: np.ndarray, value: np.ndarray, units: int) -> np.ndarray:
    """Return how far two votes on one unit are apart on the average.

    Args:
        unit: int64 (votes,), whole numbers from 0.
        value: float64 (votes,).
        units: How many there are.

    Returns:
        float64 (units,), NaN where there are not two votes.

    Example:
        >>> disagreements(np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 4.0, 1.0]), 2).tolist()
        [2.0, nan]
    """
    order = np.lexsort((value, unit))
    unit, value = unit[order], value[order]
    count = np.bincount(unit, minlength=units)
    start = np.cumsum(count) - count
    # Sorted, the place of a value says how often it is the larger one of a pair.
    weight = 2 * (np.arange(len(unit)) - start[unit]) - count[unit] + 1
    total = np.bincount(unit, weight * value, units)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 1, total / (count * (count - 1) / 2), np.nan)


def disputes_of(
    db: Transaction, standings: Standings, rows: pandas.DataFrame, most: int | None = None
) -> list[Dispute]:
    """Return the items with two votes or more on an image, the most disputed first.

    The votes of people who are refused have no say: somebody who answers at random disagrees with
    everybody. Nor have the reference images, on which people agree.

    Args:
        standings: With the table of votes.
        rows: Of the votes, as `votes_table` gives them.
        most: How many are returned; all if left out.
    """
    votes = standings.votes
    if votes is None:
        return []
    refused = {annotator.name for annotator in standings.annotators if annotator.reasons}
    is_kept = ~rows["annotator"].isin(refused).to_numpy() & ~votes.reference
    units = rows.iloc[votes.first].reset_index(drop=True)
    units["apart"] = _apart(votes, is_kept)
    worst = units[units["apart"] > 0].sort_values(
        ["apart", "item_id"], ascending=[False, True], kind="stable"
    )
    worst = worst.drop_duplicates("item_id").iloc[:most]  # each with its most disputed image
    labels: Any = rows["label"].groupby([votes.item, is_kept]).value_counts(sort=False)
    labels = labels.sort_index()
    worst["labels"] = [labels[place, True].to_dict() for place in worst.index]
    worst["votes"] = [sum(counts.values()) for counts in worst["labels"]]
    worst["is_decided"] = worst["item_id"].isin(set(db.scalars(select(Adjudication.item_id))))
    worst = worst.rename(columns={"item_id": "item", "apart": "disagreement"})
    names = [field.name for field in fields(Dispute)]
    return [Dispute(*row) for row in worst[names].itertuples(index=False)]


def _apart(votes: Votes, is_kept: np.ndarray) -> np.ndarray:
    """Return the disagreement on each image, over the range of the labels."""
    units, scale = len(votes.first), votes.scale
    item, value = votes.item[is_kept], votes.value[is_kept]
    if scale.level == "nominal":
        return 1 - _alike(item, value, units)
    return disagreements(item, value, units) / ((scale.high - scale.low) or 1.0)


def _alike(unit: np.ndarray, value: np.ndarray, units: int) -> np.ndarray:
    """Return the share of pairs of votes on a unit that are equal."""
    values, code = np.unique(value, return_inverse=True)
    counts = np.bincount(unit * len(values) + code, minlength=units * len(values))
    counts = counts.reshape(units, len(values)).astype(float)
    total = counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (counts * (counts - 1)).sum(axis=1) / (total * (total - 1))
