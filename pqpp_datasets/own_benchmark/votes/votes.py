"""The one table of votes from which everything about an own benchmark is computed."""

import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pqpp_datasets.own_benchmark.long_table import NUMBER, LongTable
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.votes.scales import Scale


@dataclass(frozen=True)
class Votes:
    """Votes on generated images, one row per vote, in the order of the file.

    Columns of texts are numbers here, with separate names: five million votes need little memory.
    Blank votes and those with a mark for a missing one are left out before. One annotator has one
    vote on one image, unless annotators are unknown.

    Attributes:
        prompt: int64 (votes,), a position in the prompts.
        model: int32 (votes,), a position in `model_names`.
        image: int32 (votes,), a position in `image_names`.
        annotator: int32 (votes,), a position in `annotator_names`. Without ids of annotators
            (`has_annotators` is False) it only counts the votes of an image, 0, 1, ...: equal
            numbers are then not one person.
        item: int64 (votes,), the rated image, 0 to `len(first)` - 1: a distinct combination of
            prompt, model and image. One name of an image under two prompts or models is two items.
        first: int64 (items,), a row of each item, to look up its prompt, model and image.
        value: float64 (votes,), the vote on `scale`; never NaN.
        control: bool (votes,), whether a member of the control group voted.
        reference: bool (votes,), whether the image is a reference image, not a generated one.
        seconds: float64 (votes,), how long the vote took, NaN if it is not known; None if the file
            has no such column.
        model_names: Names of the models.
        image_names: Names of the images.
        annotator_names: Names of the annotators.
        has_annotators: Whether the file has annotators.
        scale: The meaning of values: range, level of measurement, positive values.
        is_ready: Whether the values are ready scores of images, without their votes.
        turned: bool (votes,), for votes on pairs: whether the image of value 1 was second.
        notes: Notes on how they were read, one per line.
    """

    prompt: np.ndarray
    model: np.ndarray
    image: np.ndarray
    annotator: np.ndarray
    item: np.ndarray
    first: np.ndarray
    value: np.ndarray
    control: np.ndarray
    reference: np.ndarray
    seconds: np.ndarray | None
    model_names: list[str]
    image_names: list[str]
    annotator_names: list[str]
    has_annotators: bool
    scale: Scale
    is_ready: bool = False
    turned: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.value)


