"""Rows that hold more than a prompt."""

from typing import Any

IMAGE_COLUMNS = (("prompt",), ("<model>_images", "images"))
"""What a row must hold, of each group at least one column."""


def read_mappings(rows: Any) -> list[Any]:
    """Return rows with more than a prompt as a list; images of a dataset stay undecoded.

    Example:
        >>> read_mappings([{"prompt": "a cat", "images": []}])
        [{'prompt': 'a cat', 'images': []}]
    """
    if hasattr(rows, "cast_column") and hasattr(rows, "features"):
        rows = undecoded(rows)
    return list(rows)


def undecoded(table: Any) -> Any:
    """Return a `datasets.Dataset` whose images are read when they are needed, not before."""
    from datasets import Image

    for name, feature in table.features.items():
        if isinstance(feature, Image):
            table = table.cast_column(name, Image(decode=False))
        elif isinstance(getattr(feature, "feature", None), Image):
            table = table.cast_column(name, type(feature)(Image(decode=False)))
    return table
