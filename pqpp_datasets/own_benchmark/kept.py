"""What was judged, kept beside the scores: a row an image, and a row a vote."""

import ntpath
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath, PureWindowsPath

import numpy as np
import pyarrow as pa

from pqpp_datasets.errors import DataFileError, MissingFileError, OptionError
from pqpp_datasets.own_benchmark.build import Built

IMAGES = ("path", "url", "bytes", "none")
_ROWS = 500_000
_ROWS_OF_BYTES = 100
_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF", b"GIF8", b"BM", b"II*\0", b"MM\0*")


def kept_images(
    built: Built, images: str = "path", image_dir: str | Path | None = None
) -> dict[str, Iterator[pa.Table]]:
    """Return the images that were judged, split by split, a table at a time.

    The columns are `image_number`, `prompt_id`, `prompt`, `model`, `image` (left out for "none"),
    `score` (by the rule of the build, null where no vote counts) and `votes` (those that count).

    Args:
        built: The benchmark.
        images: What `image` is: "path" the name as the votes have it, relative to `image_dir` (to
            their common folder without one) where it is absolute; "url" the same, and each must be
            an address; "bytes" the picture itself.
        image_dir: The folder of the files; for "bytes" that of the votes if left out.

    Raises:
        OptionError: `images` is none of these, or a name no address.
        MissingFileError: A file is not there.
        DataFileError: A file is no picture.
    """
    if images not in IMAGES:
        raise OptionError(f"--keep-images {images}: {', '.join(IMAGES)} is allowed")
    votes, generation = built.generation.table, built.generation
    names = np.array(votes.image_names, dtype=object)[votes.image[votes.first]]
    if images == "url":
        wrong = [name for name in names if not name.startswith(("http://", "https://"))]
        if wrong:
            raise OptionError(f"--keep-images url: {wrong[0]!r:.80} is no address; choose path")
    elif images == "path":
        names = np.array(_without_folders(list(names), image_dir), dtype=object)
    root = Path(image_dir) if image_dir is not None else built.inputs[0].parent
    if images == "bytes":
        for name in names:
            if not (root / name).is_file():
                raise MissingFileError(
                    f"{root / name}: this image is not there; name the folder by --image-dir, or "
                    "choose --keep-images path"
                )
    counted = np.bincount(votes.item[generation.counted], minlength=len(votes.first))

    def table(rows: np.ndarray, columns: Mapping[str, pa.Array]) -> pa.Table:
        found = {"image_number": pa.array(rows), **columns}
        if images == "bytes":
            found["image"] = pa.array([_picture(root / name, name) for name in names[rows]])
        elif images != "none":
            found["image"] = pa.array(names[rows], pa.string())
        found["score"] = pa.array(generation.image_scores[rows], pa.float64(), from_pandas=True)
        found["votes"] = pa.array(counted[rows])
        return _with_features(pa.table(found), images == "bytes")

    step = _ROWS_OF_BYTES if images == "bytes" else _ROWS
    return _by_split(built, votes.first, np.arange(len(votes.first)), table, step)


def kept_votes(
    built: Built, called: Sequence[int] | Sequence[str]
) -> dict[str, Iterator[pa.Table]]:
    """Return the votes, split by split, a table at a time.

    The columns are `image_number`, `prompt_id`, `prompt`, `model`, `annotator` (null where nothing
    says who voted), `value`, `counts` (whether it does), `control` and, where it is known,
    `seconds`. Those of an image stand in the order of what annotators are called.

    Args:
        built: The benchmark.
        called: What each annotator is called.
    """
    votes = built.generation.table
    is_counted = np.zeros(len(votes), bool)
    is_counted[built.generation.counted] = True
    kind = pa.string() if len(called) and isinstance(called[0], str) else pa.int64()
    place = votes.annotator
    if votes.has_annotators:
        place = np.argsort(np.argsort(called))[votes.annotator]
    order = np.lexsort((place, votes.item))

    def table(rows: np.ndarray, columns: Mapping[str, pa.Array]) -> pa.Table:
        found = {"image_number": pa.array(votes.item[rows]), **columns}
        if votes.has_annotators:
            found["annotator"] = pa.array(called, kind).take(pa.array(votes.annotator[rows]))
        else:
            found["annotator"] = pa.nulls(len(rows), pa.int64())
        found["value"] = pa.array(votes.value[rows])
        found["counts"] = pa.array(is_counted[rows])
        found["control"] = pa.array(votes.control[rows])
        if votes.seconds is not None:
            found["seconds"] = pa.array(votes.seconds[rows], from_pandas=True)
        return pa.table(found)

    return _by_split(built, order, order, table, _ROWS)


