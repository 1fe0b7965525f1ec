"""The rated images, votes and preferences of a benchmark, as one table per split."""

import ntpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.build import Outcome
from pqpp_datasets.own_benchmark.generation import Generation
from pqpp_datasets.own_benchmark.long_table import PROMPT, make_column
from pqpp_files.foreign.images import read_header
from pqpp_files.paths import join_inside

IMAGES = ("path", "bytes", "none")
_ABSOLUTE = re.compile(r"[\\/]|[A-Za-z]:[\\/]")
_BATCH_ROWS = 500_000
_IMAGE_BATCH_ROWS = 100
Splits = dict[str, Iterator[pa.Table]]


def list_voted_images(generation: Generation) -> pd.DataFrame:
    """Return the images with votes, one row each.

    Returns:
        Columns `prompt` (index), `model`, `image` (name), `score` (from the build's rule, NaN if
        there are no counted votes) and `votes` (number of counted votes).
    """
    votes, first = generation.table, generation.table.first
    counts = np.bincount(votes.item[generation.counted], minlength=len(first))
    columns = {
        "prompt": votes.prompt[first],
        "model": make_column(votes.model[first], votes.model_names),
        "image": np.array(votes.image_names, dtype=object)[votes.image[first]],
    }
    return pd.DataFrame({**columns, "score": generation.image_scores, "votes": counts})


def list_compared_images(choices: pd.DataFrame) -> pd.DataFrame | None:
    """Return the compared images as in `list_voted_images`, or None if the images have no names.

    An image's score is the share of its comparisons that it won; ties count as half.
    """
    if "image_a" not in choices:
        return None
    first_shares, counts = (choices["value"] + 1) / 2, choices["counts"].astype(np.int64)
    rows = pd.concat(
        pd.DataFrame({"prompt": choices[PROMPT], "model": choices[f"model_{side}"]}).assign(
            image=choices[f"image_{side}"], won=shares * counts, votes=counts
        )
        for side, shares in (("a", first_shares), ("b", 1 - first_shares))
    )
    images = rows.groupby(["prompt", "model", "image"], as_index=False, observed=True).sum()
    images["score"] = images.pop("won") / images["votes"]
    return images.assign(image=images["image"].astype(object))


def split_images(
    built: Outcome, rated: pd.DataFrame, images: str = "path", image_dir: str | Path | None = None
) -> Splits:
    """Return batches of the rated images, by split.

    Columns: `image_number`, `prompt_id`, `prompt`, `model`, `image` (unless "none"), `score` (from
    the build's rule, null without counted votes) and `votes` (number of counted votes).

    Args:
        rated: Output of `list_voted_images` or `list_compared_images`.
        images: Content of `image`: "path" (the name in the votes; absolute paths become relative to
            `image_dir` or, without it, to their common folder), "bytes" (the image file) or "none".
        image_dir: The folder of the images; default for "bytes": that of the votes.

    Raises:
        BenchmarkError: `images` has another value, or an image does not exist.
        FileError: A name or link refers to a file outside the folder, or a file is not an image.
    """
    if images not in IMAGES:
        raise BenchmarkError(f"`keep_images` must be one of {', '.join(IMAGES)}; got {images!r}")
    names = rated["image"].to_numpy()
    if images == "path":
        names = np.array(_strip_folders(list(names), image_dir), dtype=object)
    root = Path(image_dir) if image_dir is not None else built.inputs[0].parent
    if images == "bytes":
        for name in names:
            if not join_inside(root, name).is_file():  # other files must not be published
                remedy = "set `image_dir` to the folder of the images, or `keep_images` to path"
                raise BenchmarkError(f"{root / name}: image not found; {remedy}")
    columns: dict[str, Any] = {"image_number": np.arange(len(names))}
    columns |= {name: rated[name].array for name in ("prompt", "model")}
    columns |= {"image": names} if images != "none" else {}
    columns |= {name: rated[name].to_numpy() for name in ("score", "votes")}
    return _split_rows(built, columns, root=root if images == "bytes" else None)


def split_votes(built: Outcome, names: Sequence[Any]) -> Splits:
    """Return batches of the votes by split, ordered by image, then by the annotator's name.

    Columns: `image_number`, `prompt_id`, `prompt`, `model`, `annotator` (null if unknown), `value`,
    `counts` (whether the vote counts), `control` (whether the annotator is a control member) and,
    if known, `seconds`.

    Args:
        names: Names or numbers of the annotators.
    """
    assert built.generation is not None
    votes = built.generation.table
    annotators, order = pa.nulls(len(votes), pa.int64()), votes.annotator
    if votes.has_annotators:
        annotators = make_column(votes.annotator, names)
        order = np.argsort(np.argsort(names))[votes.annotator]
    columns: dict[str, Any] = {
        "image_number": votes.item,
        "prompt": votes.prompt,
        "model": make_column(votes.model, votes.model_names),
        "annotator": annotators,
        "value": votes.value,
        "counts": np.isin(np.arange(len(votes)), built.generation.counted),
        "control": votes.control,
    }
    columns |= {} if votes.seconds is None else {"seconds": votes.seconds}
    return _split_rows(built, columns, np.lexsort((order, votes.item)))


