"""RichHF-18K: generated images with scores, heatmaps of flaws, and labels of the prompt's tokens.

Source: "Rich Human Feedback for Text-to-Image Generation", section 3; files at
github.com/google-research-datasets/richhf-18k.

The records call `plausibility` `artifact_score` and `alignment` `misalignment_score`; all scores
are better when higher. A token's label is 0 if it is misaligned and 1 if it is aligned. A few
records have fewer or more labels than their prompt has tokens: `labels_match` is then false.
Prompts and images are Pick-a-Pic's, joined by uid: the Parquet files of the Hub dataset
`yuvalkirstain/pickapic_v1` (or `..._no_images`), where a row is a prompt `caption` and two images
with `image_0_uid`, `jpg_0`, `image_1_uid`, `jpg_1`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pqpp_datasets.benchmark import load_entry
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.richhf.tfrecord import parse_example, read_records
from pqpp_datasets.tables import file_error
from pqpp_files.errors import FileError, reraise
from pqpp_files.foreign.images import read_header
from pqpp_files.hashes import hash_parts
from pqpp_files.paths import expand, walk_files
from pqpp_files.table_formats import cut_batches

if TYPE_CHECKING:
    from datasets import Features

SPLITS = ("train", "validation", "test")

# Features of the records, by column.
_SCORES = {
    "plausibility": "artifact_score",
    "alignment": "misalignment_score",
    "aesthetics": "aesthetics_score",
    "overall": "overall_score",
}
_MAPS = {"implausibility_map": "artifact_map", "misalignment_map": "misalignment_map"}
_LABELS = "prompt_misalignment_label"
_BATCH_RECORDS = 250
_INSERT = """INSERT INTO images VALUES (?, ?, nullif(?, x''))
ON CONFLICT (uid) DO UPDATE SET image = coalesce(images.image, excluded.image)"""
_UIDS, _IMAGES = ("image_0_uid", "image_1_uid"), ("jpg_0", "jpg_1")


def get_features(options: Mapping[str, object]) -> Features:
    """Return the `datasets.Features`; heatmaps are grey images, brighter if marked more often.

    The option `pickapic_dir` adds `prompt`, `tokens`, `labels_match` and `image`.
    """
    from datasets import Features, Image, Sequence, Value

    features = {
        "uid": Value("string"),
        "filename": Value("string"),
        **{name: Value("float32") for name in _SCORES},
        **{name: Image(mode="L") for name in _MAPS},
        "token_labels": Sequence(Value("int8")),
    }
    if options.get("pickapic_dir"):
        features |= {
            "prompt": Value("string"),
            "tokens": Sequence(Value("string")),
            "labels_match": Value("bool"),
            "image": Image(),
        }
    return Features(features)


def list_files(folder: Path | None, split: str) -> tuple[str, ...]:
    """List the file of a split."""
    return ("dev.tfrecord" if split == "validation" else f"{split}.tfrecord",)


def read(folder: Path, split: str, options: Mapping[str, object]) -> Iterator[pa.Table]:
    """Read a split and yield tables of 250 records.

    The option `pickapic_dir` adds the prompt, its tokens and the image; they are null if the copy
    does not contain the uid.

    Raises:
        BenchmarkError: The file is missing, damaged or of another format.
    """
    path = folder / list_files(folder, split)[0]
    schema = get_features(options).arrow_schema.remove_metadata()
    with contextlib.ExitStack() as stack:
        images = None
        if options.get("pickapic_dir"):
            uids = {parse_row(*record)["uid"] for record in read_records(path)}
            images = read_pickapic_images(str(options["pickapic_dir"]), uids)
            stack.enter_context(contextlib.closing(images))
        rows = (parse_row(*record) for record in read_records(path))
        for batch in cut_batches(rows, _BATCH_RECORDS):
            batch = [row | _find_prompt_image(row, images) for row in batch] if images else batch
            yield pa.Table.from_pylist(batch, schema=schema)


def _find_prompt_image(row: Mapping[str, Any], images: sqlite3.Connection) -> dict:
    from pqpp_metrics.functional.keywords import prompt_tokens

    cursor = images.execute("SELECT prompt, image FROM images WHERE uid = ?", (row["uid"],))
    prompt, image = cursor.fetchone() or (None, None)
    tokens = None if prompt is None else prompt_tokens(prompt)
    return {
        "prompt": prompt,
        "tokens": tokens,
        "labels_match": None if tokens is None else len(tokens) == len(row["token_labels"]),
        "image": None if image is None else {"bytes": image, "path": None},
    }


def parse_row(where: str, record: bytes) -> dict:
    """Convert a record to a row with pqpp's columns.

    Raises:
        BenchmarkError: A feature is missing or invalid.
    """
    try:
        example = parse_example(record)
    except ValueError as error:
        raise file_error(where, f"not a tf.train.Example ({error})") from None
    filename = _get_text(where, example, "filename")
    uid = filename.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    row: dict[str, Any] = {"uid": uid, "filename": filename}
    for name, feature in _SCORES.items():
        score = _get_only_value(where, example, feature, float)
        if not 0 <= score <= 1:
            raise file_error(where, f"{feature} is {score:g}, expected a number from 0 to 1")
        row[name] = score
    for name, feature in _MAPS.items():
        encoded = _get_only_value(where, example, feature, bytes)
        try:
            read_header(encoded)
        except FileError:
            raise file_error(where, f"{feature} is not an image") from None
        row[name] = {"bytes": encoded, "path": None}
    labels = _get_text(where, example, _LABELS).split()
    if invalid := [label for label in labels if label not in ("0", "1")]:
        raise file_error(where, f"{_LABELS} contains {invalid[0]!r:.40}, expected only 0 and 1")
    return row | {"token_labels": [int(label) for label in labels]}


def _get_only_value(where: str, example: Mapping[str, list], name: str, kind: type):
    if name not in example:
        raise file_error(where, f"missing feature {name}, found {', '.join(sorted(example))[:200]}")
    values = example[name]
    if len(values) != 1 or not isinstance(values[0], kind):
        raise file_error(where, f"{name} is {str(values)[:40]}, expected 1 value ({kind.__name__})")
    return values[0]


def _get_text(where: str, example: Mapping[str, list], name: str) -> str:
    try:
        return _get_only_value(where, example, name, bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise file_error(where, f"{name} is not UTF-8 ({error.reason})") from None


def find_pickapic_files(folder: str | Path) -> list[Path]:
    """Return the Parquet files of a copy of Pick-a-Pic, in its folder and subfolders.

    Raises:
        BenchmarkError: There are no files.
    """
    root = expand(folder).absolute()
    if not (paths := [path for path in walk_files(root) if path.suffix == ".parquet"]):
        raise BenchmarkError(f"pickapic_dir={str(folder)!r} contains no Pick-a-Pic Parquet files")
    return paths


def hash_pickapic_files(folder: object) -> str:
    """Return a hash of the names, sizes and modification times of a Pick-a-Pic copy's files."""
    stats = [(str(path), path.stat()) for path in find_pickapic_files(str(folder))]
    return hash_parts(["\n".join(f"{path}\0{s.st_size}\0{s.st_mtime_ns}" for path, s in stats)])