def _by_split(built: Built, rows_of_votes: np.ndarray, rows: np.ndarray, table, step: int):
    """Deal rows out to the splits of their prompts.

    Args:
        built: The benchmark.
        rows_of_votes: A vote of each row, which has its prompt and model.
        rows: What `table` is called with.
        table: Makes a table of some rows, beside the columns that all have.
        step: How many rows at once.
    """
    votes = built.generation.table
    identities = votes.prompts.identities()
    ids = pa.array(identities["prompt_id"], pa.string())
    texts = pa.array(identities["prompt"], pa.string())
    models = pa.array(votes.model_names, pa.string())
    place = {one: number for number, one in enumerate(identities["prompt_id"])}
    split_of = np.full(len(place), -1, np.int64)
    for number, own in enumerate(built.splits.values()):
        split_of[[place[one] for one in own["prompt_id"].to_pylist()]] = number
    of_row = split_of[votes.prompt[rows_of_votes]]

    def tables(number: int) -> Iterator[pa.Table]:
        mine = np.flatnonzero(of_row == number)
        for start in range(0, len(mine), step):
            part = mine[start : start + step]
            prompt = pa.array(votes.prompt[rows_of_votes[part]])
            columns = {
                "prompt_id": ids.take(prompt),
                "prompt": texts.take(prompt),
                "model": models.take(pa.array(votes.model[rows_of_votes[part]])),
            }
            yield table(rows[part], columns)

    return {
        name: tables(number) for number, name in enumerate(built.splits) if (of_row == number).any()
    }


def _without_folders(names: list[str], image_dir: str | Path | None) -> list[str]:
    """Return names of files without the folders of somebody's machine, whatever its system."""
    # Paths are slow to make; of a million names, few begin so.
    maybe = dict.fromkeys(n for n in names if n[:1] in ("/", "\\") or n[1:2] == ":")
    absolute = {name: path for name in maybe if (path := _path_of(name)).is_absolute()}
    if not absolute:
        return names
    if image_dir is not None:
        given = _path_of(str(image_dir))
        roots = {given if given.is_absolute() else Path(image_dir).absolute()}
    else:
        drives: dict[tuple, list[PurePath]] = {}
        for path in absolute.values():
            drives.setdefault((type(path), path.drive.lower()), []).append(path.parent)
        roots = {type(some[0])(_common(some)) for some in drives.values()}
    found = {}
    for name, path in absolute.items():
        root = next((one for one in roots if path.is_relative_to(one)), None)
        if root is None:
            raise OptionError(f"{path!s:.80} is not in --image-dir {image_dir}; name its folder")
        found[name] = path.relative_to(root).as_posix()
    return [found.get(name, name) for name in names]


def _path_of(name: str) -> PurePath:
    """Return a path as the system means it that it was written on."""
    is_windows = name[1:3] in (":\\", ":/") or name.startswith("\\\\")
    return PureWindowsPath(name) if is_windows else PurePath(name)


def _common(folders: list[PurePath]) -> str:
    """Return the folder that all lie in."""
    kind = ntpath if isinstance(folders[0], PureWindowsPath) else posixpath
    return kind.commonpath(list(map(str, folders)))


def _picture(path: Path, name: str) -> dict:
    content = path.read_bytes()
    if not content.startswith(_BEGINNINGS):
        raise DataFileError(f"{path}: no picture (PNG, JPEG, WebP, GIF, BMP or TIFF); name others")
    return {"bytes": content, "path": Path(name).name}


def _with_features(table: pa.Table, has_pictures: bool) -> pa.Table:
    """Say in the schema that a column holds pictures, so that they are decoded when read."""
    if not has_pictures:
        return table
    from datasets import Features, Image

    features = Features.from_arrow_schema(table.schema) | {"image": Image()}
    schema = Features(features).arrow_schema
    return table.cast(schema).replace_schema_metadata(schema.metadata)
