"""A list in a cell of a table, however it was written there."""

import re
from typing import Any

_WRITTEN = re.compile(r"\s*(?:array\()?\[(.*)\](?:,\s*dtype=\w+\))?\s*", re.DOTALL)
_ITEM = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,'"\]]+)""")


def listed(value: Any, between: str = ";|") -> list[str]:
    r"""Return a list, or a text that holds one, as a list of texts.

    Args:
        value: A list; a list as Python, JSON or numpy write it, which is what `datasets` and
            `pandas` put into a CSV; a text with marks between its parts; or None.
        between: Those marks.

    Example:
        >>> listed("a cat wakes; a cat eats"), listed(["one"]), listed(None)
        (['a cat wakes', 'a cat eats'], ['one'], [])
        >>> listed("['guitar' 'bat']"), listed('["pear", "apple"]'), listed("cup, cow", ",")
        (['guitar', 'bat'], ['pear', 'apple'], ['cup', 'cow'])
    """
    if value is None:
        return []
    parts = value
    if isinstance(value, str):
        written = _WRITTEN.fullmatch(value)
        items = _ITEM.finditer(written[1]) if written else ()
        parts = [re.sub(r"\\(.)", r"\1", next(filter(None, item.groups()), "")) for item in items]
        parts = parts if written else re.split(f"[{re.escape(between)}]", value)
    return [str(part).strip() for part in parts if str(part).strip()]
