"""The parameters that VISTAR's paper leaves open, read from `vistar_choices.yaml`."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.errors import FeedbackError
from pqpp_files.extras import require_extra
from pqpp_files.foreign.yaml_values import read_yaml

FILE = Path(__file__).with_name("vistar_choices.yaml")


@functools.cache
def load_params(section: str) -> Mapping[str, Any]:
    """Return the parameters of a score by name.

    Args:
        section: A section of `vistar_choices.yaml`, such as `text_rendering`.

    Example:
        >>> load_params("text_rendering")["character_weight"]
        0.5
    """
    with require_extra("VISTAR's scores", "assess"):
        entries = read_yaml(FILE)[section]
    return {name: entry["value"] for name, entry in entries.items()}


def get_param(picture: Picture, name: str) -> Any:
    """Return the value of a prompt's column or control parameter; None if it has neither of them.

    Example:
        >>> from pathlib import Path
        >>> parameters = {"key": ["font"], "value": ["Futura"]}
        >>> get_param(Picture(Path("a.png"), "A sign", about={"parameters": parameters}), "font")
        'Futura'
    """
    value = picture.about.get(name)
    if value is not None:
        return value
    pairs = picture.about.get("parameters") or {}
    if not isinstance(pairs, Mapping):
        raise FeedbackError("`parameters` must be a mapping; use Parquet or JSON Lines to store it")
    return dict(zip(pairs.get("key", ()), pairs.get("value", ()), strict=False)).get(name)