def split_preferences(built: Outcome, names: Sequence[Any]) -> Splits:
    """Return batches of the preferences by split, in the columns that `pqpp build` reads.

    Columns: `prompt_id`, `prompt`, `model_a`, `model_b`, `annotator` (null if unknown), `choice`
    (a, b or tie; averaged choices are rounded), `counts` (whether the choice counts) and, if known,
    `image_a`, `image_b` and `seconds`.

    Args:
        names: Names or numbers of the annotators.
    """
    assert built.preferences is not None
    choices = built.preferences.choices
    prompt, sides = choices[PROMPT].to_numpy(), ("model_a", "model_b", "image_a", "image_b")
    columns: dict[str, Any] = {"prompt": prompt}
    columns |= {side: choices[side].array for side in sides if side in choices}
    columns["annotator"], order = pa.nulls(len(choices), pa.int64()), prompt
    if "annotator" in choices:
        codes = choices["annotator"].cat.codes.to_numpy()
        columns["annotator"] = make_column(codes, names)
        order = np.argsort(np.argsort(names))[codes]
    nearest = np.rint(choices["value"].to_numpy()).astype(np.int64) + 1
    columns["choice"] = make_column(nearest, ["b", "tie", "a"])
    columns |= {name: choices[name].array for name in ("counts", "seconds") if name in choices}
    return _split_rows(built, columns, np.lexsort((order, prompt)))


def _split_rows(
    built: Outcome,
    columns: Mapping[str, Any],
    order: np.ndarray | None = None,
    root: Path | None = None,
) -> Splits:
    """Return batches of rows by split, with the prompts' ids and texts instead of their indices."""
    prompt, step = np.asarray(columns["prompt"]), _BATCH_ROWS if root is None else _IMAGE_BATCH_ROWS
    identities = {
        name: pa.DictionaryArray.from_arrays(prompt, built.prompts[name].combine_chunks())
        for name in ("prompt_id", "prompt")
    }
    arrays: dict[str, Any] = {}
    for name, values in columns.items():
        arrays |= identities if name == "prompt" else {name: pa.array(values, from_pandas=True)}
    table = pa.table(arrays)
    rows = np.arange(len(prompt)) if order is None else order
    split_of = built.split_of[prompt[rows]]
    types = {field.name: field.type for field in table.schema}
    types = {n: t.value_type if pa.types.is_dictionary(t) else t for n, t in types.items()}
    splits: Splits = {}
    for split in built.splits:
        split_rows = rows[split_of == split]
        tables = (
            table.take(pa.array(batch)).cast(pa.schema(types))
            for batch in np.split(split_rows, range(step, len(split_rows), step))
        )
        if len(split_rows):
            splits[split] = tables if root is None else _embed_images(tables, root)
    return splits


def _strip_folders(names: list[str], image_dir: str | Path | None) -> list[str]:
    """Make absolute paths, of any operating system, relative to a folder."""
    # Creating paths is slow, and few names are absolute.
    absolute = {n: PureWindowsPath(n) for n in dict.fromkeys(names) if _ABSOLUTE.match(n)}
    if not absolute:
        return names
    try:
        folder = image_dir or ntpath.commonpath([path.parent for path in absolute.values()])
        root = folder if _ABSOLUTE.match(str(folder)) else Path(folder).absolute()
        relative = {name: path.relative_to(root).as_posix() for name, path in absolute.items()}
    except ValueError:
        fault = f"not all images are in {image_dir or 'one folder'}"
        raise BenchmarkError(f"{fault}; set `image_dir` to their folder") from None
    return [relative.get(name, name) for name in names]


def _embed_images(tables: Iterable[pa.Table], root: Path) -> Iterator[pa.Table]:
    """Yield tables with image files instead of image names; `datasets` decodes them."""
    from datasets import Features, Image

    for table in tables:
        images = []
        for name in table["image"].to_pylist():
            read_header(root / name)  # refuses other files
            images.append({"bytes": (root / name).read_bytes(), "path": Path(name).name})
        table = table.set_column(table.column_names.index("image"), "image", pa.array(images))
        features = Features(Features.from_arrow_schema(table.schema) | {"image": Image()})
        schema = features.arrow_schema
        yield table.cast(schema).replace_schema_metadata(schema.metadata)
