"""The forms that inputs of metrics have, and the check that an input has one of them.

A form says of each input what one entry of it is: a number, a text, a list of numbers. Checked
here is what evaluate would say little about, or turn into something else ("0.5" into 0.5).
"""

import itertools
import numbers
import reprlib
from typing import NamedTuple

import numpy as np

from pqpp_metrics.errors import InputFormError, MetricInputError

# What stands for "no misfit", and what each kind of value may be given as.
_NONE = object()
_ALLOWED = {"text": {"text"}, "whole number": {"whole"}, "number": {"whole", "fraction"}}
_AS = {"text": str, "whole number": int, "number": float}
_ARRAYS = {"text": "", "whole number": "iu", "number": "iuf"}


class Entry(NamedTuple):
    """One entry of an input: a kind of value, and how many lists stand around it."""

    kind: str
    depth: int = 0

    def __str__(self):
        """In words: "text", "list of numbers"."""
        plural = self.kind if self.kind == "text" or not self.depth else self.kind + "s"
        return "list of " * bool(self.depth) + "lists of " * (self.depth - 1) + plural


_NUMBER, _TEXT = Entry("number"), Entry("text")
_NUMBERS, _TABLE, _TEXTS = Entry("number", 1), Entry("number", 2), Entry("text", 1)

# Each a tuple of alternatives. The first that fits is taken: text before numbers.
PAIRS = ({"predictions": _NUMBER, "references": _NUMBER},)
RANKINGS = ({"predictions": _NUMBERS, "references": _NUMBERS},)
MAPS = ({"predictions": _TABLE, "references": _TABLE},)
VECTORS = RANKINGS
TEXTS = ({"predictions": _TEXT, "references": _TEXT},)
PREFERENCES = ({"predictions": _NUMBERS, "references": _NUMBER},)
TWO_PREDICTORS = ({"predictions": _NUMBER, "other_predictions": _NUMBER, "references": _NUMBER},)
TWO_GROUPS = ({"x": _NUMBERS, "y": _NUMBERS},)
P_VALUES = ({"p_values": _NUMBER},)
VOTES = ({"votes": _NUMBERS},)
NUMERIC_RATINGS = ({"ratings": _NUMBERS},)
FEEDBACK = ({"scores": _TABLE, "keyword_labels": _TABLE, "points": Entry("number", 3)},)
QUESTIONNAIRES = (
    {
        "positive": _TABLE,
        "negative": _TABLE,
        "levels": _NUMBERS,
        "question_weights": _NUMBERS,
        "level_weights": _NUMBERS,
    },
)
SCENES = ({"coverage": _NUMBER, "consistency": _NUMBER},)
OVERLAPS = ({"overlap_depths": _TABLE, "outside_depths": _TABLE, "confidences": _TABLE},)
SUB_SCORES = ({"scores": _NUMBERS},)
LABELS_BY_PROMPT = (
    {"labels": _NUMBERS, "prompt_ids": _TEXT},
    {"labels": _NUMBERS, "prompt_ids": Entry("whole number")},
)
MATCHES = tuple(
    {"matches": _NUMBER, "groups": groups} for groups in (_TEXTS, _NUMBERS, _TEXT, _NUMBER)
)
KEYWORDS = (*TEXTS, *RANKINGS)
RATINGS = ({"ratings": _TEXTS}, *NUMERIC_RATINGS)
CATEGORIES = (*TEXTS, *PAIRS)


def fitting_form(batch, alternatives, item="item"):
    """Return the first form that inputs have.

    Args:
        batch: Input to a sequence of entries; None for one that was not given.
        alternatives: Forms, all with the same inputs.
        item: What an entry stands for, for the messages.

    Raises:
        MetricInputError: an input is missing or empty, lengths differ, text stands for numbers.
        InputFormError: entries are nested otherwise, or the inputs do not go together.
    """
    lengths, depths, kinds = {}, {}, {}
    for name in alternatives[0]:
        column = batch.get(name)
        if column is None:
            raise MetricInputError(f"`{name}` is missing; give {' and '.join(alternatives[0])}")
        entries = list(dict.fromkeys(form[name] for form in alternatives))
        depths[name] = _fitting_depths(name, column, entries, item)
        lengths[name], kinds[name] = len(column), _kinds(column)
        _check_kinds(name, kinds[name], {entry.kind for entry in entries})
    if not all(lengths.values()):
        empty = next(name for name, length in lengths.items() if not length)
        raise MetricInputError(f"`{empty}` is empty; nothing to score")
    if len(set(lengths.values())) > 1:
        came = " and ".join(f"{n} `{name}`" for name, n in lengths.items())
        raise MetricInputError(f"{came} were given; give as many of each")
    for form in alternatives:
        if all(e.depth in depths[n] and kinds[n] <= _ALLOWED[e.kind] for n, e in form.items()):
            return form
    described = ", or ".join(
        " and ".join(f"a {entry} for `{name}`" for name, entry in form.items())
        for form in alternatives
    )
    raise InputFormError(f"the inputs are of different forms; give {described}")


