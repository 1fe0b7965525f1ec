"""The votes on generated images, as columns of numbers."""

import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pqpp_datasets.own_benchmark.long_table import PROMPT, LongTable
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.votes.scales import Scale
from pqpp_files.names import pluralize

_MAX_SHARED = 0.1
"""Maximum share of image names with several prompts or models that are reported."""


@dataclass(frozen=True)
class Votes:
    """Votes on generated images in the order of the file; missing votes are left out.

    Arrays have one entry per vote. An annotator has at most one vote per image.

    Attributes:
        prompt: Index of the prompt, int64.
        model: Index in `model_names`, int32.
        image: Index in `image_names`, int32.
        annotator: Index in `annotator_names`, int32; if annotators are unknown, the index of the
            vote among those on its image.
        item: Index of the rated image, int64: a distinct combination of prompt, model and image
            name.
        first: Index of the first vote on each item, int64, shape (items,).
        value: Value on `scale`, float64 without NaN.
        control: Whether the vote is by a control member, bool.
        reference: Whether the vote is on a reference image, bool.
        seconds: Seconds of the vote, float64, NaN if unknown; None without such a column.
        annotator_names: Names of the annotators; empty if unknown.
        scale: The scale of the values.
        has_scores: Whether values are scores of images instead of votes.
        turned: For votes on pairs, whether the image of value 1 was second, bool; else None.
        notes: Notes on how the votes were read, one per line.
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
    has_scores: bool = False
    turned: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.value)


def index_rows(*columns: np.ndarray) -> np.ndarray:
    """Return the index of each row's combination of values, in sort order without gaps.

    Example:
        >>> index_rows(np.array([1, 0, 1]), np.array([0, 5, 0]))
        array([1, 0, 1])
    """
    rows = pd.DataFrame(dict(enumerate(columns)))
    return rows.groupby(list(rows)).ngroup().to_numpy()


def to_votes(table: LongTable, scale: Scale, value: np.ndarray, options: BuildOptions) -> Votes:
    """Convert a table of judgments to votes.

    Args:
        table: The judgments, with numbered prompts.
        scale: The scale of the labels.
        value: Value of each row, float64, NaN if missing.

    Raises:
        BenchmarkError: An annotator voted twice on an image, or is a control member in only some
            rows.
    """
    rows = table.rows.assign(value=value).dropna(subset="value")
    has_annotators = "annotator" in rows
    if has_annotators:
        keys = [PROMPT, "model", "image", "annotator"]
        rows = merge_repeats(table, rows, keys, "this judgment", options.repeats)
        annotator, control = rows["annotator"], rows["control"]
        inconsistent = np.intersect1d(annotator[control].cat.codes, annotator[~control].cat.codes)
        regular = rows.index[annotator.cat.codes.isin(inconsistent) & ~control]
        if len(regular):
            fault = f"{annotator[regular[0]]!r:.60} is a control member in other rows, but not here"
            table.add_fault("annotator", regular, f"{fault}; set 'control' in all their rows")
    _report_shared_images(table, rows[rows["model"] != options.reference_model])
    table.raise_faults()
    roles = [role for role in ("model", "image", "annotator") if role in rows]
    codes = {role: rows[role].cat.codes.to_numpy(np.int32) for role in roles}
    names = {role: rows[role].cat.categories.tolist() for role in roles}
    columns = {name: rows[name].to_numpy() for name in rows if name not in roles}
    item = index_rows(columns[PROMPT], codes["model"], codes["image"])
    if not has_annotators:
        codes["annotator"] = rows.groupby(item).cumcount().to_numpy(np.int32)
    return Votes(
        prompt=columns[PROMPT],
        model=codes["model"],
        image=codes["image"],
        annotator=codes["annotator"],
        item=item,
        first=np.unique(item, return_index=True)[1],
        value=columns["value"],
        control=columns["control"],
        reference=(rows["model"] == options.reference_model).to_numpy(),
        seconds=columns.get("seconds"),
        model_names=names["model"],
        image_names=names["image"],
        annotator_names=names.get("annotator", []),
        has_annotators=has_annotators,
        scale=scale,
        has_scores=options.has_scores,
        notes=(*table.notes, *_list_annotator_notes(table, rows, options)),
    )


def _report_shared_images(table: LongTable, rows: Any) -> None:
    """Add a note if a few images have several prompts or models; if many have, it is intended."""
    for role, codes in (("prompt", rows[PROMPT]), ("model", rows["model"].cat.codes)):
        number = codes.groupby(rows["image"], observed=True).nunique()
        names = number.index[number > 1]
        if 0 < len(names) <= _MAX_SHARED * len(number):
            image_codes = codes[rows["image"] == names[0]]
            pair = image_codes.index[0], image_codes.index[image_codes != image_codes.iloc[0]][0]
            cells = [f"{role} {table.rows[role].iloc[n]!r:.60} in {table.locate(n)}" for n in pair]
            note = f"images with several {role}s: {len(names)}, such as {names[0]!r}"
            table.notes.append(f"{note}: {' and '.join(cells)}; correct them if this is a slip")


def report_repeats(
    table: LongTable, keys: Any, row_name: str, remedy: str = "keep one of the rows"
) -> None:
    """Add an error line if rows have equal keys.

    Args:
        keys: The rows to check, a subset of the table's rows, with the columns whose combinations
            must be distinct; the first column is the prompt or its index.
        row_name: A name for a row in errors, such as "this vote".
    """
    if table.faults:  # empty cells are already an error line
        keys = keys[(keys != "").all(axis=1)]
    repeated = keys.index[keys.duplicated()]
    if not len(repeated):
        return
    row, cells = repeated[0], keys.loc[repeated[0]]
    first = keys.index[(keys == cells).all(axis=1).argmax()]
    values = (table.rows["prompt"].iloc[row], *cells[1:])
    fault = f"{row_name} ({', '.join(repr(value)[:60] for value in values)})"
    table.add_fault("prompt", repeated, f"{fault} is also in {table.locate(first, row)}; {remedy}")


def merge_repeats(table: LongTable, rows: Any, keys: list[str], row_name: str, repeats: str) -> Any:
    """Drop or average repeated votes, or add an error line about them; return the rows.

    Args:
        table: The table, for notes and error lines.
        rows: Rows with a vote in `value`.
        keys: Columns that identify a vote, `PROMPT` first.
        row_name: A name for a row in errors, such as "this judgment".
        repeats: `BuildOptions.repeats`.
    """
    if repeats == "refuse":
        remedy = "keep one of the rows, or set `repeats` to first, last or mean"
        report_repeats(table, rows[keys], row_name, remedy)
        return rows
    if not (repeated := int(rows.duplicated(keys).sum())):
        return rows
    counts = "their mean counts" if repeats == "mean" else f"the {repeats} counts"
    kind = "of one annotator on the same image or pair"
    table.notes.append(f"{pluralize(repeated, 'repeated vote')} {kind}: {counts}")
    if repeats == "mean":
        group = rows.groupby(keys, observed=True).ngroup().to_numpy()
        rows = rows.assign(value=(np.bincount(group, rows["value"]) / np.bincount(group))[group])
    return rows.drop_duplicates(keys, keep="last" if repeats == "last" else "first")


def _list_annotator_notes(table: LongTable, rows: Any, options: BuildOptions) -> list[str]:
    """Return notes if agreement cannot be checked, or if columns were read as annotators."""
    reason = "their agreement cannot be checked"
    if options.has_scores:
        return [f"scores of images, not votes: {reason}"]
    if "annotator" not in rows:
        column = shlex.quote(f"annotator={table.column_names.get('annotator', 'COLUMN')}")
        return [f"no annotators: {reason} (`columns` {column} names them)"]
    if options.annotators:
        # No names, because the report prints this note.
        return [f"annotators: {len(options.annotators)} columns, each counted as one person"]
    if rows["annotator"].nunique() == 1:
        return ["one annotator only: agreement with others cannot be checked"]
    return []
