"""Answers that were given elsewhere, read from a file to be continued in a study."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_annotation.errors import StudyError
from pqpp_files.errors import FileError
from pqpp_files.read_table import Table, read_table


@dataclass(frozen=True)
class Partial:
    """An answer that was given elsewhere.

    Attributes:
        image: Name of the image, or the last part of its path.
        model: Whose image it is, "" where the file does not say.
        place: Where it stands, for errors.
    """

    prompt_id: str
    image: str
    model: str
    value: Mapping[str, Any]
    place: str

    def fits(self, prompt_id: str, image: str, model: str) -> bool:
        """Tell whether an image of the study is the one that it is about.

        Example:
            >>> Partial("7", "p7.png", "", {"label": 1}, "a.csv, line 2").fits(
            ...     "7", "dalle/p7.png", "Dalle")
            True
        """
        name = image == self.image or image.endswith(f"/{self.image}")
        return name and prompt_id == self.prompt_id and self.model in ("", model)


def read_answers(
    path: str | Path,
    roles: Mapping[str, Sequence[str]],
    value_of: Callable[[str], dict[str, Any]],
) -> list[Partial]:
    r"""Read answers about images from a table; rows whose answer is blank are left out.

    Args:
        path: As for `pqpp_files.read_table`.
        roles: What each of `prompt_id`, `image`, `model` and `answer` may be called, the first
            that is there being taken; `model` may be missing.
        value_of: Turns a cell into an answer's value; raises `StudyError` for one that is none.

    Raises:
        StudyError: A column is missing, an answer is none, or the file cannot be read.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "half.csv"
        >>> _ = path.write_text("id,file,said\n7,a.png,yes\n8,b.png,\n")
        >>> roles = {"prompt_id": ["id"], "image": ["file"], "model": ["model"], "answer": ["said"]}
        >>> [one] = read_answers(path, roles, lambda cell: {"label": int(cell == "yes")})
        >>> one.prompt_id, one.image, one.value
        ('7', 'a.png', {'label': 1})
    """
    try:
        table = read_table(path)
    except FileError as error:
        raise StudyError(str(error)) from None
    columns = {role: _column(path, table, role, names) for role, names in roles.items()}
    return list(_rows(table, columns, value_of))


def _column(path: str | Path, table: Table, role: str, names: Sequence[str]) -> list[str] | None:
    found = next((name for name in names if name in table), None)
    if found is None and role != "model":
        raise StudyError(f"{path}: no column {' or '.join(names)}; name the column so")
    return None if found is None else ["" if cell is None else str(cell) for cell in table[found]]


def _rows(
    table: Table, columns: Mapping[str, list[str] | None], value_of: Callable[[str], dict[str, Any]]
) -> Iterator[Partial]:
    answers, prompts, images = columns["answer"], columns["prompt_id"], columns["image"]
    assert answers is not None and prompts is not None and images is not None
    for row, cell in enumerate(answers):
        if not cell.strip():
            continue
        place = table.place_of(row)
        try:
            value = value_of(cell)
        except StudyError as error:
            raise StudyError(f"{place}: {error}") from None
        models = columns["model"]
        yield Partial(
            prompts[row],
            images[row],
            models[row] if models else "",
            value,
            place,
        )
