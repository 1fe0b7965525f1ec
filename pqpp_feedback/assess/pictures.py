"""Find generated images and their prompts in a folder, and open the images."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pqpp_feedback.errors import FeedbackError
from pqpp_files.errors import FileError
from pqpp_files.foreign.images import ENDINGS, open_image
from pqpp_files.paths import expand, join_inside, walk_files
from pqpp_files.read_table import read_table
from pqpp_files.shards import ShardStore, is_local
from pqpp_metrics.tables import as_text

Row = Mapping[str, Any]
METADATA = ("metadata.jsonl", "metadata.csv")
# Pixels of an image's side: smaller images are not assessed, and larger ones are scaled down.
SHORTEST, LONGEST = 8, 4096


@dataclass(frozen=True)
class Picture:
    """An image file and its source.

    Attributes:
        prompt: The prompt's text; empty if there is none.
        image_id: The path below the folder of images, with `/`.
        prompt_id: The prompt's id; empty if there is none.
        generator: The model that made the image; empty if unknown.
        about: Further columns of the prompt, such as its task.
        problem: Why the image cannot be assessed, such as "has no prompt"; empty if it can.
        content: The bytes of the file, for an image in memory.
    """

    path: Path
    prompt: str
    image_id: str = ""
    prompt_id: str = ""
    generator: str = ""
    about: Row = field(default_factory=dict)
    problem: str = ""
    content: bytes = field(default=b"", repr=False)

    def open(self) -> Any:
        """Return the image as RGB, or raise a `FeedbackError` if it cannot be assessed."""
        if self.problem:
            raise FeedbackError(f"the image {self.problem}")
        return open_picture(self.content or self.path)


def find_pictures(
    image_dir: str | Path, prompts: Iterable[Row] | None = None
) -> tuple[list[Picture], list[str]]:
    r"""Find the images of a folder and their prompts, in order of the paths.

    Images are named `{prompt_id}/{model}_{i}.png`, also below `images/`, or a table in the folder
    lists them: `metadata.jsonl` or `metadata.csv` with `file_name` and any of `prompt` (or `text`),
    `prompt_id`, `model` and further columns (the format of the imagefolder builder). A prompt can
    also be in a `.txt` file next to the image (`a.png`, `a.txt`). Prompts that are found in the
    folder override `prompts`.

    Args:
        prompts: Rows with `prompt`, `prompt_id` and further columns.

    Returns:
        The pictures, and the ids of prompts without images.

    Raises:
        FeedbackError: The folder does not exist or has no image, a listed image is missing, or a
            prompt id is not unique.
        FileError: The table of the folder cannot be read.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "7"
        >>> folder.mkdir()
        >>> (folder / "sdxl_0.png").touch()
        >>> prompts = [{"prompt_id": 7, "prompt": "a cat"}, {"prompt_id": 8, "prompt": "a dog"}]
        >>> [picture], missing = find_pictures(folder.parent, prompts)
        >>> picture.prompt, picture.generator, missing
        ('a cat', 'sdxl', ['8'])
        >>> _ = (folder.parent / "metadata.csv").write_text("file_name,prompt\n7/sdxl_0.png,\n")
        >>> find_pictures(folder.parent, prompts)[0] == [picture]  # an empty cell is no prompt
        True
    """
    root = _expand_folder(image_dir)
    listed = _read_metadata(root)
    if not listed and (root / "images").is_dir():
        root = root / "images"
        listed = _read_metadata(root)
    paths = {path.relative_to(root).as_posix(): path for path in list_images(root)}
    prompt_rows: dict[str, Row] = {}
    for row in prompts or ():
        prompt_id = as_text(row["prompt_id"])
        if not prompt_id:
            raise FeedbackError(f"{row['prompt']!r:.60} has a blank prompt_id; fill in the cell")
        if prompt_rows.setdefault(prompt_id, row) is not row:
            raise FeedbackError(f"duplicate prompt_id {prompt_id!r:.60}; use each id once")
    pictures = [_make_picture(paths[n], n, listed.get(n), prompt_rows) for n in sorted(paths)]
    used_ids = {picture.prompt_id for picture in pictures}
    return pictures, [prompt_id for prompt_id in prompt_rows if prompt_id not in used_ids]


def list_images(folder: Path) -> list[Path]:
    """Return the images of a folder and its subfolders, sorted.

    Raises:
        FeedbackError: There are no images.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "b.png").touch(), (folder / "a.jpg").touch(), (folder / "notes.txt").touch()
        (None, None, None)
        >>> [path.name for path in list_images(folder)]
        ['a.jpg', 'b.png']
    """
    paths = [path for path in walk_files(folder) if _is_image(path)]
    if not paths:
        raise FeedbackError(f"{folder} has no images ({', '.join(ENDINGS)}); choose another folder")
    return paths


def _expand_folder(path: str | Path) -> Path:
    root = expand(path)
    if not root.is_dir():
        raise FeedbackError(f"{root}: no such folder; check the path")
    return root


def read_prompt_table(path: str | Path, column: str = "prompt") -> Iterator[dict[str, Any]]:
    r"""Yield the rows of a table of prompts, with `prompt` and `prompt_id`.

    Args:
        column: The prompt column.

    Raises:
        FileError: The table cannot be read, or a prompt is not text.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("text\na cat\n")
        >>> list(read_prompt_table(path, "text"))
        [{'prompt_id': 0, 'text': 'a cat', 'prompt': 'a cat'}]
    """
    table = read_table(path, plain=column)
    return add_prompt_ids([{**table.columns, "prompt": table.texts(column)}])


def add_prompt_ids(parts: Iterable[Mapping[str, Sequence[Any]]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of tables; without a column `prompt_id`, rows are counted from 0.

    Example:
        >>> list(add_prompt_ids([{"prompt": ["a cat"]}, {"prompt": ["a dog"]}]))[1]
        {'prompt_id': 1, 'prompt': 'a dog'}
    """
    number = 0
    for part in parts:
        for row in zip(*part.values(), strict=True):
            yield {"prompt_id": number, **dict(zip(part, row, strict=True))}
            number += 1


