"""What was judged, kept beside the scores: a row an image, a row a vote, a row a preference."""

import ntpath
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath

import numpy as np
import pyarrow as pa

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.own_benchmark.build import Built
from pqpp_datasets.own_benchmark.votes.votes import number_items
from pqpp_files.paths import inside_of

IMAGES = ("path", "url", "bytes", "none")
_ROWS = 500_000
_ROWS_OF_BYTES = 100
_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF", b"GIF8", b"BM", b"II*\0", b"MM\0*")
Splits = dict[str, Iterator[pa.Table]]


@dataclass(frozen=True)
class JudgedImages:
    """Images that were judged, a place in each array one image.

    Attributes:
        prompt: int64 (images,), of which prompt.
        model: int64 (images,), of which model.
        model_names: The models.
        names: The images' names.
        score: float64 (images,), NaN where no vote counts.
        votes: int64 (images,), how many votes count.
    """

    prompt: np.ndarray
    model: np.ndarray
    model_names: list[str]
    names: np.ndarray
    score: np.ndarray
    votes: np.ndarray


def judged_by_votes(built: Built) -> JudgedImages:
    """Return the images that votes were given on; a score is that of the build's rule."""
    assert built.generation is not None
    votes, generation = built.generation.table, built.generation
    return JudgedImages(
        votes.prompt[votes.first],
        votes.model[votes.first],
        votes.model_names,
        np.array(votes.image_names, dtype=object)[votes.image[votes.first]],
        generation.image_scores,
        np.bincount(votes.item[generation.counted], minlength=len(votes.first)),
    )


def judged_by_pairs(built: Built) -> JudgedImages | None:
    """Return the images that were compared, None where nothing names them.

    A score is the share of an image's comparisons that it won, ties half.
    """
    assert built.preferences is not None
    choices = built.preferences.choices
    if choices.images is None:
        return None
    prompt, counts = np.tile(choices.prompt, 2), np.tile(choices.counts, 2)
    model, image = np.concatenate(choices.models), np.concatenate(choices.images)
    won = np.concatenate([choices.value + 1, 1 - choices.value]) / 2
    item, first = number_items(prompt, model, image)
    votes = np.bincount(item[counts], minlength=len(first))
    with np.errstate(invalid="ignore"):
        score = np.bincount(item[counts], won[counts], len(first)) / votes
    names = np.array(choices.image_names, dtype=object)[image[first]]
    return JudgedImages(prompt[first], model[first], choices.model_names, names, score, votes)


def kept_images(
    built: Built, judged: JudgedImages, images: str = "path", image_dir: str | Path | None = None
) -> Splits:
    """Return the images that were judged, split by split, a table at a time.

    The columns are `image_number`, `prompt_id`, `prompt`, `model`, `image` (left out for "none"),
    `score` (by the rule of the build, null where no vote counts) and `votes` (those that count).

    Args:
        built: The benchmark.
        judged: The images.
        images: What `image` is: "path" the name as the votes have it, relative to `image_dir` (to
            their common folder without one) where it is absolute; "url" the same, and each must be
            an address; "bytes" the picture itself.
        image_dir: The folder of the files; for "bytes" that of the votes if left out.

    Raises:
        OptionError: `images` is none of these, or a name no address.
        DataFileError: A file is not there.
        FileError: A name, or a link, leads out of the folder.
        DataFileError: A file is no picture.
    """
    if images not in IMAGES:
        raise OptionError(f"`keep_images` {images}: choose among {', '.join(IMAGES)}")
    names = judged.names
    if images == "url":
        wrong = [name for name in names if not name.startswith(("http://", "https://"))]
        if wrong:
            raise OptionError(f"`keep_images` url: {wrong[0]!r:.80} is not an address; choose path")
    elif images == "path":
        names = np.array(_without_folders(list(names), image_dir), dtype=object)
    root = Path(image_dir) if image_dir is not None else built.inputs[0].parent
    if images == "bytes":
        for name in names:
            if not inside_of(root, name).is_file():  # a picture is shown to whoever reads it
                raise DataFileError(
                    f"{root / name}: this image is not there; name the folder by `image_dir`, or "
                    "choose `keep_images` path"
                )

    columns = {
        "image_number": pa.array(np.arange(len(names))),
        **_about_prompts(built, judged.prompt),
        "model": _texts(judged.model, judged.model_names),
        "image": pa.array(names, pa.string()),
        "score": pa.array(judged.score, from_pandas=True),
        "votes": pa.array(judged.votes),
    }
    if images == "none":
        del columns["image"]
    return _by_split(built, judged.prompt, columns, root=root if images == "bytes" else None)


def kept_votes(built: Built, called: Sequence[int] | Sequence[str]) -> Splits:
    """Return the votes, split by split, a table at a time.

    The columns are `image_number`, `prompt_id`, `prompt`, `model`, `annotator` (null where nothing
    says who voted), `value`, `counts` (whether it does), `control` and, where it is known,
    `seconds`. Those of an image stand in the order of what annotators are called.

    Args:
        built: The benchmark.
        called: What each annotator is called.
    """
    assert built.generation is not None
    votes = built.generation.table
    annotators = votes.annotator if votes.has_annotators else None
    column, place = _annotators(annotators, called, votes.annotator)
    columns = {
        "image_number": pa.array(votes.item),
        **_about_prompts(built, votes.prompt),
        "model": _texts(votes.model, votes.model_names),
        "annotator": column,
        "value": pa.array(votes.value),
        "counts": pa.array(np.isin(np.arange(len(votes.value)), built.generation.counted)),
        "control": pa.array(votes.control),
    }
    if votes.seconds is not None:
        columns["seconds"] = pa.array(votes.seconds, from_pandas=True)
    return _by_split(built, votes.prompt, columns, np.lexsort((place, votes.item)))


