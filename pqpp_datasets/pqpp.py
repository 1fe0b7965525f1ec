"""PQPP: prompts with human-rated generation performance and measured retrieval performance.

Source: "PQPP: A Joint Benchmark for Text-to-Image Prompt and Query Performance Prediction",
section 3; files at github.com/Eduard6421/PQPP, CC BY 4.0.

The releases have different scores: of 50 MS COCO prompts in both, 23 have another mean HBPP in
v1.1. Do not compare results on one release with results on the other.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pqpp_datasets.benchmark import load_entry, make_file_finder
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.tables import Column, file_error, read_csv
from pqpp_datasets.target_columns import PQPP_TARGETS, average_columns
from pqpp_files.foreign.json_values import read_json
from pqpp_files.hashes import hash_parts
from pqpp_files.paths import expand

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Features

# The archive of 33.5 GB is downloaded by hand. Its folders are `images/<COCO image id>/` with
# `image_4.png`, `image_5.png` (SDXL), `image_6.png` (the MS COCO image), `image_7.png` and
# `image_8.png` (GLIDE). A DrawBench folder has no reference image: 4, 5 are SDXL's and 6, 7
# GLIDE's; it is `drawbench/<index>/` or, where no MS COCO folder has that number, `<index>/`.
_FILES = read_json(Path(__file__).with_name("pqpp_files.json"))
_IMAGE_NUMBERS: dict[str, dict[str, list[int]]] = _FILES["images"]
_IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def find_image_root(image_dir: str | Path) -> Path:
    """Return the folder of the images: `images/` in `image_dir` if it exists, else `image_dir`."""
    root = expand(image_dir).absolute()
    if not root.is_dir():
        raise BenchmarkError(f"image_dir={str(image_dir)!r} is not a folder; unpack the archive")
    return root / "images" if (root / "images").is_dir() else root


def hash_image_names(image_dir: str | Path) -> str:
    """Return a hash of a folder's path and its image names, which changes if images are added."""
    root = find_image_root(image_dir)
    paths = [*root.glob("*/*.png"), *root.glob("drawbench/*/*.png")]
    names = sorted(path.relative_to(root).as_posix() for path in paths)
    return hash_parts(["\n".join([str(root), *names])])


def add_images(table: pa.Table, options: Mapping[str, object]) -> pa.Table:
    """Add three columns with image paths, decoded on access, if the option `image_dir` is set.

    Raises:
        BenchmarkError: The folder does not exist, or contains no images of these prompts.
    """
    if not options.get("image_dir"):
        return table
    root = find_image_root(str(options["image_dir"]))
    images_by_name: dict[str, list[list[dict]]] = {name: [] for name in _IMAGE_NUMBERS["mscoco"]}
    for row in table.select(["source", "prompt_id", "image_id"]).to_pylist():
        folder = _get_image_folder(root, **row)
        for name, images in images_by_name.items():
            paths = [folder / f"image_{n}.png" for n in _IMAGE_NUMBERS[row["source"]][name]]
            images.append([{"bytes": None, "path": str(p)} for p in paths if p.is_file()])
    if not any(map(any, images_by_name.values())):
        problem = f"{root} contains no images of these prompts, such as ID/image_4.png"
        raise BenchmarkError(f"{problem}; set image_dir= to the unpacked archive")
    for name, images in images_by_name.items():
        column = pa.array(images, pa.list_(_IMAGE))
        if name == "reference_image":
            column = pa.array([next(iter(paths), None) for paths in images], _IMAGE)
        table = table.append_column(name, column)
    return table


def _get_image_folder(root: Path, source: str, prompt_id: str, image_id: int | None) -> Path:
    if source != "drawbench":
        return root / str(image_id)
    index = prompt_id.removeprefix("drawbench-")
    drawbench_folder, folder = root / "drawbench" / index, root / index
    # An MS COCO folder can have the same number; only those contain image_8.png.
    is_mscoco = (folder / "image_8.png").exists()
    return drawbench_folder if drawbench_folder.is_dir() or is_mscoco else folder


logger = logging.getLogger(__name__)

SPLITS = ("train", "validation", "test")
TARGETS = PQPP_TARGETS

_HBPP = Column("float64", -1, 2)
_UNIT = Column("float64", 0, 1)
_TEXT = Column("string")
_ID = Column("int64", 0, 2**53)
_SOURCE = Column("string", values=("mscoco", "drawbench"))

