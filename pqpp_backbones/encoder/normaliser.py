"""What a text predictor reads of a prompt, so that how it is typed never changes what is predicted.

A checkpoint's configuration names its normaliser; a text predictor normalises in training and in
prediction by the same one. A checkpoint of an older release names none and reads prompts as typed.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pqpp_backbones.errors import ModelError
from pqpp_backbones.prompt.reader import read_prompt
from pqpp_datasets.prompt_text import normalise

KEY = "normaliser"
"""What a checkpoint's configuration calls it."""


def content(prompt: str) -> str:
    """Return what a prompt shows, without syntax and tails, in one spelling.

    >>> content("A (RED:1.2) cat, 4k --ar 16:9")
    'a red cat'
    """
    return read_prompt(prompt).text


NORMALISERS: Mapping[str, Callable[[str], str]] = {
    "as_typed": str,
    "case_blanks_ending": normalise,
    "content": content,
}
"""The normalisers by the name that a configuration has."""

CURRENT = "content"
"""The one of predictors that are trained from now on."""


def read_normaliser(folder: Any, config: Mapping[str, Any]) -> str:
    """Return the name of a checkpoint's normaliser.

    Raises:
        ModelError: it names one that is not known here.

    >>> read_normaliser("mine", {}), read_normaliser("mine", {"normaliser": "case_blanks_ending"})
    ('as_typed', 'case_blanks_ending')
    """
    name = config.get(KEY, "as_typed")
    if not isinstance(name, str) or name not in NORMALISERS:
        raise ModelError(
            f"{folder}: {KEY!r} is {name!r:.60}, not one of {', '.join(NORMALISERS)}; update pqpp, "
            "or save or download the predictor again"
        )
    return name
