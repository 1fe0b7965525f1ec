"""Conditions: what must hold of an image for a task to be done, one by one."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = {"shows": "clip", "lacks": "clip", "counts": "detector"}
"""Each kind, and the eye that it needs."""


@dataclass(frozen=True)
class Condition:
    """One thing that must hold.

    Attributes:
        kind: One of `KINDS`: the image shows an object, lacks it, or has so many of it.
        name: Of the object.
        beside: Other objects of the prompt, which are no rivals of this one.
        count: How many, of `counts`.

    Example:
        >>> KINDS[Condition("counts", "cat", count=3).kind]
        'detector'
    """

    kind: str
    name: str
    beside: tuple[str, ...] = ()
    count: int = 0
