"""Human Preference Dataset, versions 1 to 3.

Version 1 has several images and the place of the one that was chosen, version 2 a 1 for each that
is preferred, or a rank for each, 1 for the best; version 3 two images, the better one first, with
their models and how many people chose each (`choice_dist`). Versions 1 and 2 name no models:
`--model-pattern` of the images' names does.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.flat_rows import FlatRows
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_files.table_formats.table_format import ROW

_IMAGES = ("image_path", "file_path", "image_paths")
_OF_PAIRS = {"annotator": "user_hash"}
_OF_VERSION_3 = {"image_a": "path1", "image_b": "path2", "model_a": "model1", "model_b": "model2"}


def hpd(records: Iterable[Mapping[str, Any]], options: BuildOptions, path: str) -> FlatRows:
    """Return a row a choice, or a ranked image."""
    records = list(records)
    names = {name for record in records for name in record}
    if "path1" in names:
        return FlatRows("preferences", _OF_VERSION_3, _counted(records))
    if "human_preference" in names:
        return FlatRows("preferences", _OF_PAIRS, _pairs(records, path))
    if "rank" in names:
        return FlatRows("rankings", {"annotator": "user_hash"}, _ranked(records, path))
    raise DataFileError(
        f"{path}: no column human_preference, rank or path1; give a file of HPD as it is published"
    )


def _images(record: Mapping[str, Any], values: list[Any], place: int, path: str) -> list[str]:
    images: list[str] = next((record[n] for n in _IMAGES if record.get(n)), [])
    if len(images) != len(values):
        raise DataFileError(
            f"{path}, record {place + 1}: {len(images)} images and {len(values)} judgments of "
            "them; each image needs one"
        )
    return images


def _pairs(records: Iterable[Mapping[str, Any]], path: str) -> Iterator[dict[str, Any]]:
    for place, record in enumerate(records):
        chosen = record["human_preference"]
        if not isinstance(chosen, list):  # the place of the chosen one
            count = len(next((record[name] for name in _IMAGES if record.get(name)), []))
            chosen = [int(n == int(chosen)) for n in range(count)]
        images = _images(record, chosen, place, path)
        wins = [int(value) for value in chosen]
        for n, image in enumerate(images):
            for m in range(n + 1, len(images)):
                # Of several, what was not chosen was not compared with one another.
                if wins[n] != wins[m] or len(images) == 2:
                    word = "tie" if wins[n] == wins[m] else "a" if wins[n] > wins[m] else "b"
                    both = {"image_a": image, "image_b": images[m], "choice": word}
                    yield {**record, **both, ROW: place}


def _ranked(records: Iterable[Mapping[str, Any]], path: str) -> Iterator[dict[str, Any]]:
    for place, record in enumerate(records):
        ranks = record["rank"]
        for image, rank in zip(_images(record, ranks, place, path), ranks, strict=True):
            yield {**record, "image": image, "rank": rank, ROW: place}


def _counted(records: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for place, record in enumerate(records):
        counts = record.get("choice_dist") or [1, 0]
        for word, count in zip("ab", counts, strict=False):
            yield from [{**record, "choice": word, ROW: place}] * int(count)
