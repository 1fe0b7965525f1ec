"""What a prompt tells a score: its columns and control parameters."""

import re
from typing import Any

from pqpp_feedback.assess.pictures import Picture


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
    values = dict(zip(pairs.get("key", ()), pairs.get("value", ()), strict=False))
    return values.get(name)


def listed(value: Any) -> list[str]:
    """Return a list, or a text with bars or semicolons between its parts, as a list of texts.

    Example:
        >>> listed("a cat wakes; a cat eats"), listed(["one"]), listed(None)
        (['a cat wakes', 'a cat eats'], ['one'], [])
    """
    if value is None:
        return []
    parts = re.split(r"[;|]", value) if isinstance(value, str) else value
    return [str(part).strip() for part in parts if str(part).strip()]