def number_items(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct combinations of integer columns from 0, in their order.

    Returns:
        int64 (rows,), the combination of each row, and the first row of each combination.

    Example:
        >>> number_items(np.array([1, 0, 1]), np.array([0, 5, 0]))
        (array([1, 0, 1]), array([1, 0]))
    """
    rows = pd.DataFrame(dict(enumerate(columns)))
    item = rows.groupby(list(rows)).ngroup().to_numpy()
    return item, np.unique(item, return_index=True)[1]


def to_votes(table: LongTable, scale: Scale, value: np.ndarray, options: BuildOptions) -> Votes:
    """Build the table of votes.

    Args:
        table: The judgments, with numbered prompts.
        scale: The labels' scale.
        value: float64 (rows,), the values, NaN if missing.
        options: Options for repeated votes.

    Raises:
        BenchmarkError: Someone voted twice on one image, or in two roles; the error names the row.
    """
    rows = table.rows.assign(value=value).dropna(subset="value")
    named = "annotator" in rows
    if named:
        keys = [NUMBER, "model", "image", "annotator"]
        rows = keep_one_vote(table, rows, keys, "this judgment", options.repeats)
        people, control = rows["annotator"], rows["control"]
        both = np.intersect1d(people[control].cat.codes, people[~control].cat.codes)
        outside = rows.index[people.cat.codes.isin(both) & ~control]
        if len(outside):
            fault = f"{people[outside[0]]!r:.60} is in the control group in other rows and not here"
            table.add_fault("annotator", outside, f"{fault}; set control in all rows of a member")
    table.raise_faults()
    roles = [role for role in ("model", "image", "annotator") if role in rows]
    codes = {role: rows[role].cat.codes.to_numpy(np.int32) for role in roles}
    names = {role: rows[role].cat.categories.tolist() for role in roles}
    columns = {name: rows[name].to_numpy() for name in rows if name not in roles}
    item, first = number_items(columns[NUMBER], codes["model"], codes["image"])
    return Votes(
        prompt=columns[NUMBER],
        model=codes["model"],
        image=codes["image"],
        annotator=codes["annotator"] if named else rows.groupby(item).cumcount().to_numpy(np.int32),
        item=item,
        first=first,
        value=columns["value"],
        control=columns["control"],
        reference=(rows["model"] == options.reference_model).to_numpy(),
        seconds=columns.get("seconds"),
        model_names=names["model"],
        image_names=names["image"],
        annotator_names=names.get("annotator", []),
        has_annotators=named,
        scale=scale,
        is_ready=options.is_ready,
        notes=(*table.notes, *_list_unknown(table, rows, options)),
    )


def refuse_repeats(table: LongTable, keys: Any, what: str, remedy: str = "keep one") -> None:
    """Refuse combinations that occur in two rows; the error names both rows.

    Args:
        table: The table of the rows.
        keys: Some of the rows: the number of the prompt, and further columns.
        what: The name of a row, for the error.
        remedy: The fix.
    """
    if table.faults:  # what is not filled is told already
        keys = keys[(keys != "").all(axis=1)]
    repeated = keys.index[keys.duplicated()]
    if not len(repeated):
        return
    row, cells = repeated[0], keys.loc[repeated[0]]
    first = keys.index[(keys == cells).all(axis=1).argmax()]
    values = (table.rows["prompt"].iloc[row], *cells[1:])
    same_file = f"{table.locate(row).rpartition(', ')[0]}, "
    table.add_fault(
        "prompt",
        repeated,
        f"{what} ({', '.join(repr(value)[:60] for value in values)}) is also in "
        f"{table.locate(first).removeprefix(same_file)}; {remedy}",
    )


def keep_one_vote(table: LongTable, rows: Any, keys: list[str], what: str, repeats: str) -> Any:
    """Return one row per person and vote; a note counts the repeated ones.

    Args:
        table: The table of the rows.
        rows: Rows with a vote in `value`.
        keys: The columns that identify a vote; the first is the number of the prompt.
        what: The name of a row, for the error.
        repeats: How to treat a second vote, as in `BuildOptions`.
    """
    if repeats == "refuse":
        remedy = "keep one of them, or choose by `repeats` first, last or mean"
        refuse_repeats(table, rows[keys], what, remedy)
        return rows
    repeated = int(rows.duplicated(keys).sum())
    if not repeated:
        return rows
    counts = "their mean counts" if repeats == "mean" else f"the {repeats} counts"
    which = "repeated votes of one person on the same image or pair"
    table.notes.append(f"{repeated} {which}: {counts}")
    if repeats == "mean":
        group = rows.groupby(keys, observed=True).ngroup().to_numpy()
        means = np.bincount(group, rows["value"]) / np.bincount(group)
        rows = rows.assign(value=means[group])
    return rows.drop_duplicates(keys, keep="last" if repeats == "last" else "first")


def _list_unknown(table: LongTable, rows: Any, options: BuildOptions) -> list[str]:
    """List what cannot be checked without annotators."""
    unknown = "their agreement cannot be checked"
    if options.is_ready:
        return [f"scores of images, not votes: {unknown}"]
    if "annotator" not in rows:
        column = shlex.quote(f"annotator={table.named.get('annotator', 'COLUMN')}")
        return [f"no annotators: {unknown} (`columns` {column} names them)"]
    if options.annotators:
        # Not by name: what is said here stands in the report, too.
        return [f"annotators: {len(options.annotators)} columns, each counted as one person"]
    if rows["annotator"].nunique() == 1:
        return ["one annotator only: agreement with others cannot be checked"]
    return []
