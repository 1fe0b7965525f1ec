"""What people say of images, from a table of a user, beside rows of verdicts."""

from collections.abc import Iterable
from pathlib import Path

from pqpp_feedback.assess.pictures import Row
from pqpp_feedback.errors import FeedbackError
from pqpp_files.read_table import read_table

_COLUMNS = ("matched", "label", "verdict")
_ANSWERS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class PeopleSay(dict[tuple[str, ...], bool]):
    """People's answers: the key of an image, `(image,)` or `(prompt_id, generator)`, to it."""

    def of(self, row: Row) -> bool | None:
        """Return the answer on the image of a row of verdicts; None where there is none.

        Example:
            >>> row = {"image": "a.png", "prompt_id": 7, "generator": "sdxl"}
            >>> PeopleSay({("7", "sdxl"): True}).of(row)
            True
        """
        by_prompt = (str(row["prompt_id"]), str(row["generator"]))
        return self.get((str(row["image"]),), self.get(by_prompt))


def read_people(path: str | Path) -> PeopleSay:
    r"""Read people's answers from a table.

    The answer stands in `matched`, `label` or `verdict`, as true or false, yes or no, 1 or 0; an
    empty one counts for nothing. The image is told by `image`, or by `prompt_id` and `model` (or
    `generator`). Of several answers on one image the more frequent counts, and none if they are
    as many.

    Raises:
        FeedbackError: An answer is none of these, or there is none at all.
        FileError: The table cannot be read or has no such columns.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
        >>> _ = path.write_text("image,matched\na.png,yes\n")
        >>> read_people(path).of({"image": "a.png", "prompt_id": "", "generator": ""})
        True
    """
    table = read_table(path)
    column = next((name for name in _COLUMNS if name in table), _COLUMNS[0])
    generator = "generator" if "generator" in table else "model"
    columns = ["image"] if "image" in table else ["prompt_id", generator]
    votes: dict[tuple[str, ...], list[bool]] = {}
    keys = zip(*(table[name] for name in columns), strict=True)
    for row, (key, cell) in enumerate(zip(keys, table[column], strict=True)):
        word = str("" if cell is None else cell).strip().lower()
        if not word:
            continue
        if word not in _ANSWERS:
            wrong = f"{table.place_of(row)}: {column} is {cell!r:.40}"
            raise FeedbackError(f"{wrong}; write true or false, yes or no, or 1 or 0")
        votes.setdefault(tuple(map(str, key)), []).append(_ANSWERS[word])
    means = {key: sum(some) / len(some) for key, some in votes.items()}
    answers = {key: mean > 0.5 for key, mean in means.items() if mean != 0.5}
    if not answers:
        raise FeedbackError(f"{path}: no image has an answer; fill the column {column}")
    return PeopleSay(answers)


def with_people(rows: Iterable[Row], people: PeopleSay) -> tuple[list[Row], list[bool]]:
    """Return the rows that people have answered, and their answers.

    Example:
        >>> rows = [{"image": name, "prompt_id": "", "generator": ""} for name in ("a", "b")]
        >>> known, answers = with_people(rows, PeopleSay({("b",): False}))
        >>> [row["image"] for row in known], answers
        (['b'], [False])
    """
    pairs = [(row, people.of(row)) for row in rows]
    known = [(row, answer) for row, answer in pairs if answer is not None]
    return [row for row, _ in known], [answer for _, answer in known]
