"""ImageReward: rankings of a prompt's `generations`, or the ratings of ImageRewardDB.

`ranking` has a rank for each generation, 1 for the best, ties allowed. ImageRewardDB has a row an
image with three ratings from 1 to 7, of which `overall_rating` is read unless another one is named.
No file names the models: `--model-name`, or `--model-pattern` of the images' names, does.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.flat_rows import FlatRows
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_files.table_formats.table_format import ROW

_RATINGS = {"prompt": "prompt", "image": "image_path", "label": "overall_rating"}
_RANKS = {"image": "image", "rank": "rank"}


def imagereward(records: Iterable[Mapping[str, Any]], options: BuildOptions, path: str) -> FlatRows:
    """Return a row a ranked image, or a rated one."""
    records = list(records)
    if not any("generations" in record for record in records):
        rows = [{**record, ROW: place} for place, record in enumerate(records)]
        return FlatRows("judgments", _RATINGS, rows, scale="1..7")
    return FlatRows("rankings", _RANKS, _ranked(records, path))


def _ranked(records: Iterable[Mapping[str, Any]], path: str) -> Iterator[dict[str, Any]]:
    for place, record in enumerate(records):
        images, ranks = record.get("generations") or [], record.get("ranking") or []
        if len(images) != len(ranks):
            raise DataFileError(
                f"{path}, record {place + 1}: {len(images)} generations and {len(ranks)} ranks; "
                "each generation needs a rank"
            )
        for image, rank in zip(images, ranks, strict=True):
            yield {**record, "image": image, "rank": rank, ROW: place}
