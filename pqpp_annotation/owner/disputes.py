"""On which items people disagree most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from pqpp_annotation.owner.ledger import NONE, Items, StudyAnswers
from pqpp_annotation.protocol.admission import Standings
from pqpp_annotation.store.tables import Adjudication
from pqpp_datasets.own_benchmark.votes.votes import Votes


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
    db: Connection,
    found: Standings,
    rows: np.ndarray,
    answers: StudyAnswers,
    items: Items,
    most: int | None = None,
) -> list[Dispute]:
    """Return the items with two votes or more on an image, the most disputed first.

    The votes of people who are refused have no say: somebody who answers at random disagrees with
    everybody. Nor have the reference images, on which people agree.

    Args:
        db: A connection in a transaction that reads.
        found: With the table of votes.
        rows: The place of each vote among the answers.
        answers: All.
        items: All.
        most: How many are returned; all if left out.
    """
    votes = found.votes
    if votes is None:
        return []
    refused = [one.name for one in found.annotators if one.reasons]
    kept = ~np.isin(votes.annotator, [votes.annotator_names.index(name) for name in refused])
    kept &= ~votes.reference
    apart = _apart(votes, kept)
    item_of = answers.item[rows[votes.first]]
    order = np.lexsort((item_of, -np.nan_to_num(apart, nan=-1.0)))
    order = order[~np.isnan(apart[order]) & (apart[order] > 0)]
    _, first = np.unique(item_of[order], return_index=True)  # its most disputed image
    chosen = order[np.sort(first)][:most]
    decided = set(db.scalars(select(Adjudication.item_id)))
    by_unit = _votes_by_unit(votes, kept, chosen)
    made = []
    for unit in chosen.tolist():
        place = int(items.place(item_of[unit : unit + 1])[0])
        image = answers.image[rows[votes.first[unit]]]
        labels, counts = np.unique(by_unit[unit], return_counts=True)
        name = "" if image == NONE else items.image[int(np.searchsorted(items.image_id, image))]
        made.append(
            Dispute(
                item=int(item_of[unit]),
                prompt_id=items.prompt_id[place],
                prompt=items.prompt[place],
                disagreement=float(apart[unit]),
                image=name,
                votes=int(counts.sum()),
                labels=dict(zip(labels.tolist(), counts.tolist(), strict=True)),
                is_decided=int(item_of[unit]) in decided,
            )
        )
    return made


def _apart(votes: Votes, kept: np.ndarray) -> np.ndarray:
    """Return the disagreement on each image, over the range of the labels."""
    units, scale = len(votes.first), votes.scale
    item, value = votes.item[kept], votes.value[kept]
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


def _votes_by_unit(votes: Votes, kept: np.ndarray, chosen: np.ndarray) -> dict[int, np.ndarray]:
    rows = np.flatnonzero(np.isin(votes.item, chosen) & kept)
    rows = rows[np.argsort(votes.item[rows], kind="stable")]
    units, starts = np.unique(votes.item[rows], return_index=True)
    return dict(zip(units.tolist(), np.split(votes.value[rows], starts[1:]), strict=False))


def disputes_csv(disputes: list[Dispute]) -> Iterator[dict[str, Any]]:
    """Give the disputed items as they are downloaded.

    Example:
        >>> one = Dispute(7, "p1", "a cat", 0.5, "a.png", 2, {0.0: 1, 1.0: 1}, False)
        >>> [(row["prompt_id"], row["labels"]) for row in disputes_csv([one])]
        [('p1', '0:1 1:1')]
    """
    for one in disputes:
        yield {
            "prompt_id": one.prompt_id,
            "prompt": one.prompt,
            "image": one.image,
            "disagreement": round(one.disagreement, 6),
            "votes": one.votes,
            "labels": " ".join(f"{label:g}:{count}" for label, count in one.labels.items()),
            "decided": "true" if one.is_decided else "false",
        }
