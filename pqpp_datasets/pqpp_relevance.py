"""PQPP's relevance judgments: the MS COCO images rated relevant to each prompt.

Source: PQPP paper, section 3.2. v1.1 has one pickle per split, a list of records with the keys
`source index gt prompt caption_id`. v1.0 has one pickle for all splits in row order, or instead a
Parquet file with the columns `query_index` and `image_ids`.
"""

import functools
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from pqpp_datasets.benchmark import load_entry, make_features
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.pqpp import SPLITS, files_v1_0, shorten_split
from pqpp_datasets.restricted_pickle import read_pickle
from pqpp_datasets.tables import REMEDY, Column, file_error, read_csv
from pqpp_files.errors import reraise

_V1_1_PICKLE = "dataset/retrieval/ground_truth/retrieval_{}_gt.pickle"
_V1_1_GENERATION = "dataset/generative/ground_truth/average/average_{}.csv"
_V1_0_PICKLE = "dataset/retrieval_groundtruth.pickle"
_V1_0_PARQUET = "dataset/retrieval_groundtruth*.parquet"
_RECORD_KEYS = {"source", "gt", "prompt", "caption_id"}
_SCHEMA = pa.schema([("prompt_id", pa.string()), ("image_ids", pa.list_(pa.int64()))])


def list_files(folder: Path | None, split: str) -> tuple[str, ...]:
    """List the files of a split: those of v1.0 if the folder contains it, else of v1.1."""
    if folder is None or not _is_v1_0(folder):
        split_name = shorten_split(split)
        return _V1_1_PICKLE.format(split_name), _V1_1_GENERATION.format(split_name)
    # Queries are numbered over all splits, so the files of earlier splits are needed.
    splits = SPLITS[: SPLITS.index(split) + 1]
    tables = sorted(path.relative_to(folder).as_posix() for path in folder.glob(_V1_0_PARQUET))
    relevance = tables[0] if tables and not (folder / _V1_0_PICKLE).exists() else _V1_0_PICKLE
    return (*(files_v1_0(folder, name)[0] for name in splits), relevance)


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the relevant image ids of a split, in the order of its file."""
    if _is_v1_0(folder):
        *tables, relevance = list_files(folder, split)
        columns = {"id": Column("int64", 0, 2**53)}
        ids = [read_csv(folder / path, columns)["id"].to_pylist() for path in tables]
        start, split_ids = sum(map(len, ids[:-1])), ids[-1]
        path = folder / relevance
        lists = _read_file(path, path.stat().st_mtime_ns)
        if start + len(split_ids) > len(lists):
            expected = f"expected {start + len(split_ids)} queries for the split {split!r}"
            raise file_error(path, f"{expected}, got {len(lists)}")
        rows = lists[start : start + len(split_ids)]
        return pa.table([[f"mscoco-{i}" for i in split_ids], rows], schema=_SCHEMA)
    path, generation = (folder / path for path in list_files(folder, split))
    records = read_pickle(path)
    if not isinstance(records, list):
        raise file_error(path, "expected a list of records")
    text = Column("string")
    columns = {"caption": text, "source": text, "caption_id": Column("int64", 0, 2**53)}
    prompts = read_csv(generation, columns).to_pylist()
    indices = {p["caption"]: p["caption_id"] for p in prompts if p["source"] == "drawbench"}
    prompt_ids = [_make_prompt_id(path, n, record, indices) for n, record in enumerate(records)]
    rows = [_parse_image_ids(path, n, record["gt"]) for n, record in enumerate(records)]
    return pa.table([prompt_ids, rows], schema=_SCHEMA)


def _is_v1_0(folder: Path) -> bool:
    return (folder / files_v1_0(folder, "train")[0]).exists()


@functools.lru_cache(maxsize=1)  # one file serves three splits
def _read_file(path: Path, modified: int) -> list[list[int]]:
    if path.suffix == ".parquet":
        with reraise(f"{path} is damaged", REMEDY, BenchmarkError):
            table = pa.parquet.read_table(path, columns=["query_index", "image_ids"])
        if set(table.column_names) != {"query_index", "image_ids"}:
            raise file_error(path, "expected the columns query_index and image_ids")
        table = table.sort_by("query_index")
        if table["query_index"].to_pylist() != list(range(table.num_rows)):
            raise file_error(path, "query_index must be 0, 1, 2, ...")
        lists = table["image_ids"].to_pylist()
    else:
        lists = read_pickle(path)
    if isinstance(lists, Mapping):
        indices = range(len(lists))
        lists = [lists[n] for n in indices] if lists.keys() == set(indices) else None
    if not isinstance(lists, list | tuple):
        raise file_error(path, "expected a list with one entry per query")
    return [_parse_image_ids(path, number, entry) for number, entry in enumerate(lists)]


def _make_prompt_id(path: Path, number: int, record, indices: Mapping[str, int]) -> str:
    if not isinstance(record, dict) or not set(record) >= _RECORD_KEYS:
        keys = ", ".join(sorted(_RECORD_KEYS))
        raise file_error(f"{path}, record {number}", f"expected the keys {keys}")
    if record["source"] == "mscoco":
        return f"mscoco-{int(record['caption_id'])}"
    if record["source"] == "drawbench" and record["prompt"] in indices:
        return f"drawbench-{indices[record['prompt']]}"
    problem = f"prompt {record['prompt']!r:.60} not found in the generation files"
    raise file_error(f"{path}, record {number}", problem)


def _parse_image_ids(path: Path, number: int, entry) -> list[int]:
    try:
        ids = sorted(entry) if isinstance(entry, set | frozenset) else list(entry)
        integers = [int(image_id) for image_id in ids]
    except (OverflowError, TypeError, ValueError):
        integers = None
    if integers is None or any(a != b or a < 0 for a, b in zip(integers, ids, strict=True)):
        raise file_error(f"{path}, record {number}", "expected a list of image ids")
    return integers


BENCHMARKS = (
    load_entry(
        "pqpp-relevance",
        features=make_features(_SCHEMA),
        read=read,
        files=list_files,
        version_in=lambda folder: "1.0.0" if _is_v1_0(folder) else "1.1.0",
    ),
)
