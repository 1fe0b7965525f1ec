"""Rows that hold more than a prompt."""

from typing import Any

from pqpp_models.errors import PredictorError
from pqpp_models.prompts import is_iterable

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
    if isinstance(rows, str | bytes | dict) or not is_iterable(rows):
        raise PredictorError(
            f"`rows` is a {type(rows).__name__}; give a list of rows, mappings, or a dataset"
        )
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
