"""The forms of metrics' inputs, which evaluate's cache files need.

A form maps each input to the type of one entry: a number, a text, a list of numbers, a label.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pqpp_files.foreign.json_values import parse_json


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


def labels_to_json(values: Any) -> Any:
    """Return nested labels as JSON text, which Arrow stores whatever their types.

    Example:
        >>> labels_to_json([["a"], [1]])
        [['"a"'], ['1']]
    """
    if isinstance(values, list):
        return [labels_to_json(value) for value in values]
    return json.dumps(values)


def labels_from_json(values: Any) -> Any:
    """Return the labels that `labels_to_json` converted to text.

    Example:
        >>> labels_from_json([['"a"'], ['1']])
        [['a'], [1]]
    """
    if isinstance(values, list):
        return [labels_from_json(value) for value in values]
    return parse_json(values)


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
