"""What the kinds share whose answer is one label for each image."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pqpp_annotation.errors import StudyError
from pqpp_annotation.kinds.kind import Partial, TaskKind, Vote
from pqpp_datasets.own_benchmark.votes.scales import Scale, named_scale
from pqpp_files.errors import FileError
from pqpp_files.read_table import read_table

UNSURE = "unsure"
"""The cell of an answer None."""


class LabelKind(TaskKind):
    """A kind whose answer is `{"label": a whole number}` for each image.

    Attributes:
        partial_columns: What the columns of a file of earlier answers may be called, in the order
            of the fields of `Partial`.
    """

    partial_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "prompt_id": ("prompt_id",),
        "image": ("image",),
        "model": ("model",),
        "answer": ("label",),
    }

    def schema_of(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema with the labels of the scale."""
        return {
            "type": "object",
            "properties": {"label": {"enum": list(self.labels(settings))}},
            "required": ["label"],
            "additionalProperties": False,
        }

    def labels(self, settings: Mapping[str, Any]) -> tuple[int | None, ...]:
        """Return the labels that may be given, best first or lowest first."""
        scale = self._scale(settings)
        return tuple(range(int(scale.low), int(scale.high) + 1))

    def _scale(self, settings: Mapping[str, Any]) -> Scale:
        name = self.scale_of(settings)
        assert name is not None
        return named_scale(name)

    def label(self, value: Mapping[str, Any]) -> float | None:
        """Return the label, None where a person is unsure."""
        return None if value["label"] is None else float(value["label"])

    def expected(self, cell: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the label that a cell stands for: a number, one of the scale's words, "unsure"."""
        if cell.strip().lower() == UNSURE and None in self.labels(settings):
            return {"label": None}
        label = self._scale(settings).value_of(cell)
        if label not in self.labels(settings):
            allowed = ", ".join(UNSURE if n is None else str(n) for n in self.labels(settings))
            raise StudyError(f"the answer is {cell!r:.60}; it must be {allowed}")
        return {"label": int(label)}

    def read_partial(self, path: str | Path, settings: Mapping[str, Any]) -> list[Partial]:
        r"""Read answers about images from a table; rows whose answer is blank are left out.

        Of the names in `partial_columns` the first that is there is taken; `model` may be missing.

        Raises:
            StudyError: A column is missing, an answer is none, or the file cannot be read.

        Example:
            >>> import tempfile
            >>> from pqpp_annotation.kinds import task_kind
            >>> path = Path(tempfile.mkdtemp()) / "half.csv"
            >>> _ = path.write_text("prompt_id,image,label\n7,a.png,yes\n8,b.png,\n")
            >>> [partial] = task_kind("match").read_partial(path, {})
            >>> partial.prompt_id, partial.image, partial.value
            ('7', 'a.png', {'label': 1})
        """
        try:
            table = read_table(path)
        except FileError as error:
            raise StudyError(str(error)) from None
        columns = {}
        for role, names in self.partial_columns.items():
            name = next((name for name in names if name in table), None)
            if name is None and role != "model":
                raise StudyError(f"{path}: no column {' or '.join(names)}; name the column so")
            cells = [None] * len(table) if name is None else table[name]
            columns[role] = ["" if cell is None else str(cell) for cell in cells]
        partials = []
        for row, (prompt_id, image, model, answer) in enumerate(
            zip(*columns.values(), strict=True)
        ):
            if not answer.strip():
                continue
            place = table.place_of(row)
            try:
                value = self.expected(answer, settings)
            except StudyError as error:
                raise StudyError(f"{place}: {error}") from None
            partials.append(Partial(prompt_id, image, model, value, place))
        return partials

    def tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return `judgments`, what `pqpp build` reads."""
        return {"judgments": judgments(votes)}


def judgments(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Turn votes on images into the rows that `pqpp build` reads.

    Example:
        >>> vote = Vote("7", "A cat.", "7/1.png", "sdxl", "anna", False, {"label": 2}, 3.25, 0,
        ...             "work", {})
        >>> [row] = judgments([vote])
        >>> row["label"], row["annotator"], row["control"], row["seconds"]
        (2, 'anna', 'false', 3.25)
    """
    for vote in votes:
        yield {
            **vote.columns("prompt_id", "prompt", "image", "model", "annotator"),
            "label": vote.value["label"],
            "control": "true" if vote.is_control else "false",
            "seconds": round(vote.seconds, 3),
        }
