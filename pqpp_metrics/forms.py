"""The forms that inputs of metrics have, and what is given brought into one of them.

A form says of each input what one entry of it is: a number, a text, a list of numbers, a label.
Whatever container holds the values (see `functional._containers`), numbers become float64 arrays,
or lists of them where lengths differ, and labels stay what they are.
"""

from __future__ import annotations

import json
import reprlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pqpp_files.foreign.json_values import parse_json
from pqpp_metrics.errors import InputFormError, MetricInputError
from pqpp_metrics.functional._categories import (
    Encoded,
    as_labels,
    group_codes,
    kind_of,
    label_array,
    text_codes,
)
from pqpp_metrics.functional._containers import Values, to_numpy, unwrapped
from pqpp_metrics.functional._inputs import as_floats, require_as_many


class Entry(NamedTuple):
    """One entry of an input: a kind of value, and how many lists stand around it.

    Kinds are "number", "text", "label", "id" (text, integers or UUIDs) and "group" (a label, where
    each column of a list may have its own kind).
    """

    kind: str
    depth: int = 0

    def __str__(self):
        """In words: "text", "list of numbers"."""
        # Whether they group rows or are what raters said, to a person they are labels.
        kind = "label" if self.is_label else self.kind
        plural = kind if kind == "text" or not self.depth else kind + "s"
        return "list of " * bool(self.depth) + "lists of " * (self.depth - 1) + plural

    @property
    def is_label(self) -> bool:
        """Whether values must keep their type."""
        return self.kind not in ("number", "text")


Form: TypeAlias = Mapping[str, Entry]
"""Input to what one entry of it is."""


class _Misfit(Exception):
    """Values are nested otherwise; it carries the first part that shows it."""


_NUMBER, _TEXT = Entry("number"), Entry("text")
_NUMBERS, _TABLE, _LABEL = Entry("number", 1), Entry("number", 2), Entry("label")

# Each a tuple of alternatives. The first that fits is taken: text before numbers.
PAIRS = ({"predictions": _NUMBER, "references": _NUMBER},)
RANKINGS = ({"predictions": _NUMBERS, "references": _NUMBERS},)
MAPS = ({"predictions": _TABLE, "references": _TABLE},)
VECTORS = RANKINGS
TEXT_PAIRS = ({"predictions": _TEXT, "references": _TEXT},)
PREFERENCES = ({"predictions": _NUMBERS, "references": _NUMBER},)
TWO_PREDICTORS = ({"predictions": _NUMBER, "other_predictions": _NUMBER, "references": _NUMBER},)
SEEDS = ({"predictions": _NUMBERS, "other_predictions": _NUMBERS, "references": _NUMBER},)
TWO_GROUPS = ({"x": _NUMBERS, "y": _NUMBERS},)
P_VALUES = ({"p_values": _NUMBER},)
VOTES = ({"votes": _NUMBERS},)
NUMERIC_RATINGS = ({"ratings": _NUMBERS},)
FEEDBACK = ({"scores": _TABLE, "keyword_labels": _TABLE, "points": Entry("number", 3)},)
_WEIGHTS = dict.fromkeys(("levels", "question_weights", "level_weights"), _NUMBERS)
QUESTIONNAIRES = ({"positive": _TABLE, "negative": _TABLE} | _WEIGHTS,)
SCENES = ({"coverage": _NUMBER, "consistency": _NUMBER},)
OVERLAPS = ({"overlap_depths": _TABLE, "outside_depths": _TABLE, "confidences": _TABLE},)
SUB_SCORES = ({"scores": _NUMBERS},)
LABELS_BY_PROMPT = ({"labels": _NUMBERS, "prompt_ids": Entry("id")},)
MATCHES = tuple({"matches": _NUMBER, "groups": Entry("group", depth)} for depth in (1, 0))
MARKED_KEYWORDS = (*TEXT_PAIRS, *RANKINGS)
RATINGS = ({"ratings": Entry("label", 1)},)
CATEGORIES = ({"predictions": _LABEL, "references": _LABEL},)


def columns_of(
    batch: Mapping[str, Any], alternatives: Sequence[Form], item: str = "item"
) -> tuple[dict[str, Any], Form]:
    """Return inputs in the first form that they have, input to column, and that form.

    Args:
        batch: Input to what holds its entries; None for one that was not given.
        alternatives: Forms, all with the same inputs.
        item: What an entry stands for, for the messages.

    Raises:
        MetricInputError: an input is missing or empty, lengths differ, text stands for numbers.
        InputFormError: entries are nested otherwise, or the inputs do not go together.

    Example:
        >>> columns, form = columns_of({"predictions": [1, 2], "references": [2, 1]}, PAIRS)
        >>> columns["predictions"].tolist(), str(form["predictions"])
        ([1.0, 2.0], 'number')
    """
    readings: dict[str, dict[Entry, Any]] = {}
    for name in alternatives[0]:
        if batch.get(name) is None:
            raise MetricInputError(f"`{name}` is missing; give {' and '.join(alternatives[0])}")
        entries = list(dict.fromkeys(form[name] for form in alternatives))
        ids = text_codes(batch[name]) if entries[0].kind == "id" else None
        if ids is not None:  # encoded once, wherever they stand
            readings[name] = {entries[0]: ids}
        else:
            readings[name] = _readings(name, unwrapped(name, batch[name]), entries, item)
    columns = {name: next(iter(reading.values())) for name, reading in readings.items()}
    require_as_many("as many of each", **columns)
    for form in alternatives:
        if all(entry in readings[name] for name, entry in form.items()):
            columns = {name: readings[name][entry] for name, entry in form.items()}
            _require_one_kind({n: c for n, c in columns.items() if form[n].kind == "label"})
            return columns, form
    described = ", or ".join(
        " and ".join(f"a {entry} for `{name}`" for name, entry in form.items())
        for form in alternatives
    )
    raise InputFormError(f"the inputs are of different forms; give {described}")


