"""The interface of a kind of task, and the lookup of kinds by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pqpp_annotation.errors import AnnotationError
from pqpp_files.names import did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel

TASK_KINDS = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/page.js")))
"""Each is a folder here: `page.js`, and `kind.py` with its `TASK_KIND` if it is none of `labels`;
`page.html` and `page.css` if `grade.html` does not fit."""

JUDGED = ("work", "control")
"""Purposes of items whose answers are judgments; those of others are known."""

_TYPES = {str: "a text", int: "a whole number", bool: "true or false", dict: "a map"}


@dataclass(frozen=True)
class ShownImage:
    """An image as a person sees it; the model and whether it is a reference are not on it.

    Attributes:
        id: Stored with answers; not sent to pages, because it follows the order of the table.
        width: Displayed width; `height` is the displayed height.
        tall: Height of the image, cut parts too, as a share of what is shown, bars too.
    """

    id: int
    sha256: str
    width: int
    height: int
    tall: float = 1.0


@dataclass(frozen=True)
class ShownItem:
    """An item as a person sees it.

    Attributes:
        assignment: Its id, which answers name.
        images: The images in the person's random order.
        answers: Image id (None for the item) to the current answer's value.
        detail: What the kind of task stored when the study was created.
    """

    assignment: int
    prompt: str
    images: tuple[ShownImage, ...]
    answers: Mapping[int | None, Mapping[str, Any]]
    purpose: str = "work"
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Vote:
    """A current answer with all that an export needs.

    Attributes:
        image: The user's name of the image; "" if the answer is about the item.
        model: "reference" for a reference image.
        images: Of an answer about the item: all its images in the file's order, each with its name,
            its model and the id by which answers name it.
        is_control: Whether the person is a member of the control group.
        created: Milliseconds since 1970, UTC.
        width: Width of the image file in its own pixels; 0 if the answer is about the item.
        height: The same.
        orientation: EXIF orientation, 1 to 8, applied when the image was shown.
        frame: Position of the turned image's left, top, right and bottom edges in the shown image.
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
    orientation: int = 1
    frame: Sequence[float] = (0.0, 0.0, 1.0, 1.0)

    def columns(self, *names: str) -> dict[str, Any]:
        """Return some fields as columns of an export's row."""
        return {name: getattr(self, name) for name in names}


class TaskKind(ABC):
    """A kind of task.

    Attributes:
        name: The name in the study file.
        about_image: Whether an answer is about one image (True) or the whole item.
        settings: Those of the study file's `task`, with their defaults, of the types allowed.
        answer: The form of an answer's value.
        scale: The value of `pqpp build --scale` for the export; None if it has none.
        level: Level of measurement of labels, as `krippendorff_alpha` accepts it.
    """

    name: str
    about_image: bool = True
    settings: ClassVar[Mapping[str, Any]] = {}
    answer: ClassVar[type[BaseModel]]
    scale: str | None = None
    level: str = "ordinal"

    def with_settings(self, settings: Mapping[str, Any]) -> TaskKind:
        """Return the kind as a study's settings make it; this one unless there are several."""
        return self

    def check_study(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the study file's `task` settings with the defaults filled in.

        Raises:
            AnnotationError: A setting is unknown or impossible.
        """
        for name, value in settings.items():
            if name not in self.settings:
                hint = did_you_mean(str(name), self.settings)
                raise AnnotationError(f"task: {self.name} has no setting {name!r:.60}; {hint}")
            wanted = type(self.settings[name])
            if type(value) is not wanted or value == "":
                raise AnnotationError(f"task: {name} is {value!r:.60}; it must be {_TYPES[wanted]}")
        return {**self.settings, **settings}

    def to_items(self, rows: Sequence[Mapping[str, str]], settings: Mapping) -> list[list[Mapping]]:
        """Return the rows of one prompt in the groups that become items; all in one by default."""
        return [list(rows)]

    def make_detail(
        self,
        rows: Sequence[Mapping[str, str]],
        table: Mapping[str, Sequence[Mapping[str, str]]],
        sha256_of: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return what an item stores besides prompt and images, when a study is created.

        Args:
            rows: The item's rows, with all columns of the user's table.
            table: Prompt id to its rows, of the whole study.
            sha256_of: Name of an image to its hash.
        """
        return {}

    def get_page_detail(
        self, detail: Mapping[str, Any], url_of: Callable[[str], str]
    ) -> dict[str, Any]:
        """Return the part of an item's detail that the browser gets; nothing by default.

        Args:
            url_of: Hash of an image to the address by which this person's page has it.
        """
        return {}

    def get_page_settings(
        self, settings: Mapping[str, Any], gettext: Callable[[str], str]
    ) -> dict[str, Any]:
        """Return the settings for the browser, with texts in the annotator's language."""
        labels = {name: gettext(str(label)) for name, label in settings.get("labels", {}).items()}
        texts = {"question": gettext(settings.get("question", "")), "labels": labels}
        return {name: texts.get(name, value) for name, value in settings.items()}

    def list_linked_images(self, detail: Mapping[str, Any]) -> list[str]:
        """Return the hashes of images that an item shows besides its own; none by default."""
        return []

    def from_page(self, value: Mapping[str, Any], ids: Mapping[str, int]) -> Mapping[str, Any]:
        """Convert an answer from a page to its stored form.

        Args:
            ids: Image names on the person's page to image ids.
        """
        return value

    def to_page(self, value: Mapping[str, Any], names: Mapping[int, str]) -> Mapping[str, Any]:
        """Convert a stored answer for the page; `names` are by id."""
        return value

    def list_choices(self, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the answers that say something, the lowest label first; none if they are many."""
        return []

    def get_scale(self, settings: Mapping[str, Any]) -> str | None:
        """Return the value of `pqpp build --scale` for the export, None if it needs none."""
        return self.scale

    def to_answer(self, cell: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Parse a cell of the column `expected` of training items.

        Raises:
            AnnotationError: The kind has no such answer, or none that is right.
        """
        raise AnnotationError(
            f"expected is {cell!r:.60}: answers of the kind {self.name} cannot be right or wrong; "
            "remove the column"
        )

    def is_right(self, value: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
        """Return whether an answer of a training item is right."""
        return self.get_label(value) == self.get_label(expected)

    def check(self, value: Mapping[str, Any], item: ShownItem, settings: Mapping[str, Any]) -> None:
        """Raise an error if a value is not a valid answer to an item.

        Raises:
            AnnotationError: The value is not valid.
        """
        from pydantic import ValidationError

        try:
            self.answer.model_validate(dict(value))
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, ("value", *fault["loc"])))
            raise AnnotationError(f"{where:.60}: {fault['msg']:.200}", 409) from None

    @abstractmethod
    def get_label(self, value: Mapping[str, Any]) -> float | None:
        """Return the number that is compared between people, None if there is none."""

    def get_marks(self, value: Mapping[str, Any], prompt: str) -> dict[str, Sequence[float]]:
        """Return further values to compare between people; empty by default."""
        return {}

    def export(self, votes: Iterable[Vote]) -> dict[str, Iterable[dict]]:
        """Return the files of an export: name without ending to rows, of judgments."""
        return self.list_tables([vote for vote in votes if vote.purpose in JUDGED])

    @abstractmethod
    def list_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return the files of an export of votes."""

    @property
    def folder(self) -> Path:
        """The path of its page."""
        return Path(__file__).parent / self.name
