"""What the kinds share whose answer is one label for each image."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pqpp_annotation.errors import AnswerError, StudyError
from pqpp_annotation.kinds.kind import ShownItem, TaskKind, Vote
from pqpp_annotation.kinds.partial import Partial, read_answers


class LabelKind(TaskKind):
    """A kind whose answer is `{"label": a whole number}` for each image.

    Attributes:
        partial_columns: What the columns of a file of earlier answers may be called.
    """

    partial_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "prompt_id": ("prompt_id",),
        "image": ("image",),
        "model": ("model",),
        "answer": ("label",),
    }

    schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"label": {"type": ["integer", "null"]}},
        "required": ["label"],
        "additionalProperties": False,
    }

    def schema_of(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema with the labels of the scale."""
        return {**self.schema, "properties": {"label": {"enum": list(self.labels(settings))}}}

    def labels(self, settings: Mapping[str, Any]) -> tuple[int | None, ...]:
        """Return the labels that may be given, best first or lowest first."""
        from pqpp_datasets.own_benchmark.votes.scales import named_scale

        name = self.scale_of(settings)
        assert name is not None
        scale = named_scale(name)
        return tuple(range(int(scale.low), int(scale.high) + 1))

    def check(
        self, value: Mapping[str, Any], shown: ShownItem, settings: Mapping[str, Any]
    ) -> None:
        """Refuse a label that the scale has not."""
        labels = self.labels(settings)
        if value["label"] not in labels:
            raise AnswerError(
                f"label is {value['label']!r:.60}; {', '.join(map(str, labels))} is allowed"
            )

    def label(self, value: Mapping[str, Any]) -> float | None:
        """Return the label."""
        return float(value["label"])

    def expected(self, cell: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the label that a cell stands for, a number or one of the scale's words."""
        from pqpp_datasets.own_benchmark.votes.scales import named_scale

        name = self.scale_of(settings)
        assert name is not None
        label = named_scale(name).value_of(cell)
        if label not in self.labels(settings):
            allowed = ", ".join(map(str, self.labels(settings)))
            raise StudyError(f"the answer is {cell!r:.60}; {allowed} is allowed")
        return {"label": int(label)}

    def read_partial(self, path: str | Path, settings: Mapping[str, Any]) -> list[Partial]:
        """Read answers that were given elsewhere, to be continued here.

        Args:
            path: A table like the export; blank answers are left out.
            settings: Those of the study.

        Raises:
            StudyError: A column is missing or a cell is no answer.
        """
        return read_answers(path, self.partial_columns, lambda cell: self.expected(cell, settings))

    def export(self, votes: Iterable[Vote], settings: Mapping) -> dict[str, Iterable[dict]]:
        """Return `judgments`, what `pqpp build` reads."""
        return {"judgments": judgments(votes)}


def judgments(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Turn votes on images into the rows that `pqpp build` reads; training is left out.

    Example:
        >>> vote = Vote("7", "A cat.", "7/1.png", "sdxl", "anna", False, {"label": 2}, 3.25, 0,
        ...             "work", {})
        >>> [row] = judgments([vote])
        >>> row["label"], row["annotator"], row["control"], row["seconds"]
        (2, 'anna', 'false', 3.25)
    """
    for vote in votes:
        if vote.purpose == "training":
            continue
        yield {
            "prompt_id": vote.prompt_id,
            "prompt": vote.prompt,
            "image": vote.image,
            "model": vote.model,
            "annotator": vote.annotator,
            "label": vote.value["label"],
            "control": "true" if vote.is_control else "false",
            "seconds": round(vote.seconds, 3),
        }
