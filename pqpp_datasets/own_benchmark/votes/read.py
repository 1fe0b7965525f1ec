"""Files of votes, of whatever columns and scale, to the one table of votes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.own_benchmark.judgment_files import (
    Coded,
    Columns,
    Places,
    numbers_of,
    pairs_of,
    read_columns,
    refuse_empty,
    refuse_repeats,
    values_of,
)
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import COLUMNS, Prompts
from pqpp_datasets.own_benchmark.votes.scales import (
    Scale,
    guessed_scale,
    key_of,
    named_scale,
    scale_of_map,
)
from pqpp_datasets.own_benchmark.votes.votes import Votes, depths

FLAGS = {"true": 1, "1": 1, "yes": 1, "false": 0, "0": 0, "no": 0, "": 0}
_NO_VOTE = "fill it, or --blank drop leaves such votes out"


def read_votes(path: Path, options: BuildOptions) -> Columns:
    """Read a file of votes, a row a vote, whatever its layout was.

    Its columns are `prompt`, `image`, `model`, `label` and, if wanted, `annotator`, `control` (true
    where a member of the control group voted), `seconds` (how long it took), `source`, `prompt_id`,
    `category`; `options.columns` says what the file calls them.

    Args:
        path: As for `pqpp_files.read_table`.
        options: What the columns are called; `annotators` where each has a column.

    Raises:
        DataFileError: As of `read_columns`.
        OptionError: The options ask for columns in two ways.
    """
    needed = ["prompt", "image", *(["model"] if options.model is None else [])]
    optional = ["control", "seconds", *COLUMNS]
    if not options.annotators:
        columns = read_columns(
            path, [*needed, "label"], ["annotator", *optional], options.columns, blank=["label"]
        )
    else:
        columns = _read_wide(path, needed, optional, options)
    if options.model is not None:
        columns["model"] = Coded(np.zeros(columns.rows, np.int32), [options.model])
    if "annotator" in columns:
        refuse_empty(columns, "annotator")
    return columns


def _read_wide(
    path: Path, needed: Sequence[str], optional: Sequence[str], options: BuildOptions
) -> Columns:
    """Read a file with a column an annotator; each becomes rows of its own, image by image."""
    if {"annotator", "label"} & options.columns.keys():
        raise OptionError(
            "--annotators names the columns that hold the votes; leave --column annotator=... and "
            "label=... out"
        )
    names = list(options.annotators)
    if len(set(names)) < len(names):
        raise OptionError(f"--annotators {','.join(names)}: a column stands twice")
    wide = read_columns(path, [*needed, *names], optional, options.columns, blank=names)
    parts = [wide.pop(name) for name in names]
    each = np.repeat(np.arange(wide.rows), len(names))
    long = Columns({role: column.at(each) for role, column in wide.items()})
    long["label"] = _side_by_side(parts)
    long["annotator"] = Coded(np.tile(np.arange(len(names), dtype=np.int32), wide.rows), names)
    long.named = wide.named
    long.places = Places([(path, each)])
    return long


def _side_by_side(parts: Sequence[Coded]) -> Coded:
    """Return columns row by row as one, under common names."""
    names: dict[str, int] = {}
    codes = []
    for part in parts:
        places = [names.setdefault(name, len(names)) for name in part.names]
        codes.append(np.array(places, np.int32)[part.codes])
    return Coded(np.stack(codes, axis=1).ravel(), list(names))


def votes_of(columns: Columns, prompts: Prompts, options: BuildOptions) -> tuple[Votes, list[str]]:
    """Make the table of votes.

    Args:
        columns: As `read_votes` gives them.
        prompts: The prompts so far; those of the file are taken in.
        options: What labels mean, and what blank and repeated votes do.

    Returns:
        The votes, and what is to be said about them, a line each.

    Raises:
        DataFileError: A label is not on the scale, or empty, or someone voted twice on one image,
            or nothing is left; names the row, the column, the value and the option that helps.
    """
    number = prompts.number(columns)
    scale, said = _scale_of(columns, options)
    value, notes = _values(columns, scale, options)
    kept = np.flatnonzero(~np.isnan(value))
    if not len(kept):
        raise DataFileError(f"{columns.places.name}: no vote is left ({'; '.join(notes)})")
    texts = Coded(number, [text for _, text in prompts.keys])
    items = (texts, columns["model"], columns["image"])
    known = "annotator" in columns
    if known:
        kept, value = _once(columns, items, kept, value, options.repeats)
    item, first = pairs_of(*(column.at(kept) for column in items))
    votes = Votes(
        prompt=number[kept],
        model=columns["model"].codes[kept],
        image=columns["image"].codes[kept],
        annotator=columns["annotator"].codes[kept] if known else _places_in(item),
        item=item,
        first=first,
        value=value[kept],
        positive=scale.is_positive(value[kept]),
        control=_control(columns)[kept],
        reference=_named(columns["model"], options.reference_model)[kept],
        seconds=numbers_of(columns, "seconds", True)[kept] if "seconds" in columns else None,
        row=kept,
        places=columns.places,
        prompts=prompts,
        model_names=columns["model"].names,
        image_names=columns["image"].names,
        annotator_names=columns["annotator"].names if known else [],
        has_annotators=known,
        scale=scale,
    )
    _refuse_two_roles(votes)
    return votes, [said, *notes, *_who(votes, options)]


def _scale_of(columns: Columns, options: BuildOptions) -> tuple[Scale, str]:
    """Return the scale of the labels, and how it is known."""
    marks = frozenset(map(key_of, options.missing))
    if options.labels:
        scale = scale_of_map(options.labels)
        said = f"labels: as {options.labels} maps them"
    elif options.scale:
        scale = named_scale(options.scale)
        said = f"labels: on the scale {scale.name}"
    else:
        used = np.unique(columns["label"].codes)
        labels = [columns["label"].names[code] for code in used]
        labels = [one for one in labels if key_of(one) not in {"", *marks}]
        scale = guessed_scale(columns.places.name, labels)
        shown = ", ".join(sorted({one.strip() for one in labels})[:8])
        said = f"labels: read as {scale.name}, which alone has {shown}; --scale says otherwise"
    return replace(scale, missing=scale.missing | marks), said


def _values(columns: Columns, scale: Scale, options: BuildOptions) -> tuple[np.ndarray, list[str]]:
    """Return the value of each row, NaN where there is no vote, and how many there are of these."""
    label = columns["label"]
    values, left = np.empty(len(label.names)), {"blank": [], "missing": []}
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
                    "label",
                    position,
                    f"{scale.allowed} is allowed on the scale {scale.name}; choose --scale or "
                    f"--labels, or --missing={text.strip()} leaves such votes out",
                )
        else:
            values[position] = value
    if options.blank == "refuse" and left["blank"]:
        refuse_empty(columns, "label", _NO_VOTE)
    counts = {why: int(np.isin(label.codes, places).sum()) for why, places in left.items()}
    marks = ", ".join(sorted(scale.missing))
    words = {"blank": "blank votes", "missing": f"votes marked as missing ({marks})"}
    return values[label.codes], [f"{n} {words[why]} left out" for why, n in counts.items() if n]


def _once(
    columns: Columns, items: Sequence[Coded], rows: np.ndarray, value: np.ndarray, repeats: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that are left when each person votes once on an image, and all values."""
    who = [column.at(rows) for column in (*items, columns["annotator"])]
    if repeats == "refuse":
        places = columns.places.at(rows)
        remedy = "keep one of them, or choose by --repeats first, last or mean"
        refuse_repeats(places, "this judgment", *who, remedy=remedy)
        return rows, value
    codes, first = pairs_of(*who)
    if len(first) == len(rows):
        return rows, value
    if repeats == "last":
        chosen = np.zeros(len(first), np.int64)
        chosen[codes] = np.arange(len(rows))  # of equal places the last assignment stays
        return rows[np.sort(chosen)], value
    if repeats == "mean":
        value = value.copy()
        value[rows] = (np.bincount(codes, value[rows]) / np.bincount(codes))[codes]
    return rows[np.sort(first)], value


