"""How the Hub names repositories."""

from __future__ import annotations

import re


def is_repository_id(name: str) -> bool:
    """Tell whether a name has the form `OWNER/REPOSITORY`.

    Args:
        name: Any text.

    Example:
        >>> is_repository_id("someone/pqpp-static"), is_repository_id("static")
        (True, False)
    """
    part = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
    return re.fullmatch(f"{part}/{part}", name) is not None
