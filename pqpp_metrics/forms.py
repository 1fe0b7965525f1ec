"""The forms of metrics' inputs, which evaluate's cache files need.

A form maps each input to the type of one entry: a number, a text, a list of numbers, a label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np


class Entry(NamedTuple):
    """The type of an entry: the type of its values, and the number of nested lists around them.

    `kind` is "number", "text" or "label" (labels include ids: text or integers).
    """

    kind: str
    depth: int = 0


Form: TypeAlias = Mapping[str, Entry]
"""Maps the name of each input to the type of one entry."""

_NUMBER, _TEXT = Entry("number"), Entry("text")
_NUMBERS, _TABLE, _LABEL = Entry("number", 1), Entry("number", 2), Entry("label")

# Each is a tuple of alternatives, of which evaluate uses the first that fits: text before numbers.
# The last one has the required inputs; evaluate's batches need those of the first.
PAIRS = ({"predictions": _NUMBER, "references": _NUMBER},)
RANKINGS = ({"predictions": _NUMBERS, "references": _NUMBERS},)
MAPS = ({"predictions": _TABLE, "references": _TABLE},)
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
LABELS_BY_PROMPT = ({"labels": _NUMBERS, "prompt_ids": _LABEL},)
MATCHES = tuple({"matches": _NUMBER, "groups": Entry("label", depth)} for depth in (1, 0))
MATCHES += ({"matches": _NUMBER},)
MARKED_KEYWORDS = (*TEXT_PAIRS, *RANKINGS)
RATINGS = ({"ratings": Entry("label", 1)},)
CATEGORIES = ({"predictions": _LABEL, "references": _LABEL},)


def map_labels(convert: Callable[[Any], Any], values: Any) -> Any:
    """Convert each label of nested lists, such as to JSON text, which Arrow stores for any type.

    Example:
        >>> map_labels(str, [["a"], [1]])
        [['a'], ['1']]
    """
    if isinstance(values, list):
        return [map_labels(convert, value) for value in values]
    return convert(values)


def to_plain(value: Any) -> Any:
    """Convert numpy values, also within lists and dicts, to plain Python ones.

    Example:
        >>> to_plain({"scores": np.array([0.5]), "n": np.int64(1)})
        {'scores': [0.5], 'n': 1}
    """
    if isinstance(value, Mapping):
        return {key: to_plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