# The published name of each column in v1.0, which has one file per split.
_V1_0_COLUMNS: dict[str, str] = _FILES["v1.0"]
_GENERATION, _RETRIEVAL, _CATEGORIES = map(_FILES.get, ("generation", "retrieval", "categories"))
# Larger differences between published and exact means are not due to rounding.
_TOLERANCE = 1e-6


# The columns that identify a prompt, also in own benchmarks.
IDENTITIES = {
    **dict.fromkeys(("prompt_id", "source", "prompt"), pa.string()),
    **dict.fromkeys(("caption_id", "image_id"), pa.int64()),
    "category": pa.string(),
}
SCHEMA = pa.schema({**IDENTITIES, **dict.fromkeys(TARGETS, pa.float64())})


def get_features(options: Mapping[str, object]) -> Features:
    """Return the `datasets.Features`, with image columns if the option `image_dir` is set."""
    from datasets import Features, Image, Sequence

    features = dict(Features.from_arrow_schema(SCHEMA))
    if options.get("image_dir"):  # lists are shorter or empty if files are missing
        features |= {name: Sequence(Image()) for name in ("sdxl_images", "glide_images")}
        features["reference_image"] = Image()
    return Features(features)


def make_pqpp_table(rows: Mapping[str, Sequence]) -> pa.Table:
    """Return columns as a table with PQPP's schema; missing columns are null."""
    missing = [None] * len(rows["prompt"])
    return pa.table({name: rows.get(name, missing) for name in SCHEMA.names}, schema=SCHEMA)


files_v1_0 = make_file_finder("dataset/{split}.csv")
"""List the file of a split of v1.0."""


