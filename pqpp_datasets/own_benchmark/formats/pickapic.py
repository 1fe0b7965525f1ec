"""Pick-a-Pic: the better of two images, `label_0` being the share of the win of the first.

Rows without a label are left out; the pictures in the columns `jpg_0` and `jpg_1` are not read.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pqpp_datasets.own_benchmark.flat_rows import FlatRows
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_files.table_formats.table_format import ROW

_CALLED = {
    **{"prompt": "caption", "annotator": "user_id", "choice": "label_0"},
    **{"model_a": "model_0", "model_b": "model_1"},
    **{"image_a": "image_0_uid", "image_b": "image_1_uid"},
}
READ_ALONE = (*_CALLED.values(), "has_label")


def pickapic(records: Iterable[Mapping[str, Any]], options: BuildOptions, path: str) -> FlatRows:
    """Return a row a choice."""
    notes: list[str] = []
    return FlatRows("preferences", _CALLED, _labelled(records, notes), notes)


def _labelled(records: Iterable[Mapping[str, Any]], notes: list[str]) -> Iterator[dict[str, Any]]:
    unlabelled = 0
    for place, record in enumerate(records):
        if record.get("has_label") in (False, "false", "False"):
            unlabelled += 1
        else:
            yield {**record, ROW: place}
    if unlabelled:
        notes.append(f"Pick-a-Pic: {unlabelled} rows without a label are left out")
