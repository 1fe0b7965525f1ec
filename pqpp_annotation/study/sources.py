"""Images from URLs or a dataset, copied next to the study file."""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pqpp_annotation.errors import AnnotationError
from pqpp_files.atomic_write import atomic_write, lock_folder, write_file
from pqpp_files.hashes import hash_parts

_AT_ONCE = 8
ADDRESS = re.compile(r"https?://", re.IGNORECASE)


@contextlib.contextmanager
def make_folder(folder: Path) -> Iterator[None]:
    """Create a folder for a block, and remove it if the block leaves it empty."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # not empty
            for path in missing:
                path.rmdir()


def fetch_images(urls: Iterable[str], folder: Path) -> dict[str, Path]:
    """Download images to a folder, except those that exist there.

    Returns:
        Files by URL.

    Raises:
        AnnotationError: Downloads failed.

    Example:
        >>> fetch_images([], Path("images"))
        {}
    """
    paths = {url: folder / hash_parts([url])[:32] for url in urls}
    # Downloaded images stay for the next try.
    with make_folder(folder), ThreadPoolExecutor(_AT_ONCE) as pool:
        faults = [fault for fault in pool.map(_download, paths.items()) if fault]
    if faults:
        more = f" (and {len(faults) - 1} more)" if faults[1:] else ""
        raise AnnotationError(f"{faults[0]}{more}; try again, or correct the table")
    return paths


def _download(pair: tuple[str, Path]) -> str | None:
    """Download an image unless it exists; return None, or a description of the error."""
    from pqpp_hub.pull import download

    url, path = pair
    if path.exists():
        return None
    try:
        with atomic_write(path) as temp_path:
            download(url, temp_path)
    except (OSError, ValueError) as error:
        safe_url = re.sub("//[^/]*@", "//", url)  # without a password
        return f"image {safe_url:.200}: {' '.join(str(error).split())[:150]}"
    return None


def write_prompt_table(rows: Any, folder: Path, image_column: str = "image") -> Path:
    """Write a dataset's images, and a table of its prompts, to a folder; replace no file.

    Args:
        rows: A `datasets.Dataset` with the columns `prompt` and `image_column`; cells of the latter
            are images, paths or URLs. Other columns with strings or numbers are copied.
        folder: The folder to write to; images are numbered from the count of the files in it.
        image_column: The column with the images.

    Returns:
        The table, in JSON Lines.

    Raises:
        AnnotationError: The image column does not exist, an image is missing, or a file exists.

    Example:
        >>> import tempfile, datasets
        >>> from PIL import Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> rows = {"prompt": ["a cat"], "image": [str(folder / "a.png")]}
        >>> rows = datasets.Dataset.from_dict(rows)
        >>> table = write_prompt_table(rows, folder / "images")
        >>> table.name, '"prompt": "a cat"' in table.read_text()
        ('prompts-000000.jsonl', True)
    """
    import datasets

    if image_column not in rows.column_names:
        hint = f"set `image_column` (columns: {', '.join(rows.column_names)[:200]})"
        raise AnnotationError(f"no column {image_column!r} in the dataset; {hint}")
    is_image = isinstance(rows.features[image_column], datasets.Image)
    if is_image:
        rows = rows.cast_column(image_column, datasets.Image(decode=False))
    columns = [
        name
        for name, feature in rows.features.items()
        if name == image_column or isinstance(feature, datasets.Value | datasets.ClassLabel)
    ]
    rows = rows.select_columns(columns)
    folder.mkdir(parents=True, exist_ok=True)

    def write_new(name: str, content: str | bytes) -> Path:
        if (path := folder / name).exists():
            raise AnnotationError(f"{path} already exists; move it to another folder")
        write_file(path, content)
        return path

    with lock_folder(folder):  # another run may number its images at the same time
        first, lines = len(list(folder.iterdir())), []
        for number, row in enumerate(rows, 1):
            if is_image:
                cell = row[image_column] or {}
                path, content = Path(cell.get("path") or ""), cell.get("bytes")
                if content is None and not path.is_file():
                    raise AnnotationError(f"dataset, row {number}: image not found; remove the row")
                row[image_column] = f"{first + number - 1:06d}{path.suffix.lower()}"
                write_new(row[image_column], path.read_bytes() if content is None else content)
            lines.append(json.dumps(row, ensure_ascii=False, default=str))
        return write_new(f"prompts-{first:06d}.jsonl", "\n".join(lines) + "\n")