def find_images(image_dir: str | Path, prompt: Row) -> list[Picture]:
    """Find the images of one prompt, without listing the whole folder.

    Args:
        image_dir: Images named `{prompt_id}/{model}_{i}.png`, optionally below `images/`; a table
            in the folder is not read. For an fsspec URL, only PNG files are read.
        prompt: A row with `prompt`, `prompt_id` (a valid folder name) and further columns.

    Returns:
        The pictures in order of their names.

    Raises:
        FeedbackError: The folder does not exist.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "7"
        >>> folder.mkdir()
        >>> (folder / "sdxl_0.png").touch()
        >>> prompt = {"prompt_id": "7", "prompt": "a cat"}
        >>> [picture.image_id for picture in find_images(folder.parent, prompt)]
        ['7/sdxl_0.png']
    """
    prompt_id = str(prompt["prompt_id"])
    if not is_local(str(image_dir)):
        store = ShardStore(image_dir)
        names = [name for name in store.find(prompt_id) if name.endswith(".png")]
        text, about = prompt["prompt"], _get_other_columns(prompt)
        return [
            Picture(Path(n), text, n, prompt_id, _parse_model(n), about, content=store.read(n))
            for n in sorted(names)
        ]
    root = _expand_folder(image_dir)
    root = root if (root / prompt_id).is_dir() else root / "images"
    try:
        paths = sorted(path for path in (root / prompt_id).iterdir() if _is_image(path))
    except FileNotFoundError:
        return []
    prompt_rows = {as_text(prompt_id): prompt}
    return [_make_picture(path, f"{prompt_id}/{path.name}", None, prompt_rows) for path in paths]


