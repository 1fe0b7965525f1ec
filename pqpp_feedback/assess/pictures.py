"""Generated images and their prompts: found in a folder, opened whatever their kind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pqpp_feedback.errors import AssessError, ImageError
from pqpp_files.errors import FileError
from pqpp_files.foreign.images import ENDINGS, open_image
from pqpp_files.paths import expanded
from pqpp_files.read_table import read_table

Row = Mapping[str, Any]
METADATA = ("metadata.jsonl", "metadata.csv")
SHORTEST, LONGEST = 8, 4096
"""Pixels of an image's side: with less it is not assessed, and above it is made smaller."""


@dataclass(frozen=True)
class Picture:
    """An image file, and what it was generated from.

    Attributes:
        path: The file.
        prompt: The text; empty where there is none.
        image_id: The file's path below the folder of images, with `/`.
        prompt_id: Of the prompt; empty where it has none.
        generator: The model that made the image; empty where it is not told.
        about: Further columns of the prompt, such as its task.
        problem: Why it cannot be assessed, in words; empty where it can.
    """

    path: Path
    prompt: str
    image_id: str = ""
    prompt_id: str = ""
    generator: str = ""
    about: Row = field(default_factory=dict)
    problem: str = ""


def find_pictures(
    image_dir: str | Path, prompts: Iterable[Row] | None = None
) -> tuple[list[Picture], list[str]]:
    """Find the images of a folder with their prompts, in the order of their paths.

    Images lie as `{prompt_id}/{model}_{i}.png`, also below `images/`, or a table in the folder
    lists them: `metadata.jsonl` or `metadata.csv` with `file_name` and any of `prompt` (or `text`),
    `prompt_id`, `model` and further columns (the form of the imagefolder builder); or a text file
    of an image's name beside it holds its prompt. What the folder says of a prompt wins over
    `prompts`.

    Args:
        image_dir: The folder.
        prompts: Rows with `prompt`, `prompt_id` and further columns.

    Returns:
        The pictures, and the ids of prompts that no image has.

    Raises:
        AssessError: There is no such folder, no image in it, a listed image is not there, or a
            prompt's id stands twice.
        FileError: The table of the folder cannot be read.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "7"
        >>> folder.mkdir()
        >>> (folder / "sdxl_0.png").touch()
        >>> prompts = [{"prompt_id": 7, "prompt": "a cat"}, {"prompt_id": 8, "prompt": "a dog"}]
        >>> (one,), unseen = find_pictures(folder.parent, prompts)
        >>> one.prompt, one.generator, unseen
        ('a cat', 'sdxl', ['8'])
    """
    root = _folder(image_dir)
    listed = _listed(root)
    if not listed and (root / "images").is_dir():
        root = root / "images"
        listed = _listed(root)
    paths = {path.relative_to(root).as_posix(): path for path in image_files(root)}
    known: dict[str, Row] = {}
    for row in prompts or ():
        prompt_id = str(row["prompt_id"])
        if known.setdefault(prompt_id, row) is not row:
            raise AssessError(f"the prompt_id {prompt_id!r:.60} stands twice; give each its own")
    found = [_picture(paths[name], name, listed.get(name), known) for name in sorted(paths)]
    seen = {picture.prompt_id for picture in found}
    return found, [prompt_id for prompt_id in known if prompt_id not in seen]


def image_files(folder: Path) -> list[Path]:
    """Return the images of a folder and of those in it, sorted.

    Raises:
        AssessError: There is none.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "b.png").touch(), (folder / "a.jpg").touch(), (folder / "notes.txt").touch()
        (None, None, None)
        >>> [path.name for path in image_files(folder)]
        ['a.jpg', 'b.png']
    """
    found = sorted(path for path in folder.rglob("*") if _is_image(path))
    if not found:
        raise AssessError(f"{folder} holds no image ({', '.join(ENDINGS)}); name one with some")
    return found


def _folder(path: str | Path) -> Path:
    root = expanded(path)
    if not root.is_dir():
        raise AssessError(f"there is no folder {root}; check the path")
    return root


def read_prompt_table(path: str | Path, column: str = "prompt") -> Iterator[dict[str, Any]]:
    r"""Give the rows of a table of prompts, with `prompt` and `prompt_id`.

    Args:
        column: Which of its columns holds the prompts.

    Raises:
        FileError: The table cannot be read, or a prompt is no text.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("text\na cat\n")
        >>> list(read_prompt_table(path, "text"))
        [{'prompt_id': 0, 'text': 'a cat', 'prompt': 'a cat'}]
    """
    table = read_table(path, plain=column)
    return numbered_prompts([{**table.columns, "prompt": table.texts(column)}])


def numbered_prompts(parts: Iterable[Mapping[str, Sequence[Any]]]) -> Iterator[dict[str, Any]]:
    """Give the rows of tables, counted from 0 as `prompt_id` where a table has no such column.

    Example:
        >>> list(numbered_prompts([{"prompt": ["a cat"]}, {"prompt": ["a dog"]}]))[1]
        {'prompt_id': 1, 'prompt': 'a dog'}
    """
    number = 0
    for part in parts:
        for row in zip(*part.values(), strict=True):
            yield {"prompt_id": number, **dict(zip(part, row, strict=True))}
            number += 1


