"""Files of votes, of whatever columns and scale, to the one table of votes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.own_benchmark.judgment_files import (
    Coded,
    Columns,
    Places,
    pairs_of,
    read_columns,
    refuse_empty,
    refuse_missing,
    values_of,
)
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import COLUMNS, Prompts
from pqpp_datasets.own_benchmark.votes.joined import (
    concatenated,
    join_known,
    read_images,
    read_prompt_texts,
)
from pqpp_datasets.own_benchmark.votes.scales import (
    Scale,
    guessed_scale,
    key_of,
    named_scale,
    scale_of_map,
)
from pqpp_datasets.own_benchmark.votes.values import label_values, once, optional_numbers
from pqpp_datasets.own_benchmark.votes.votes import Votes, depths
from pqpp_files.table_formats.nested import KEY, PLACE

FLAGS = {"true": 1, "1": 1, "yes": 1, "false": 0, "0": 0, "no": 0, "": 0}


def read_votes(files: Sequence[tuple[str | None, Path]], options: BuildOptions) -> Columns:
    """Read files of votes, a row a vote, whatever their layout was.

    Their columns are `prompt`, `image`, `model`, `label` and, if wanted, `annotator`, `control`
    (true where a member of the control group voted), `seconds` (how long it took), `source`,
    `prompt_id`, `category`; or `score` and, if wanted, `deviation` where someone put the votes on
    an image together before. `options.columns` says what the files call them.

    Args:
        files: As for `pqpp_files.read_table`, each with None.
        options: What the columns are called, `annotators` where each has a column, and the files
            that are joined by id.

    Raises:
        DataFileError: As of `read_columns`, or an id is not in the file that is joined.
        OptionError: The options ask for columns in two ways.
    """
    columns = concatenated([_read_file(path, options) for _, path in files])
    images, prompts = read_images(options), read_prompt_texts(options)
    columns.notes = [
        *columns.notes,
        *join_known(columns, images, "image"),
        *(join_known(columns, prompts, "prompt_id") if "prompt_id" in columns else []),
    ]
    for role in ("image", "annotator"):  # of empty cells alone it is no column
        if role in columns and not any(map(str.strip, columns[role].names)):
            del columns[role]
    missing = [role for role in ("prompt", "model") if role not in columns]
    refuse_missing(columns.places.name, list(map(columns.said, missing)), list(columns))
    for role in ("prompt", "model", "image", "annotator"):
        if role in columns:
            refuse_empty(columns, role)
    if "image" not in columns:
        columns["image"] = Coded(np.zeros(columns.rows, np.int32), [""])
        columns.notes = [
            *columns.notes,
            "images: no column names them; the votes on a prompt and a model are on one image "
            "(--column image=COLUMN)",
        ]
    return columns


def _read_file(path: Path, options: BuildOptions) -> Columns:
    needed = ["image"] if options.images else ["prompt_id" if options.prompts else "prompt"]
    extra = ("prompt", "image", "model", "control", "seconds", "deviation", *COLUMNS)
    optional = [role for role in extra if role not in needed]
    if options.annotators or options.models:
        columns = _read_wide(path, needed, optional, options)
    else:
        how = options.reading("judgments")
        if "score" in how["named"]:
            how["named"]["label"] = how["named"].pop("score")
        columns = read_columns(
            path,
            [*needed, "label"],
            ["annotator", *optional],
            blank=["label"],
            nested="label",
            **how,
        )
        _name_places(columns, options)
    if options.model is not None:
        columns["model"] = Coded(np.zeros(columns.rows, np.int32), [options.model])
    if options.model_pattern is not None:
        columns["model"] = _models_by_name(columns, options)
    return columns


def _models_by_name(columns: Columns, options: BuildOptions) -> Coded:
    """Return the model that the name of each row's image tells."""
    if "image" not in columns:
        raise OptionError(
            f"--model-pattern: {columns.places.name} has no column of images, whose names it is "
            "about; name it by --column image=COLUMN"
        )
    image = columns["image"]
    names: dict[str, int] = {}
    places = np.empty(len(image.names), np.int32)
    for position, text in enumerate(image.names):
        model = options.model_of(text)
        if not model and (image.codes == position).any():
            columns.refuse(
                "image",
                position,
                f"which --model-pattern {options.model_pattern} "
                "finds no model in; widen it, or correct the name",
            )
        places[position] = names.setdefault(model or "", len(names))
    return Coded(places[image.codes], list(names))


def _name_places(columns: Columns, options: BuildOptions) -> None:
    """Say what the keys and places of lists of votes are: models and annotators."""
    keys, places = columns.pop(KEY, None), columns.pop(PLACE, None)
    if keys is not None and any(keys.names):
        is_free = {"model": options.model is None, "annotator": True}
        role = next((r for r, free in is_free.items() if free and r not in columns), None)
        if role is None:
            row = int(np.argmax(keys.codes == next(n for n, k in enumerate(keys.names) if k)))
            raise DataFileError(
                f"{columns.places.of(row)}: {columns.said('label')} is an object, whose keys would "
                "be models or annotators, and both have a column; give each value its own row"
            )
        columns[role] = keys
    if places is not None and any(places.names) and "annotator" not in columns:
        names = [str(int(name) + 1) if name else "1" for name in places.names]
        columns["annotator"] = Coded(places.codes, names)
        columns.notes = [
            f"annotators: the places {', '.join(sorted(names))} in the lists of "
            f"{columns.said('label')}, each taken as one person"
        ]


