"""What was judged, kept beside the scores: a row an image, a row a vote, a row a preference."""

import ntpath
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath

import numpy as np
import pyarrow as pa

from pqpp_datasets.errors import DataFileError, MissingFileError, OptionError
from pqpp_datasets.own_benchmark.build import Built
from pqpp_datasets.own_benchmark.prompts import Prompts

IMAGES = ("path", "url", "bytes", "none")
_ROWS = 500_000
_ROWS_OF_BYTES = 100
_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF", b"GIF8", b"BM", b"II*\0", b"MM\0*")


@dataclass(frozen=True)
class JudgedImages:
    """Images that were judged, a place in each array one image.

    Attributes:
        prompts: The prompts.
        prompt: int64 (images,), of which prompt.
        model: int64 (images,), of which model.
        model_names: The models.
        names: The images' names.
        score: float64 (images,), NaN where no vote counts.
        votes: int64 (images,), how many votes count.
    """

    prompts: Prompts
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
    names = np.array(votes.image_names, dtype=object)
    return JudgedImages(
        votes.prompts,
        votes.prompt[votes.first],
        votes.model[votes.first],
        votes.model_names,
        names[votes.image[votes.first]],
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
    prompt = np.concatenate([choices.prompt] * 2)
    model, image = np.concatenate(choices.models), np.concatenate(choices.images)
    won = np.concatenate([choices.value + 1, 1 - choices.value]) / 2
    counts = np.concatenate([choices.counts] * 2)
    kinds, item = np.unique(np.stack([prompt, model, image]), axis=1, return_inverse=True)
    votes = np.bincount(item[counts], minlength=kinds.shape[1])
    with np.errstate(invalid="ignore"):
        score = np.bincount(item[counts], won[counts], kinds.shape[1]) / votes
    names = np.array(choices.image_names, dtype=object)[kinds[2]]
    return JudgedImages(
        choices.prompts, kinds[0], kinds[1], choices.model_names, names, score, votes
    )


def kept_images(
    built: Built, judged: JudgedImages, images: str = "path", image_dir: str | Path | None = None
) -> dict[str, Iterator[pa.Table]]:
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
        MissingFileError: A file is not there.
        DataFileError: A file is no picture.
    """
    if images not in IMAGES:
        raise OptionError(f"--keep-images {images}: {', '.join(IMAGES)} is allowed")
    names = judged.names
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
    models = pa.array(judged.model_names, pa.string())

    def table(rows: np.ndarray, columns: Mapping[str, pa.Array]) -> pa.Table:
        found = {"image_number": pa.array(rows), **columns}
        found["model"] = models.take(pa.array(judged.model[rows]))
        if images == "bytes":
            found["image"] = pa.array([_picture(root / name, name) for name in names[rows]])
        elif images != "none":
            found["image"] = pa.array(names[rows], pa.string())
        found["score"] = pa.array(judged.score[rows], pa.float64(), from_pandas=True)
        found["votes"] = pa.array(judged.votes[rows])
        return _with_features(pa.table(found), images == "bytes")

    step = _ROWS_OF_BYTES if images == "bytes" else _ROWS
    return _by_split(built, judged.prompts, judged.prompt, table, step)


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
    assert built.generation is not None
    votes = built.generation.table
    is_counted = np.zeros(len(votes), bool)
    is_counted[built.generation.counted] = True
    place = votes.annotator
    if votes.has_annotators:
        place = np.argsort(np.argsort(called))[votes.annotator]
    order = np.lexsort((place, votes.item))
    models = pa.array(votes.model_names, pa.string())

    def table(places: np.ndarray, columns: Mapping[str, pa.Array]) -> pa.Table:
        rows = order[places]
        found = {"image_number": pa.array(votes.item[rows]), **columns}
        found["model"] = models.take(pa.array(votes.model[rows]))
        found["annotator"] = _called(called, votes.annotator[rows], votes.has_annotators)
        found["value"] = pa.array(votes.value[rows])
        found["counts"] = pa.array(is_counted[rows])
        found["control"] = pa.array(votes.control[rows])
        if votes.seconds is not None:
            found["seconds"] = pa.array(votes.seconds[rows], from_pandas=True)
        return pa.table(found)

    return _by_split(built, votes.prompts, votes.prompt[order], table, _ROWS)


def kept_preferences(
    built: Built, called: Sequence[int] | Sequence[str]
) -> dict[str, Iterator[pa.Table]]:
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
    known = choices.annotator is not None
    place = np.argsort(np.argsort(called))[choices.annotator] if known else choices.prompt
    order = np.lexsort((place, choices.prompt))
    models = pa.array(choices.model_names, pa.string())
    words = pa.array(["b", "tie", "a"])

    def table(places: np.ndarray, columns: Mapping[str, pa.Array]) -> pa.Table:
        rows = order[places]
        found = dict(columns)
        for side, own in zip("ab", choices.models, strict=True):
            found[f"model_{side}"] = models.take(pa.array(own[rows]))
        if choices.images is not None:
            names = pa.array(choices.image_names, pa.string())
            for side, own in zip("ab", choices.images, strict=True):
                found[f"image_{side}"] = names.take(pa.array(own[rows]))
        who = rows if choices.annotator is None else choices.annotator[rows]
        found["annotator"] = _called(called, who, known)
        nearest = np.rint(choices.value[rows]).astype(np.int64) + 1
        found["choice"] = words.take(pa.array(nearest))
        found["counts"] = pa.array(choices.counts[rows])
        if choices.seconds is not None:
            found["seconds"] = pa.array(choices.seconds[rows], from_pandas=True)
        return pa.table(found)

    return _by_split(built, choices.prompts, choices.prompt[order], table, _ROWS)


def _called(called: Sequence, annotator: np.ndarray, is_known: bool) -> pa.Array:
    """Return what the annotators of some rows are called, null where nothing says who they are."""
    if not is_known:
        return pa.nulls(len(annotator), pa.int64())
    kind = pa.string() if len(called) and isinstance(called[0], str) else pa.int64()
    return pa.array(called, kind).take(pa.array(annotator))


def _by_split(
    built: Built, prompts: Prompts, prompt: np.ndarray, table: Callable[..., pa.Table], step: int
) -> dict[str, Iterator[pa.Table]]:
    """Deal rows out to the splits of their prompts.

    Args:
        built: The benchmark.
        prompts: The prompts.
        prompt: int64 (rows,), the prompt of each row.
        table: Makes a table of some rows, beside the columns `prompt_id` and `prompt`.
        step: How many rows at once.
    """
    identities = prompts.identities()
    ids = pa.array(identities["prompt_id"], pa.string())
    texts = pa.array(identities["prompt"], pa.string())
    place = {one: number for number, one in enumerate(identities["prompt_id"])}
    split_of = np.full(len(place), -1, np.int64)
    for number, own in enumerate(built.splits.values()):
        split_of[[place[one] for one in own["prompt_id"].to_pylist()]] = number
    of_row = split_of[prompt]

    def tables(number: int) -> Iterator[pa.Table]:
        mine = np.flatnonzero(of_row == number)
        for start in range(0, len(mine), step):
            part = mine[start : start + step]
            own = pa.array(prompt[part])
            yield table(part, {"prompt_id": ids.take(own), "prompt": texts.take(own)})

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