def kept_preferences(built: Built, called: Sequence[int] | Sequence[str]) -> Splits:
    """Return the preferences, split by split, a table at a time.

    The columns are those that `pqpp build --preferences` reads: `prompt_id`, `prompt`, `model_a`,
    `model_b`, `image_a` and `image_b` where they are known, `annotator` (null where nothing says
    who chose), `choice` (a, b or tie; of repeated ones that are averaged, the nearest), and
    `counts`; where it is known, `seconds`.

    Args:
        built: The benchmark.
        called: What each annotator is called.
    """
    assert built.preferences is not None
    choices = built.preferences.choices
    columns = _about_prompts(built, choices.prompt)
    for role, sides, names in (
        ("model", choices.models, choices.model_names),
        ("image", choices.images or (), choices.image_names),
    ):
        for side, codes in zip("ab", sides, strict=False):
            columns[f"{role}_{side}"] = _texts(codes, names)
    columns["annotator"], place = _annotators(choices.annotator, called, choices.prompt)
    nearest = np.rint(choices.value).astype(np.int64) + 1
    columns |= {"choice": _texts(nearest, ["b", "tie", "a"]), "counts": pa.array(choices.counts)}
    if choices.seconds is not None:
        columns["seconds"] = pa.array(choices.seconds, from_pandas=True)
    return _by_split(built, choices.prompt, columns, np.lexsort((place, choices.prompt)))


def _texts(codes: np.ndarray, texts: Sequence[int] | Sequence[str] | pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts))


def _annotators(
    codes: np.ndarray | None, called: Sequence[int] | Sequence[str], order: np.ndarray
) -> tuple[pa.Array, np.ndarray]:
    """Return the column of annotators and the order of their names, else that which is given."""
    if codes is None:
        return pa.nulls(len(order), pa.int64()), order
    return _texts(codes, called), np.argsort(np.argsort(called))[codes]


def _about_prompts(built: Built, prompt: np.ndarray) -> dict[str, pa.Array]:
    about = ("prompt_id", "prompt")
    return {name: _texts(prompt, built.prompts[name].combine_chunks()) for name in about}


def _by_split(
    built: Built,
    prompt: np.ndarray,
    columns: Mapping[str, pa.Array],
    order: np.ndarray | None = None,
    root: Path | None = None,
) -> Splits:
    """Deal rows out to the splits of their prompts, some at a time, all texts written out.

    Args:
        built: The benchmark.
        prompt: int64 (rows,), the prompt of each row.
        columns: The table, its texts as dictionaries.
        order: In which the rows are given.
        root: The folder of the pictures that take the place of their names.
    """
    table, step = pa.table(dict(columns)), _ROWS if root is None else _ROWS_OF_BYTES
    rows = np.arange(len(prompt)) if order is None else order
    split_of = built.split_of[prompt[rows]]
    kinds = {field.name: field.type for field in table.schema}
    plain = {n: k.value_type if pa.types.is_dictionary(k) else k for n, k in kinds.items()}
    splits: Splits = {}
    for split in built.splits:
        mine = rows[split_of == split]
        parts = (
            table.take(pa.array(part)).cast(pa.schema(plain))
            for part in np.split(mine, range(step, len(mine), step))
        )
        if len(mine):
            splits[split] = parts if root is None else _with_pictures(parts, root)
    return splits


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
        roots = set()
        for folders in drives.values():  # the folder that all of a drive lie in
            rules = ntpath if isinstance(folders[0], PureWindowsPath) else posixpath
            roots.add(type(folders[0])(rules.commonpath(list(map(str, folders)))))
    relative = {}
    for name, path in absolute.items():
        root = next((folder for folder in roots if path.is_relative_to(folder)), None)
        if root is None:
            raise OptionError(f"{path!s:.80} is not in `image_dir` {image_dir}; name its folder")
        relative[name] = path.relative_to(root).as_posix()
    return [relative.get(name, name) for name in names]


def _path_of(name: str) -> PurePath:
    """Return a path as the system means it that it was written on."""
    is_windows = name[1:3] in (":\\", ":/") or name.startswith("\\\\")
    return PureWindowsPath(name) if is_windows else PurePath(name)


def _with_pictures(tables: Iterable[pa.Table], root: Path) -> Iterator[pa.Table]:
    """Put the pictures in the place of their names, in a column that is decoded when it is read."""
    from datasets import Features, Image

    for table in tables:
        pictures = [_picture(root / name, name) for name in table["image"].to_pylist()]
        place = table.column_names.index("image")
        table = table.set_column(place, "image", pa.array(pictures))
        features = Features(Features.from_arrow_schema(table.schema) | {"image": Image()})
        schema = features.arrow_schema
        yield table.cast(schema).replace_schema_metadata(schema.metadata)


def _picture(path: Path, name: str) -> dict:
    content = path.read_bytes()
    if not content.startswith(_BEGINNINGS):
        raise DataFileError(
            f"{path}: not a picture (PNG, JPEG, WebP, GIF, BMP or TIFF); name others"
        )
    return {"bytes": content, "path": Path(name).name}