def pictures_of(image_dir: str | Path, prompt: Row) -> list[Picture]:
    """Find the images of one prompt alone, so that a folder may hold any number of others.

    Args:
        image_dir: Where they lie as `{prompt_id}/{model}_{i}.png`, also below `images/`; what a
            table in the folder lists is not read.
        prompt: A row with `prompt`, `prompt_id`, which can be a folder's name, and further columns.

    Returns:
        The pictures, in the order of their names; none where there is no image.

    Raises:
        AssessError: There is no such folder of images.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "7"
        >>> folder.mkdir()
        >>> (folder / "sdxl_0.png").touch()
        >>> [one.image_id for one in pictures_of(folder.parent, {"prompt_id": "7", "prompt": "a"})]
        ['7/sdxl_0.png']
    """
    root, prompt_id = _folder(image_dir), str(prompt["prompt_id"])
    root = root if (root / prompt_id).is_dir() else root / "images"
    try:
        found = sorted(path for path in (root / prompt_id).iterdir() if _is_image(path))
    except FileNotFoundError:
        return []
    known = {prompt_id: prompt}
    return [_picture(path, f"{prompt_id}/{path.name}", None, known) for path in found]


def read_folder(folder: str | Path) -> list[Picture]:
    """Find the images of a folder as `find_pictures` does; each must have a prompt and be readable.

    Raises:
        AssessError: As of `find_pictures`, or an image has no prompt.
        FileError: An image or the table of prompts cannot be read.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (9, 9)).save(folder / "a.png")
        >>> _ = (folder / "a.txt").write_text("a cat")
        >>> [one.prompt for one in read_folder(folder)]
        ['a cat']
    """
    found, _ = find_pictures(folder)
    for picture in found:
        if picture.problem:
            raise AssessError(
                f"{picture.path} {picture.problem}; put one in metadata.jsonl (`file_name`, "
                f"`prompt`) or {picture.path.stem}.txt, saved as UTF-8 text"
            )
        open_image(picture.path)  # a damaged one is told before hours of work, not after
    return found


def open_picture(path: str | Path) -> Any:
    """Return an image as RGB, of an animation the first frame, a very large one made smaller.

    Raises:
        ImageError: It cannot be read, or has a side of less than `SHORTEST` pixels.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> path = Path(tempfile.mkdtemp()) / "a.tif"
        >>> Image.new("CMYK", (9, 8)).save(path)
        >>> open_picture(path).mode
        'RGB'
    """
    try:
        image = open_image(path, longest=LONGEST)
    except FileError as error:
        raise ImageError(f"it could not be read ({type(error.__context__).__name__})") from None
    width, height = image.size
    if min(image.size) < SHORTEST:
        raise ImageError(
            f"it has {width} x {height} pixels, {SHORTEST} x {SHORTEST} are the fewest"
        )
    return image


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".") and path.is_file()


def _listed(root: Path) -> dict[str, dict[str, Any]]:
    path = next((root / name for name in METADATA if (root / name).is_file()), None)
    if path is None:
        return {}
    table = read_table(path, remedy="each row needs `file_name` and `prompt`")
    names = [str(PurePosixPath(name)) for name in table.texts("file_name")]  # ./a.png is a.png
    absent = next((name for name in names if not (root / name).is_file()), None)
    if absent is not None:
        raise AssessError(
            f"the metadata in {root} list {absent}, which is not there; add the file or take the "
            "row out"
        )
    rows = zip(*table.columns.values(), strict=True)
    cells = (dict(zip(table.columns, row, strict=True)) for row in rows)
    return dict(zip(names, cells, strict=True))


def _picture(path: Path, image_id: str, row: Row | None, known: Mapping[str, Row]) -> Picture:
    row = {name: cell for name, cell in (row or {}).items() if cell is not None}
    folder, _, name = image_id.rpartition("/")
    prompt_id = str(row.get("prompt_id", "")) or folder.rpartition("/")[2]
    generator = str(row.get("model", "")) or (name.rpartition("_")[0] if folder else "")
    asked = known.get(prompt_id, {})
    prompt, problem = _prompt_of(path, row, asked)
    if problem == "has no prompt" and known and prompt_id:
        problem = f"has no prompt: there is none with the id {prompt_id}"
    if row.get("prompt", "") == "":  # then the row's `text` is its prompt, else what is asked
        row.pop("text", None)
    known_columns = ("file_name", "prompt", "prompt_id", "model")
    about = {name: cell for name, cell in {**asked, **row}.items() if name not in known_columns}
    return Picture(path, prompt, image_id, prompt_id, generator, about, problem)


def _prompt_of(path: Path, row: Row, asked: Row) -> tuple[str, str]:
    """Return a prompt, and what is wrong with it."""
    prompt = row.get("prompt")
    if prompt in (None, ""):
        prompt = row.get("text", prompt)
    if prompt is None and not row:
        beside = path.with_suffix(".txt")
        try:
            prompt = beside.read_text(encoding="utf-8-sig").strip() if beside.is_file() else None
        except (UnicodeDecodeError, OSError) as error:
            return "", f"has a prompt in {beside.name} that cannot be read ({type(error).__name__})"
    prompt = asked.get("prompt") if prompt is None else prompt
    if prompt is None:
        return "", "has no prompt"
    if isinstance(prompt, str) and prompt.strip():
        return prompt, ""
    return "", f"has the prompt {prompt!r:.40}, which says nothing"