def read_v1_0(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read a split of v1.0, in file order; all prompts are from MS COCO."""
    path = folder / files_v1_0(folder, split)[0]
    scores = {n: _HBPP if name.endswith("hbpp") else _UNIT for name, n in _V1_0_COLUMNS.items()}
    table = read_csv(path, {"id": _ID, "image_id": _ID, "best_caption": _TEXT, **scores})
    rows = {name: table[column].combine_chunks() for name, column in _V1_0_COLUMNS.items()}
    _correct_means(path, rows)
    caption_ids = table["id"].to_pylist()
    identity, count = Counter(caption_ids).most_common(1)[0]
    if count > 1:
        raise file_error(path, f"duplicate id {identity}")
    rows |= {
        "prompt_id": [f"mscoco-{caption_id}" for caption_id in caption_ids],
        "source": ["mscoco"] * len(caption_ids),
        "prompt": table["best_caption"].combine_chunks(),
        "caption_id": caption_ids,
        "image_id": table["image_id"].combine_chunks(),
    }
    return add_images(make_pqpp_table(rows), options)


def list_files_v1_1(folder: Path | None, split: str) -> tuple[str, ...]:
    """List the six files of a split of v1.1."""
    split = shorten_split(split)
    pattern = "dataset/generative/ground_truth/{0}/{0}_{1}.csv"
    generation = [pattern.format(name, split) for name in _GENERATION.values()]
    retrieval = [f"dataset/retrieval/ground_truth/{p.format(split)}" for p in _RETRIEVAL.values()]
    return (*generation, *retrieval)


def read_v1_1(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read a split of v1.1: generation and retrieval files, joined on text and source.

    Rows are in the order of the generation files, followed by rows in the retrieval files only.
    Missing values are null. An MS COCO prompt without a retrieval row has no caption id, and
    `mscoco-image-<image id>` as `prompt_id`.
    """
    paths = [folder / path for path in list_files_v1_1(folder, split)]
    generation_scores = {name: {"score": f"{name}_hbpp"} for name in _GENERATION}
    retrieval_scores = {
        name: {"precision": f"{name}_p10", "reciprocal_rank": f"{name}_rr"} for name in _RETRIEVAL
    }
    generation = _read_task(paths[:3], "caption", generation_scores.values())
    retrieval = _read_task(paths[3:], "prompt", retrieval_scores.values())
    keys = generation.index.union(retrieval.index, sort=False)
    generated, retrieved = generation.reindex(keys), retrieval.reindex(keys)
    prompts, sources, _ = zip(*keys, strict=True)
    rows: dict[str, Any] = {"prompt": prompts, "source": sources}
    rows |= _read_identities(rows, generated.pop("caption_id"), retrieved.pop("caption_id"), folder)
    for scores in (generated, retrieved):
        rows |= {str(name): pa.array(scores[name], from_pandas=True) for name in scores}
    _correct_means(paths[0], rows)
    only_generated = generation.index.difference(retrieval.index)
    if "drawbench" in only_generated.get_level_values("source"):
        _warn_once(f"{folder}: DrawBench prompts have no retrieval scores; they are null")
    return add_images(make_pqpp_table(rows), options)


def shorten_split(split: str) -> str:
    """Return a split's name in the file names of v1.1."""
    return "val" if split == "validation" else split


def _read_task(
    paths: Sequence[Path], text: str, scores: Iterable[Mapping[str, str]]
) -> pd.DataFrame:
    """Join the files of a task; rows are indexed by text, source and occurrence."""
    tables: list[Any] = []
    for path, names in zip(paths, scores, strict=True):
        columns = {n: _HBPP if name.endswith("hbpp") else _UNIT for n, name in names.items()}
        table = read_csv(path, {text: _TEXT, "source": _SOURCE, "caption_id": _ID, **columns})
        rows = table.to_pandas().rename(columns=names).astype({"caption_id": "Int64"})
        rows["occurrence"] = rows.groupby([text, "source"]).cumcount()
        rows = rows.set_index([text, "source", "occurrence"])
        if tables:
            first_table = tables[0]
            first_ids = first_table["caption_id"].reindex(rows.index)
            differs = (first_ids != rows["caption_id"]).fillna(True).to_numpy()
            invalid = rows.index[differs]
            if not len(invalid):
                invalid = first_table.index.difference(rows.index)
            if len(invalid):
                prompt = f"{invalid[0][0][:60]!r}"
                raise file_error(path, f"prompt {prompt} has another id in {paths[0]}, or none")
            rows = rows.drop(columns="caption_id").reindex(first_table.index)
        tables.append(rows)
    return tables[0].join(tables[1:])


def _read_identities(
    rows: Mapping[str, Any], generated: pd.Series, retrieved: pd.Series, folder: Path
) -> dict[str, list]:
    """Return the columns of ids and categories, from `caption_id` in the files of both tasks."""
    categories: dict[str, str] = {}
    try:
        columns = dict.fromkeys(("Prompts", "Category"), Column("string", optional=True))
        table = read_csv(folder / _CATEGORIES, columns)
        pairs = zip(table["Prompts"].to_pylist(), table["Category"].to_pylist(), strict=True)
        categories = {prompt.strip(): name.strip() for prompt, name in pairs if prompt and name}
    except BenchmarkError as error:  # categories are optional
        _warn_once(f"DrawBench rows have no category: {error}")
    numbers = (side.astype(object).where(side.notna(), None) for side in (generated, retrieved))
    ids = []
    for text, source, image, caption in zip(rows["prompt"], rows["source"], *numbers, strict=True):
        if source == "drawbench":  # in both files, caption_id is the index of the prompt
            index = caption if image is None else image
            ids.append((f"drawbench-{index}", None, None, categories.get(text.strip())))
        else:
            number = f"image-{image}" if caption is None else caption
            ids.append((f"mscoco-{number}", caption, image, None))
    names = ("prompt_id", "caption_id", "image_id", "category")
    return dict(zip(names, map(list, zip(*ids, strict=True)), strict=True))


@functools.cache
def _warn_once(message: str) -> None:
    logger.warning(message)


def _correct_means(path: Path, rows: dict) -> None:
    """Replace published means that differ only by rounding with exact ones; warn of others."""
    for measure in ("hbpp", "p10", "rr"):
        first, second = (name for name in TARGETS if name.endswith(measure) and "mean" not in name)
        mean = f"mean_{measure}"
        published, glide, sdxl = (
            rows[name].to_numpy(zero_copy_only=False) for name in (mean, first, second)
        )
        exact = average_columns([glide, sdxl])
        differs = np.abs(published - exact) > _TOLERANCE
        if differs.any():
            message = "%s: %s is not the mean of %s and %s in %d rows; "
            message += "the published values are kept"
            logger.warning(message, path, mean, first, second, differs.sum())
        rows[mean] = pa.array(np.where(differs, published, exact), from_pandas=True)


_COMMON: dict[str, Any] = {"features": get_features, "options": {"image_dir": hash_image_names}}
BENCHMARKS = (
    load_entry("pqpp", files=list_files_v1_1, read=read_v1_1, **_COMMON),
    load_entry("pqpp-v1.0", files=files_v1_0, read=read_v1_0, **_COMMON),
)