def converted(values, kind):
    """Return nested values as lists of one kind, None staying None, as evaluate hands them on.

    Arrays of numbers stay what they are: to take a million of them apart takes a second.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in _ARRAYS[kind]:
        return values
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        return [converted(value, kind) for value in values]
    return None if values is None else _AS[kind](values)


def _fitting_depths(name, column, entries, item):
    """Return the depths of lists that an input may and does have; raise where there is none."""
    misfits = {e.depth: next(_misfits(column, e.depth + 1), _NONE) for e in entries}
    fitting = {depth for depth, misfit in misfits.items() if misfit is _NONE}
    if fitting:
        return fitting
    came = next(iter(misfits.values()))
    came = reprlib.repr(came.tolist() if hasattr(came, "tolist") else came)
    examples = " or ".join(f"{name}=[{'[' * d}...{']' * d}, ...]" for d in misfits)
    raise InputFormError(
        f"`{name}` holds {' '.join(came.split())}; give a {' or a '.join(map(str, entries))} for "
        f"each {item}: {examples}"
    )


def _check_kinds(name, kinds, allowed):
    """Raise for text where numbers belong, fractions where whole numbers do, and a mixture."""
    if "text" in kinds and "text" not in allowed:
        raise MetricInputError(f"`{name}` holds text; it must hold numbers: convert it")
    if kinds - {"text"} and allowed == {"text"}:
        raise MetricInputError(f"`{name}` holds numbers; it must hold text")
    if "text" in kinds and len(kinds) > 1:
        raise MetricInputError(f"`{name}` mixes text and numbers; give one kind")
    if "fraction" in kinds and "number" not in allowed:
        raise MetricInputError(f"`{name}` holds fractions; give whole numbers or text")


def _misfits(values, depth):
    """The parts of nested sequences that do not stand `depth` lists deep; None fits anywhere."""
    level = [values]
    for left in range(depth, -1, -1):
        one_of = {type(part): part for part in level}
        if left == 0:
            level = list(one_of.values())  # of plain values one of a type is enough
        if left == 0 or not one_of.keys() <= {list, tuple}:
            wrong, level = _sorted_out(level, left)
            yield from wrong
        if left:
            level = list(itertools.chain.from_iterable(level))


def _sorted_out(parts, depth):
    """Which parts are not nested so deep, and which must be looked into to know."""
    wrong, unknown = [], []
    for part in parts:
        dimensions = getattr(part, "ndim", None)
        if part is None:
            continue
        if dimensions is not None and getattr(part.dtype, "kind", "") != "O":
            if dimensions != depth:
                wrong.append(part)
            continue
        is_list = hasattr(part, "__len__") and not isinstance(part, (str, bytes))
        (unknown if is_list == (depth > 0) else wrong).append(part)
    return wrong, unknown


def _kinds(values):
    """What nested sequences hold: of "text", "whole" and "fraction" numbers; None is neither."""
    if isinstance(values, (str, bytes)):
        return {"text"}
    if isinstance(values, numbers.Number):
        return {"whole" if isinstance(values, numbers.Integral) else "fraction"}
    if values is None:
        return set()
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind in "biuf":
        return {"fraction" if kind == "f" else "whole"}
    if type(values).__module__ == "torch":
        return {"fraction" if values.is_floating_point() else "whole"}
    found = set()
    for one_of in {type(value): value for value in values}.values():
        # Sequences may hold anything: look into each; of plain values one of a type is enough.
        nested = not isinstance(one_of, (str, bytes, numbers.Number, type(None)))
        for value in values if nested else [one_of]:
            found |= _kinds(value)
    return found


def plain(value):
    """Numpy values, also within lists and dicts, as plain Python ones."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
