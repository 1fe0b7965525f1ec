"""One spelling of a prompt, so that how it is typed never changes what is predicted.

A checkpoint's configuration names its normaliser; a text predictor normalises in training and in
prediction by the same one. A checkpoint of an older release names none and reads prompts as typed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from pqpp_models.errors import CheckpointError

KEY = "normaliser"
"""What a checkpoint's configuration calls it."""

MOST_CHARACTERS = 2000
_ENDING = " \t.,;:!?…"


def normalise(prompt: str) -> str:
    r"""Return a prompt in one spelling, so that how it is typed changes nothing.

    Compatibility forms of Unicode become one (NFKC), capitals small letters; blanks and line breaks
    become one blank each; blanks and marks at the end (``.,;:!?``) and blanks at the beginning go.
    Only the first 2,000 characters count.

    >>> normalise("  A RED  cat. "), normalise("Cafe\u0301!")
    ('a red cat', 'café')
    """
    text = unicodedata.normalize("NFKC", prompt).casefold()
    text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return " ".join(text.split())[:MOST_CHARACTERS].rstrip(_ENDING)


def as_typed(prompt: str) -> str:
    """Return a prompt as it is: what checkpoints without a normaliser do.

    >>> as_typed("A cat.")
    'A cat.'
    """
    return prompt


NORMALISERS: Mapping[str, Callable[[str], str]] = {
    "as_typed": as_typed,
    "case_blanks_ending": normalise,
}
"""The normalisers by the name that a configuration has."""

CURRENT = "case_blanks_ending"
"""The one of predictors that are trained from now on."""


def read_normaliser(folder: Any, config: Mapping[str, Any]) -> str:
    """Return the name of a checkpoint's normaliser.

    Raises:
        CheckpointError: it names one that is not known here.

    >>> read_normaliser("mine", {}), read_normaliser("mine", {"normaliser": "case_blanks_ending"})
    ('as_typed', 'case_blanks_ending')
    """
    name = config.get(KEY, "as_typed")
    if not isinstance(name, str) or name not in NORMALISERS:
        raise CheckpointError(
            f"{folder}: {KEY!r} is {name!r:.60}, not one of {', '.join(NORMALISERS)}; update pqpp, "
            "or save or download the predictor again"
        )
    return name