def _require_one_kind(labels):
    """Raise where labels that are compared with each other are of different kinds."""
    kinds = {name: kind_of(column) for name, column in labels.items()}
    if len(set(kinds.values())) > 1:
        came = " and ".join(f"`{name}` holds {kind}" for name, kind in kinds.items())
        raise InputFormError(f"{came}; give both the same way")


def _readings(name, values, entries, item):
    """Read values as each entry that they may be; raise where they are none."""
    if not (isinstance(values, (list, tuple)) or getattr(values, "ndim", 0)):
        _refuse_form(name, values, entries, item)
    if not len(values):
        raise MetricInputError(f"`{name}` is empty; nothing to score")
    read, misfits, faults = {}, [], []
    for entry in entries:
        try:
            read[entry] = _READ[entry.kind](name, values, entry.depth + 1)
        except _Misfit as misfit:
            misfits.append(misfit.args[0])
        except MetricInputError as fault:
            faults.append(fault)
    if read:
        return read
    if faults and (not misfits or len({entry.kind for entry in entries}) == 1):
        raise faults[0]  # the nesting is right: what is wrong is another thing
    _refuse_form(name, misfits[0], entries, item)


def _refuse_form(name, misfit, entries, item):
    came = misfit.tolist() if hasattr(misfit, "tolist") else misfit
    examples = " or ".join(f"{name}=[{'[' * e.depth}...{']' * e.depth}, ...]" for e in entries)
    raise InputFormError(
        f"`{name}` holds {' '.join(reprlib.repr(came).split())}; give a "
        f"{' or a '.join(map(str, entries))} for each {item}: {examples}"
    )


def _numbers(name, values, ndim):
    """A float64 array, or a list of those of one dimension less where lengths differ."""
    try:
        array = np.asarray(to_numpy(values))
    except ValueError:
        if ndim == 1:
            raise _Misfit(next(part for part in values if hasattr(part, "__len__"))) from None
        return [_numbers(name, unwrapped(name, part), ndim - 1) for part in values]
    if array.size == 0 and array.ndim <= ndim:
        return np.empty(array.shape + (0,) * (ndim - array.ndim))
    _require_depth(array, ndim)
    return as_floats(name, array, ndim, finite=False)


def _require_depth(array, ndim):
    if array.ndim != ndim:
        raise _Misfit(array[0] if array.ndim else array[()])


def _texts(name, values, ndim):
    """A list of strings."""
    texts = values.tolist() if hasattr(values, "tolist") else list(values)
    if all(isinstance(text, str) for text in texts):
        return texts
    for text in texts:
        if isinstance(text, (list, tuple, np.ndarray)):
            raise _Misfit(text)
    kinds = ", ".join(sorted({type(text).__name__ for text in texts}))
    raise MetricInputError(f"`{name}` holds {kinds}; it must hold text")


def _labels(name, values, ndim):
    """An array of labels, all of one kind."""
    array = label_array(name, values)
    _require_depth(array, ndim)
    return as_labels(name, array)


def _ids(name, values, ndim):
    """Text, integers or UUIDs, encoded."""
    return group_codes(name, values)


def _groups(name, values, ndim):
    """An array of labels, each column of one kind."""
    array = label_array(name, values)
    _require_depth(array, ndim)
    for column in array.T if ndim == 2 else [array]:
        as_labels(name, column)
    return array


_READ = {"number": _numbers, "text": _texts, "label": _labels, "id": _ids, "group": _groups}


def kinds_of(name: str, column: Values) -> list[str]:
    """What a column of labels holds, for each list's place its own kind.

    Example:
        >>> kinds_of("ratings", [["a", 1], ["b", 2]])
        ['text', 'numbers']
    """
    table = label_array(name, column)
    table = table[:, None] if table.ndim == 1 else table
    return [kind_of(as_labels(name, part)) for part in table.T]


def as_json(values: Any) -> Any:
    """Nested labels as text that tells their types, in which Arrow keeps all of them alike.

    Example:
        >>> as_json([["a"], [1]])
        [['"a"'], ['1']]
    """
    values = np.asarray(values) if isinstance(values, Encoded) else values
    values = values.tolist() if isinstance(values, (np.ndarray, np.generic)) else values
    if isinstance(values, (list, tuple)):
        return [as_json(value) for value in values]
    return json.dumps(values, default=lambda label: {"uuid": label.hex})


def from_json(values: Any) -> Any:
    """The labels that `as_json` made text of.

    Example:
        >>> from_json([['"a"'], ['1']])
        [['a'], [1]]
    """
    if isinstance(values, list):
        return [from_json(value) for value in values]
    return parse_json(values, object_hook=lambda label: uuid.UUID(label["uuid"]))


def plain(value: Any) -> Any:
    """Numpy values, also within lists and dicts, as plain Python ones.

    Example:
        >>> plain({"scores": np.array([0.5]), "n": np.int64(1)})
        {'scores': [0.5], 'n': 1}
    """
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
