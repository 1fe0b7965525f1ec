"""What every kind of task says of itself, and where the kinds are found by name."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pqpp_annotation.errors import StudyError
from pqpp_files.names import did_you_mean

KINDS = ("relevance", "ranking", "match", "rich", "preference", "rating")
"""Each is a folder here: `kind.py` with the class, `page.html`, `page.js`."""


@dataclass(frozen=True)
class ShownImage:
    """An image as a page shows it; the model and whether it is a reference are not on it."""

    id: int
    sha256: str
    width: int
    height: int


@dataclass(frozen=True)
class ShownItem:
    """An item as a person sees it.

    Attributes:
        assignment: Its id, which answers name.
        images: In the person's own random order.
        answers: Image id (None for the item) to the current answer's value.
        detail: What the kind put there when the study was made.
        position: Its place in the person's own order, from 0.
    """

    assignment: int
    prompt: str
    images: tuple[ShownImage, ...]
    answers: Mapping[int | None, Mapping[str, Any]]
    purpose: str = "work"
    detail: Mapping[str, Any] = field(default_factory=dict)
    position: int = 0


@dataclass(frozen=True)
class Vote:
    """A current answer with all that an export says of it.

    Attributes:
        image: The user's name of the image; "" where the answer is about the item.
        model: "reference" for a reference image.
        images: Of an answer about the item: all its images in the file's order, each with its name,
            its model and the id by which answers name it.
        is_control: Whether the person is a member of the control group.
        created: Milliseconds since 1970, UTC.
        width: Of the image, in pixels; 0 where the answer is about the item.
        height: The same.
    """

    prompt_id: str
    prompt: str
    image: str
    model: str
    annotator: str
    is_control: bool
    value: Mapping[str, Any]
    seconds: float
    created: int
    purpose: str
    detail: Mapping[str, Any]
    images: tuple[tuple[str, str, int], ...] = ()
    width: int = 0
    height: int = 0


class TaskKind(ABC):
    """A kind of task.

    Attributes:
        name: As the study file says it.
        about_image: Whether an answer is about one image (True) or the whole item.
        schema: JSON Schema of an answer's value.
        scale: What `pqpp build --scale` takes for the export, None where it takes none.
        level: Level of measurement of `label`, as `krippendorff_alpha` takes it.
    """

    name: str
    about_image: bool = True
    schema: ClassVar[Mapping[str, Any]]
    scale: str | None = None
    level: str = "ordinal"

    def check_study(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the study file's `task` settings with the defaults filled in.

        Raises:
            StudyError: A setting is unknown or impossible.
        """
        if settings:
            raise StudyError(f"task: {self.name} takes no settings; remove {sorted(settings)[0]}")
        return {}

    def group(self, rows: Sequence[Mapping[str, str]], settings: Mapping) -> list[list[Mapping]]:
        """Return the rows of one prompt in the groups that become items; all in one by default."""
        return [list(rows)]

    def detail(
        self,
        rows: Sequence[Mapping[str, str]],
        table: Mapping[str, Sequence[Mapping[str, str]]],
        sha256_of: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return what an item keeps beside its prompt and images; called when a study is made.

        Args:
            rows: Those of the item, with all columns of the user's table.
            table: Prompt id to its rows, of the whole study.
            sha256_of: Name of an image to its hash.
        """
        return {}

    def shown_detail(self, detail: Mapping[str, Any]) -> dict[str, Any]:
        """Return what of an item's detail goes to the browser; nothing by default."""
        return {}

    def schema_of(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the JSON Schema of an answer's value in a study with these settings."""
        return self.schema

    def scale_of(self, settings: Mapping[str, Any]) -> str | None:
        """Return what `pqpp build --scale` takes for the export, None where it takes none."""
        return self.scale

    def expected(self, cell: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value that a cell of the column `expected` stands for, in training items.

        Raises:
            StudyError: The kind has no such answer, or none that is right.
        """
        raise StudyError(
            f"expected is {cell!r:.60}: an answer of the kind {self.name} is not right or wrong; "
            "leave the column out"
        )

    def agrees(self, value: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
        """Tell whether an answer of a training item is right."""
        return self.label(value) == self.label(expected)

    @abstractmethod
    def check(
        self, value: Mapping[str, Any], shown: ShownItem, settings: Mapping[str, Any]
    ) -> None:
        """Refuse a value that fits the schema but not this item.

        Raises:
            AnswerError: What is wrong with it.
        """

    @abstractmethod
    def label(self, value: Mapping[str, Any]) -> float | None:
        """Return the number by which people are compared, None where there is none."""

    @abstractmethod
    def export(self, votes: Iterable[Vote], settings: Mapping) -> dict[str, Iterable[dict]]:
        """Return the files of an export: name without ending to rows."""

    @property
    def folder(self) -> Path:
        """Where `page.html` and `page.js` stand."""
        return Path(__file__).parent / self.name


def task_kind(name: str) -> TaskKind:
    """Return a kind of task by its name.

    Raises:
        StudyError: There is no such kind.

    Example:
        >>> task_kind("match").about_image, task_kind("preference").about_image
        (True, False)
    """
    if name not in KINDS:
        raise StudyError(f"kind: {name!r} is unknown; {did_you_mean(name, KINDS)}")
    return importlib.import_module(f"pqpp_annotation.kinds.{name}.kind").KIND
