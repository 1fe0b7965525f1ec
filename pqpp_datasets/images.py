"""The generated and the reference images of PQPP, as columns of lazily decoded images.

The archive of 33.5 GB is downloaded by hand. Its folders are `images/<COCO image id>/` with
`image_4.png`, `image_5.png` (SDXL), `image_6.png` (the MS COCO image), `image_7.png` and
`image_8.png` (GLIDE). A DrawBench folder has no reference image: 4, 5 are SDXL's and 6, 7 GLIDE's;
it is `drawbench/<index>/` or, where no MS COCO folder has that number, `<index>/`.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.errors import DataFileError
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.paths import expanded

ARCHIVE = (
    "https://fmiunibuc-my.sharepoint.com/:u:/g/personal/radu_ionescu_fmi_unibuc_ro/"
    "Eb0peYyLDVRNn0EPeY7ZwKUBAd4Yt-Zs_PtEpc-DmQ0P4A?e=oIflTJ"
)
WHERE_IMAGES = (
    f"an archive of 33.5 GB, to download by hand from {ARCHIVE}; unpacked, it is the folder for "
    "image_dir= or --image-dir: <COCO image id>/image_4.png and image_5.png (SDXL), image_6.png "
    "(MS COCO), image_7.png and image_8.png (GLIDE); drawbench/<index>/ has SDXL's as 4 and 5, "
    "GLIDE's as 6 and 7"
)
_NUMBERS = {
    "mscoco": {"sdxl_images": (4, 5), "glide_images": (7, 8), "reference_image": (6,)},
    "drawbench": {"sdxl_images": (4, 5), "glide_images": (6, 7), "reference_image": ()},
}
_IDENTITY = ("source", "prompt_id", "image_id")
_IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def features_of_images() -> dict:
    """Return the features of the image columns.

    `sdxl_images` and `glide_images` are lists, shorter or empty where files are not there;
    `reference_image` is null where there is none.
    """
    from datasets import Image, Sequence

    return {
        "sdxl_images": Sequence(Image()),
        "glide_images": Sequence(Image()),
        "reference_image": Image(),
    }


def image_root(image_dir: str | Path) -> Path:
    """Return the folder that holds the prompts' image folders: `image_dir` or `images/` in it."""
    root = expanded(image_dir).absolute()
    if not root.is_dir():
        raise DataFileError(
            f"image_dir={str(image_dir)!r}: no such folder; give the unpacked archive ({ARCHIVE})"
        )
    return root / "images" if (root / "images").is_dir() else root


def cache_key_of_images(image_dir: str | Path) -> str:
    """Return a digest of the folder's place and file names, a part of the cache key.

    A folder that has been moved or filled up is then read anew.
    """
    root = image_root(image_dir)
    paths = [*root.glob("*/*.png"), *root.glob("drawbench/*/*.png")]
    names = sorted(path.relative_to(root).as_posix() for path in paths)
    return sha256_of_parts(["\n".join([str(root), *names])])


def add_images(table: pa.Table, options: Mapping[str, object]) -> pa.Table:
    """Add the three image columns when `image_dir` is among the options.

    Images are named by path and decoded when a row is read.

    Raises:
        DataFileError: The folder is not there, or holds no image of these prompts.
    """
    if not options.get("image_dir"):
        return table
    root = image_root(str(options["image_dir"]))
    identities = zip(*(table[name].to_pylist() for name in _IDENTITY), strict=True)
    rows = [_paths_of(root, *identity) for identity in identities]
    if not any(paths for row in rows for paths in row.values()):
        raise DataFileError(
            f"{root}: no image of the {table.num_rows} prompts is here (expected "
            "<image id>/image_4.png and so on); give the unpacked archive as image_dir= ({ARCHIVE})"
        )
    for name in _NUMBERS["mscoco"]:
        table = table.append_column(name, _image_column(name, [row[name] for row in rows]))
    return table


def _paths_of(root: Path, source: str, prompt_id: str, image_id: int | None) -> dict[str, list]:
    folder = _folder_of(root, source, prompt_id, image_id)
    files = {
        name: [str(path) for n in numbers if (path := folder / f"image_{n}.png").is_file()]
        for name, numbers in _NUMBERS.get(source, {}).items()
    }
    return {name: files.get(name, []) for name in _NUMBERS["mscoco"]}


def _folder_of(root: Path, source: str, prompt_id: str, image_id: int | None) -> Path:
    if source != "drawbench":
        return root / str(image_id)
    index = prompt_id.removeprefix("drawbench-")
    plain = root / index
    # An MS COCO image may have the same number; only its folder has an eighth picture.
    if not (root / "drawbench" / index).is_dir() and not (plain / "image_8.png").exists():
        return plain
    return root / "drawbench" / index


def _image_column(name: str, rows: list[list[str]]) -> pa.Array:
    images = [[{"bytes": None, "path": path} for path in paths] for paths in rows]
    if name == "reference_image":
        return pa.array([row[0] if row else None for row in images], type=_IMAGE)
    return pa.array(images, type=pa.list_(_IMAGE))