def read_pickapic_images(folder: str | Path, uids: set[str]) -> sqlite3.Connection:
    """Read the prompts and images with the given uids, in one pass over the files.

    Images are stored in a temporary database, as all of them would not fit in memory.

    Returns:
        A database whose table `images` has the columns `uid`, `prompt` and `image`.
    """
    database = sqlite3.connect("")  # noqa: TID251 (a new one, deleted when it is closed)
    uid_array = pa.array(sorted(uids), pa.string())
    database.execute("CREATE TABLE images (uid PRIMARY KEY, prompt, image)")
    for path in find_pickapic_files(folder):
        database.executemany(_INSERT, _read_rows(path, uid_array))
    return database


def _read_rows(path: Path, uid_array: pa.Array) -> Iterator[tuple[str, str, bytes | None]]:
    with reraise(f"{path} is not a Parquet file", "download the file again", BenchmarkError):
        file = pq.ParquetFile(path)
        if missing := {"caption", *_UIDS}.difference(file.schema_arrow.names):
            raise BenchmarkError(f"{path}: missing column {min(missing)!r}; use Pick-a-Pic v1")
        for group in range(file.num_row_groups):
            # Images are most of the data, so only the requested ones are read.
            table = file.read_row_group(group, columns=["caption", *_UIDS])
            for uid_name, image_name in zip(_UIDS, _IMAGES, strict=True):
                rows = pc.indices_nonzero(pc.is_in(table[uid_name], uid_array))
                if not len(rows):
                    continue
                images = [None] * len(rows)
                if image_name in file.schema_arrow.names:
                    column = file.read_row_group(group, columns=[image_name])[image_name]
                    images = column.take(rows).to_pylist()
                uids, captions = (table[n].take(rows).to_pylist() for n in (uid_name, "caption"))
                yield from zip(uids, captions, images, strict=True)


_OPTIONS = {"pickapic_dir": hash_pickapic_files}
BENCHMARKS = (
    load_entry("richhf", features=get_features, files=list_files, options=_OPTIONS, read=read),
)