def _parse_model(name: str) -> str:
    """Return the generator in an image's name, `PROMPT_ID/MODEL_0.png`."""
    folder, _, file = name.rpartition("/")
    return file.rpartition("_")[0] if folder else ""


def open_picture(path: str | Path | bytes) -> Any:
    """Open an image as RGB; of an animation, the first frame. Very large images are scaled down.

    Raises:
        FeedbackError: The image cannot be read, or a side is shorter than `SHORTEST` pixels.

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
        raise FeedbackError(f"cannot read the image ({type(error.__context__).__name__})") from None
    width, height = image.size
    if min(image.size) < SHORTEST:
        requirement = f"the image must have at least {SHORTEST} x {SHORTEST} pixels"
        raise FeedbackError(f"{requirement}; got {width} x {height}")
    return image


def open_pictures(pictures: Iterable[Picture]) -> Iterator[tuple[Any, Picture]]:
    """Yield each picture that can be assessed, with its opened image before it."""
    for picture in pictures:
        try:
            image = picture.open()
        except FeedbackError:  # reported when the picture is assessed
            continue
        yield image, picture


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".") and path.is_file()


def _read_metadata(root: Path) -> dict[str, dict[str, Any]]:
    path = next((join_inside(root, name) for name in METADATA if (root / name).is_file()), None)
    if path is None:
        return {}
    table = read_table(path, remedy="each row needs `file_name` and `prompt`")
    names = [str(PurePosixPath(name)) for name in table.texts("file_name")]  # without "./"
    for name in names:
        if not (root / name).is_file():
            problem = f"{path} lists {name!r}, which does not exist"
            raise FeedbackError(f"{problem}; add the image or remove the row")
    rows = zip(*table.columns.values(), strict=True)
    cells = (dict(zip(table.columns, row, strict=True)) for row in rows)
    return dict(zip(names, cells, strict=True))


def _make_picture(
    path: Path, image_id: str, row: Row | None, prompts: Mapping[str, Row]
) -> Picture:
    # CSV cannot tell a missing cell from an empty one.
    row = {name: cell for name, cell in (row or {}).items() if cell not in (None, "")}
    folder = image_id.rpartition("/")[0]
    prompt_id = as_text(row.get("prompt_id", folder.rpartition("/")[2]))
    generator = str(row.get("model", "")) or _parse_model(image_id)
    prompt_row = prompts.get(prompt_id, {})
    prompt, problem = _find_prompt(path, row, prompt_row)
    if problem == "has no prompt" and prompts and prompt_id:
        problem = f"has no prompt: the id {prompt_id} is unknown"
    if "prompt" not in row:  # the prompt is in `text`
        row.pop("text", None)
    about = _get_other_columns({**prompt_row, **row})
    return Picture(path, prompt, image_id, prompt_id, generator, about, problem)


def _get_other_columns(row: Row) -> Row:
    known_columns = ("file_name", "prompt", "prompt_id", "model")
    return {name: cell for name, cell in row.items() if name not in known_columns}


def _find_prompt(path: Path, row: Row, prompt_row: Row) -> tuple[str, str]:
    """Return an image's prompt and "", or "" and the reason why it has no prompt."""
    prompt = row.get("prompt", row.get("text"))
    if prompt is None and not row:
        path = join_inside(path.parent, path.with_suffix(".txt").name)
        try:
            if path.is_file():
                prompt = path.read_text(encoding="utf-8-sig").strip()
        except (UnicodeDecodeError, OSError) as error:
            return "", f"has a prompt in {path.name} that cannot be read ({type(error).__name__})"
    prompt = prompt_row.get("prompt") if prompt is None else prompt
    if prompt is None:
        return "", "has no prompt"
    if isinstance(prompt, str) and prompt.strip():
        return prompt, ""
    return "", f"has the prompt {prompt!r:.40}, which has no words"
