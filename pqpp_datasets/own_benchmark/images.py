"""Load benchmarks other than this package's, with the images that they store.

`pqpp build` stores the rated images in the subset `images`, with one row per image: its name, its
URL or the image itself. Predictors that use images need a list of images per prompt and model, in
columns `<model>_images`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.target_columns import make_model_slug
from pqpp_files.errors import PqppError, describe, is_out_of_memory, reraise
from pqpp_files.foreign.yaml_values import parse_yaml
from pqpp_files.hashes import hash_parts
from pqpp_files.paths import expand, join_inside, walk_files
from pqpp_hub.pull import use_cache_if_unreachable
from pqpp_hub.reasons import find_hub_reason

if TYPE_CHECKING:
    import datasets

SUBSET = "images"
# Matches, in JSON, URLs, chained URLs and paths that lead out of a folder.
_OUTSIDE_FOLDER = re.compile(r'://|::|"[/~]|(["/]|\\\\)\.\.(["/]|\\\\)')
_URL = re.compile(r"^https?://(?:[^?#]*/)?([^?#]*).*", re.DOTALL)
_IN_ARCHIVE = re.compile("(zip|tar)://.*?::")
_IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def add_saved_images(
    rows: datasets.Dataset, name: str, image_dir: str | Path | None = None
) -> datasets.Dataset:
    """Add the images that a benchmark stores to its rows, as a column `<model>_images` per model.

    Args:
        rows: The prompts, with `prompt_id`.
        name: The benchmark: a folder, or OWNER/REPOSITORY.
        image_dir: The folder of the images, if the benchmark stores only their names, or URLs that
            end in their names.

    Returns:
        The rows with lists of images, decoded on access; empty lists for prompts without images.
        Unchanged rows if they have images, or if the benchmark stores none.

    Raises:
        BenchmarkError: The benchmark stores only names of images, and `image_dir` is not set or
            lacks an image; `image_dir` is set, but the benchmark has no subset `images`; or that
            subset was built without images.
        FileError: The name of an image refers to a file outside the folder.
    """
    import datasets

    if any(column.endswith("images") for column in rows.column_names):
        return rows
    folder = expand(name)
    source = str(folder) if folder.is_dir() else name
    has_card = (folder / "README.md").is_file()
    has_prompt_ids = "prompt_id" in rows.column_names and (has_card or not folder.is_dir())
    if not has_prompt_ids or SUBSET not in datasets.get_dataset_config_names(source):
        if image_dir is not None:
            raise BenchmarkError(f"{name} stores no images; remove `image_dir`")
        return rows
    stored = datasets.concatenate_datasets(list(load_own_benchmark(source, SUBSET).values()))
    with reraise(f"the images that {name} stores are damaged", "build it again", BenchmarkError):
        if "image" not in stored.column_names:
            raise BenchmarkError(f"{name} stores no images; run `pqpp build --keep-images path`")
        images = _load_image_column(stored, name, image_dir)
        row_by_id = {prompt_id: row for row, prompt_id in enumerate(rows["prompt_id"][:])}
        row_of = np.array([row_by_id.get(prompt_id, -1) for prompt_id in stored["prompt_id"][:]])
        models = np.array(stored["model"][:])
        columns = {}
        for model in dict.fromkeys(models.tolist()):
            selected = np.flatnonzero((models == model) & (row_of >= 0))
            selected = selected[np.argsort(row_of[selected], kind="stable")]
            offsets = np.r_[0, np.cumsum(np.bincount(row_of[selected], minlength=len(rows)))]
            columns[f"{make_model_slug(model)}_images"] = pa.ListArray.from_arrays(
                pa.array(offsets, pa.int32()), images.take(pa.array(selected))
            )
        features = {column: datasets.Sequence(datasets.Image()) for column in columns}
        image_columns = datasets.Dataset(pa.table(columns)).cast(datasets.Features(features))
        return datasets.concatenate_datasets([rows, image_columns], split=rows.split, axis=1)


def _load_image_column(stored: Any, name: str, image_dir: str | Path | None) -> pa.Array:
    """Return the images in the form that `datasets` decodes: bytes, or paths of existing files."""
    import datasets

    if isinstance(stored.features["image"], datasets.Image):
        column = stored.cast_column("image", datasets.Image(decode=False)).data["image"]
        return column.combine_chunks().cast(_IMAGE)
    names = stored["image"][:]
    if image_dir is None:
        problem = f"{name} stores only names of images, such as {names[0]!r:.60}"
        raise BenchmarkError(f"{problem}; set `image_dir` to the folder of the images")
    folder = expand(image_dir).absolute()
    paths = [join_inside(folder, _URL.sub(r"\1", name)) for name in names]
    if missing := [path for path in paths if not path.is_file()]:
        fault = f"image of {name} not found ({len(missing)} of {len(paths)} are missing)"
        raise BenchmarkError(f"{missing[0]}: {fault}; set `image_dir` to the folder of all images")
    return pa.array([{"bytes": None, "path": str(path)} for path in paths], _IMAGE)


def load_own_benchmark(source: str, subset: str | None = None, **options: Any) -> Any:
    r"""Load the current content of a folder or repository with `datasets`.

    Args:
        source: A folder, or OWNER/REPOSITORY; if the Hub is unreachable, the local cache is read.
        options: Options of `load_dataset`.

    Raises:
        BenchmarkError: There are no data files, or files with different columns; the subset, split
            or repository does not exist; or the Hub cannot be reached.
        FileError: The card or a link refers to a file outside the folder.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "train.csv").write_text("prompt\na red cat\n")
        >>> load_own_benchmark(str(folder), split="train")["prompt"][:]
        ['a red cat']
    """
    import datasets

    folder = Path(source)
    if folder.is_dir():
        # A cache folder for each state of the files: otherwise `datasets` returns what it read
        # before under the same name, from another folder or before the folder was replaced.
        state = [str(folder.absolute())]
        for path in walk_files(folder):
            name, status = path.relative_to(folder), path.lstat()
            if path.is_symlink():  # `datasets` also reads files that no setting lists
                join_inside(folder.absolute(), name)
            state.append(f"{name}|{status.st_size}|{status.st_mtime_ns}")
        cache = Path(datasets.config.HF_DATASETS_CACHE) / "pqpp_folders"
        digest = hash_parts(f"{part}\0" for part in state)[:16]
        options.setdefault("cache_dir", str(cache / digest))
        _refuse_outside_files(folder)
        folders = {name: options[name] for name in ("cache_dir", "data_dir") if name in options}
        with _convert_load_errors(source):
            builder = datasets.load_dataset_builder(source, subset, **folders)
        for file in chain(*(builder.config.data_files or {}).values()):
            join_inside(folder.absolute(), ".." if "://" in file else file)
    with _convert_load_errors(source), use_cache_if_unreachable(source):
        rows = datasets.load_dataset(source, subset, **options)
    return refuse_outside_images(rows, folder) if folder.is_dir() else rows


def refuse_outside_images(rows: Any, folder: Path) -> Any:
    """Return rows unless they name files outside a folder, which `datasets` would read as images.

    Rows that are streamed are checked when they are read.

    Raises:
        FileError: A cell names such a file.
    """
    if isinstance(rows, dict):
        return type(rows)({name: refuse_outside_images(rows[name], folder) for name in rows})
    if hasattr(rows, "data"):
        _check_paths(rows.data, folder)
        return rows
    options = {"batch_size": 16, "features": rows.features, "fn_kwargs": {"folder": folder}}
    return rows.with_format("arrow").map(_check_paths, batched=True, **options).with_format(None)


def _check_paths(table: Any, folder: Path) -> Any:
    """Return a table unless its cells name files outside a folder, as `datasets` stores images."""
    arrays = [chunk for column in table.columns for chunk in column.chunks]
    for array in arrays:  # nested arrays are appended below
        if pa.types.is_struct(array.type) and {"bytes", "path"} <= {it.name for it in array.type}:
            fields = array.filter(pc.is_null(pc.struct_field(array, "bytes")))
            for path in filter(None, pc.struct_field(fields, "path").unique().to_pylist()):
                file = _IN_ARCHIVE.sub("", path)
                join_inside(folder.absolute(), ".." if "://" in file else Path(file).absolute())
        elif pa.types.is_nested(array.type):
            arrays += array.flatten() if pa.types.is_struct(array.type) else [array.flatten()]
    return table


@contextlib.contextmanager
def _convert_load_errors(source: str) -> Iterator[None]:
    """Convert any error of `datasets` in a block to a one-line error."""
    import datasets

    try:
        yield
    except datasets.data_files.EmptyDatasetError:
        raise BenchmarkError(f"{source} contains no data files; choose another dataset") from None
    except datasets.exceptions.DatasetGenerationCastError:
        raise BenchmarkError(f"{source}: files have different columns; choose a subset") from None
    except Exception as error:
        hub_reason = find_hub_reason(error)  # first: the client's own texts may contain a token
        is_typed = isinstance(error, PqppError) or (isinstance(error, OSError) and not hub_reason)
        if is_typed or is_out_of_memory(error):
            raise
        reason = describe(error.__cause__ or error, named=False)  # such as an unknown subset
        problem = hub_reason or f"cannot be loaded ({reason}); choose another dataset"
        raise BenchmarkError(f"dataset {source} {problem}") from None


def _refuse_outside_files(folder: Path) -> None:
    """Raise an error if a folder's card names files elsewhere, before `datasets` reads them."""
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    for path in filter(Path.is_file, (folder / "README.md", folder / ".huggingface.yaml")):
        content = join_inside(folder, path.name).read_bytes()
        text = content.decode("utf-8-sig", "replace")  # as `datasets` reads it
        block = REGEX_YAML_BLOCK.search(text)
        if not block and path.name == "README.md":
            continue
        metadata = parse_yaml(block[2] if block else text, str(path))
        configs = metadata.get("configs") if isinstance(metadata, dict) else None
        if _OUTSIDE_FOLDER.search(json.dumps(configs, default=str)):
            raise BenchmarkError(f"{path} lists files outside its folder; copy them into it")