def _places_in(item: np.ndarray) -> np.ndarray:
    """Count the votes of each image: 0, 1, ... in the order of the rows."""
    order = np.argsort(item, kind="stable")
    found = np.empty(len(item), np.int32)
    found[order] = depths(item[order])
    return found


def _control(columns: Columns) -> np.ndarray:
    if "control" not in columns:
        return np.zeros(columns.rows, bool)
    return values_of(columns, "control", FLAGS) == 1


def _named(column: Coded, name: str) -> np.ndarray:
    return np.array([one == name for one in column.names])[column.codes]


def _refuse_two_roles(votes: Votes) -> None:
    if not votes.has_annotators:
        return
    both = np.intersect1d(votes.annotator[votes.control], votes.annotator[~votes.control])
    if len(both):
        row = int(np.argmax((votes.annotator == both[0]) & ~votes.control))
        raise DataFileError(
            f"{votes.places.of(int(votes.row[row]))}: {votes.annotator_names[both[0]]!r:.60} is in "
            "the control group in other rows and not here; set control in all rows of a member"
        )


def _who(votes: Votes, options: BuildOptions) -> list[str]:
    """Say what can't be known of who voted."""
    if not votes.has_annotators:
        return [
            "no annotators came: whether anyone voted twice, how far annotators agree and whom to "
            "trust cannot be checked (--column annotator=COLUMN names them)"
        ]
    if options.annotators:
        names = ", ".join(votes.annotator_names)
        return [f"annotators: the columns {names}, each taken as one person"]
    return []