def _read_wide(
    path: Path, needed: Sequence[str], optional: Sequence[str], options: BuildOptions
) -> Columns:
    """Read a file with a column an annotator, or a model; each becomes rows of its own."""
    role = "annotator" if options.annotators else "model"
    names = list(options.annotators or options.models)
    how = options.reading("judgments")
    if {role, "label", "score"} & how["named"].keys():
        raise OptionError(
            f"--{role}s names the columns that hold the votes; leave --column {role}=..., "
            "label=... and score=... out"
        )
    if len(set(names)) < len(names):
        raise OptionError(f"--{role}s {','.join(names)}: a column stands twice")
    also = ["annotator"] if role == "model" else []
    optional = [one for one in (*also, *optional) if one != role]
    wide = read_columns(path, [*needed, *names], optional, blank=names, **how)
    parts = [wide.pop(name) for name in names]
    each = np.repeat(np.arange(wide.rows), len(names))
    long = Columns({role: column.at(each) for role, column in wide.items()})
    long["label"] = _side_by_side(parts)
    long[role] = Coded(np.tile(np.arange(len(names), dtype=np.int32), wide.rows), names)
    long.named, long.wide = wide.named, names
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
    is_ready = "score" in options.called("judgments")
    scale, said = _scale_of(columns, options)
    value, notes = label_values(columns, "label", scale, options.blank)
    kept = np.flatnonzero(~np.isnan(value))
    if not len(kept):
        raise DataFileError(f"{columns.places.name}: no vote is left ({'; '.join(notes)})")
    texts = Coded(number, [text for _, text in prompts.keys])
    items = (texts, columns["model"], columns["image"])
    known = "annotator" in columns
    if known:
        who = (*items, columns["annotator"])
        kept, value, said_of = once(
            columns.places, "this judgment", who, kept, value, options.repeats
        )
        notes += said_of
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
        seconds=optional_numbers(columns, "seconds", kept),
        row=kept,
        places=columns.places,
        prompts=prompts,
        model_names=columns["model"].names,
        image_names=columns["image"].names,
        annotator_names=columns["annotator"].names if known else [],
        has_annotators=known,
        scale=scale,
        is_ready=is_ready,
        deviation=optional_numbers(columns, "deviation", kept),
    )
    _refuse_two_roles(votes)
    return votes, [said, *columns.notes, *notes, *_who(votes, options)]


def _scale_of(columns: Columns, options: BuildOptions) -> tuple[Scale, str]:
    """Return the scale of the labels, and how it is known."""
    marks = frozenset(map(key_of, options.missing))
    if options.labels:
        scale = scale_of_map(options.labels)
        said = f"labels: as {options.labels} maps them"
    elif options.scale:
        scale = named_scale(options.scale)
        said = f"labels: on the scale {scale.name}"
    elif "score" in options.called("judgments"):
        raise OptionError(
            "--column score=...: ready scores came, whose range no file tells; give --scale "
            "LOW..HIGH, like 0..5"
        )
    else:
        used = np.unique(columns["label"].codes)
        labels = [columns["label"].names[code] for code in used]
        labels = [one for one in labels if key_of(one) not in {"", *marks}]
        scale = guessed_scale(columns.places.name, labels, partial(_row_of, columns))
        shown = ", ".join(sorted({one.strip() for one in labels})[:8])
        said = f"labels: read as {scale.name}, which alone has {shown}; --scale says otherwise"
    if "score" in options.called("judgments"):  # means of labels are numbers between them
        scale = replace(scale, numbers="any", words={})
    return replace(scale, missing=scale.missing | marks), said


def _row_of(columns: Columns, label: str) -> str:
    """Say where the first of some label stands."""
    column = columns["label"]
    row = int(np.argmax(column.codes == column.names.index(label)))
    return f"{columns.places.of(row)}: {columns.said('label', row)} is {label!r:.60}"


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
    if votes.is_ready:
        return [
            "scores: ready ones of images, not votes; who voted, how far annotators agree and whom "
            "to trust cannot be checked"
        ]
    if not votes.has_annotators:
        return [
            "no annotators came: whether anyone voted twice, how far annotators agree and whom to "
            "trust cannot be checked (--column annotator=COLUMN names them)"
        ]
    if options.annotators:
        # Not by name: what is said here stands in the report, too.
        return [f"annotators: {len(votes.annotator_names)} columns, each taken as one person"]
    if len(np.unique(votes.annotator)) == 1:
        return ["one annotator only: agreement with others cannot be checked"]
    return []
