"""Votes as numbers: what labels stand for, and one vote of a person on an image."""

from collections.abc import Sequence

import numpy as np

from pqpp_datasets.own_benchmark.judgment_files import (
    Coded,
    Columns,
    Places,
    numbers_of,
    pairs_of,
    refuse_empty,
    refuse_repeats,
)
from pqpp_datasets.own_benchmark.votes.scales import (
    Scale,
    key_of,
)
from pqpp_files.names import how_many

_NO_VOTE = "fill it, or --blank drop leaves such votes out"


def label_values(
    columns: Columns, role: str, scale: Scale, blank: str
) -> tuple[np.ndarray, list[str]]:
    """Return the value of each row, NaN where there is no vote, and how many there are of these.

    Args:
        columns: Of a file.
        role: The column of the labels.
        scale: What they mean.
        blank: What an empty one does, "refuse" or "drop".
    """
    label = columns[role]
    values = np.empty(len(label.names))
    left: dict[str, list[int]] = {"blank": [], "missing": []}
    for position, text in enumerate(label.names):
        values[position] = np.nan
        key = key_of(text)
        if key in scale.missing:
            left["missing"].append(position)
        elif not key:
            left["blank"].append(position)
        elif np.isnan(value := scale.value_of(text)):
            if (label.codes == position).any():
                columns.refuse(
                    role,
                    position,
                    f"{scale.allowed} is allowed on the scale {scale.name}; choose --scale or "
                    f"--labels, or --missing={text.strip()} leaves such votes out",
                )
        else:
            values[position] = value
    if blank == "refuse" and left["blank"]:
        refuse_empty(columns, role, _NO_VOTE)
    counts = {why: int(np.isin(label.codes, places).sum()) for why, places in left.items()}
    marks = ", ".join(sorted(scale.missing))
    words = {"blank": ("blank vote", ""), "missing": ("vote", f" marked as missing ({marks})")}
    told = [how_many(n, words[why][0]) + words[why][1] for why, n in counts.items() if n]
    return values[label.codes], [f"{one} left out" for one in told]


def once(
    places: Places,
    what: str,
    columns: Sequence[Coded],
    rows: np.ndarray,
    value: np.ndarray,
    repeats: str,
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the rows that are left when each person votes once on an image, and all values.

    The third is what is to be said of them, a line or none.

    Args:
        places: Of the rows of a file.
        what: What stands in a row, for the error.
        columns: What may come once: who voted on which image.
        rows: Those with a vote.
        value: Of each row of the file.
        repeats: What a second vote does, as in `BuildOptions`.
    """
    who = [column.at(rows) for column in columns]
    if repeats == "refuse":
        remedy = "keep one of them, or choose by --repeats first, last or mean"
        refuse_repeats(places.at(rows), what, *who, remedy=remedy)
        return rows, value, []
    codes, first = pairs_of(*who)
    again = len(rows) - len(first)
    if not again:
        return rows, value, []
    counts = "their mean counts" if repeats == "mean" else f"the {repeats} counts"
    said = [f"{again} repeated votes of one person on one image: {counts}"]
    if repeats == "last":
        chosen = np.zeros(len(first), np.int64)
        chosen[codes] = np.arange(len(rows))  # of equal places the last assignment stays
        return rows[np.sort(chosen)], value, said
    if repeats == "mean":
        value = value.copy()
        value[rows] = (np.bincount(codes, value[rows]) / np.bincount(codes))[codes]
    return rows[np.sort(first)], value, said


def optional_numbers(columns: Columns, role: str, rows: np.ndarray) -> np.ndarray | None:
    """Return some rows of a column of numbers, NaN where a cell is empty; None without it."""
    return numbers_of(columns, role, may_be_empty=True)[rows] if role in columns else None
