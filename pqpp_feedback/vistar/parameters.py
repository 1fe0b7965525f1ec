"""What a prompt tells a score: its columns and control parameters."""

from collections.abc import Mapping
from typing import Any

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.errors import ImageError


def asked(picture: Picture, name: str) -> Any:
    """Return what a prompt says under a name: a column, or a control parameter of the prompt.

    Example:
        >>> from pathlib import Path
        >>> parameters = {"key": ["font"], "value": ["Futura"]}
        >>> asked(Picture(Path("a.png"), "A sign", about={"parameters": parameters}), "font")
        'Futura'
    """
    given = picture.about.get(name)
    if given is not None:
        return given
    pairs = picture.about.get("parameters") or {}
    if not isinstance(pairs, Mapping):
        raise ImageError("its `parameters` are a text; keep prompts as Parquet or JSON lines")
    values = dict(zip(pairs.get("key", ()), pairs.get("value", ()), strict=False))
    return values.get(name)
