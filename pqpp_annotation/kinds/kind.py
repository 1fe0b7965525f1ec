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
"""Names of the folders here that contain `page.js`. The kind is `TASK_KIND` in the folder's
`kind.py`, or defined in `labels.py`; a folder without `page.html` uses `grade.html`."""

RATED = ("work", "control")
"""Purposes of the items without a known answer."""

Fields = Mapping[str, Any]
"""An answer, settings or details of an item, by name."""

Rows = Sequence[Mapping[str, str]]

_TYPES = {str: "non-empty text", int: "an integer", bool: "true or false", dict: "a mapping"}


@dataclass(frozen=True)
class ShownImage:
    """An image as an annotator sees it, without its model.

    Attributes:
        id: Id stored with answers; not sent to pages, because it follows the order of the table.
        width: Width of the displayed copy in pixels; `height` likewise.
        tall: Height of the uncropped image, divided by the height of the displayed copy.
    """

    id: int
    sha256: str
    width: int
    height: int
    tall: float = 1.0


@dataclass(frozen=True)
class ShownItem:
    """An item as an annotator sees it.

    Attributes:
        assignment: Id of the assignment.
        images: The images in the annotator's random order.
        answers: Current answers by image id; an answer about the whole item has the key None.
        detail: Data of the kind of task, from `TaskKind.collect_extra_item_data`.
    """

    assignment: int
    prompt: str
    images: tuple[ShownImage, ...]
    answers: Mapping[int | None, Fields]
    purpose: str = "work"
    detail: Fields = field(default_factory=dict)


@dataclass(frozen=True)
class Vote:
    """A current answer, with the data that exports need.

    Attributes:
        image: Image name in the table of prompts; "" if the answer is about the item.
        model: Model of the image, "reference" for a reference image.
        images: Name, model and id of each image, in the table's order, if the answer is about the
            item.
        is_control: Whether the annotator is in the control group.
        value: The answer, as `TaskKind.answer` defines it.
        seconds: Active time in seconds.
        created: Milliseconds since 1970, UTC.
        width: Width of the image file in pixels, before rotation; 0 if the answer is about the
            item. `height` likewise.
        orientation: EXIF orientation of the image file, 1 to 8.
        frame: Left, top, right and bottom edge of the upright image in the displayed copy, as
            fractions of its sides.
        id: Id of the answer in the database.
    """

    prompt_id: str
    prompt: str
    image: str
    model: str
    annotator: str
    is_control: bool
    value: Fields
    seconds: float
    created: int
    purpose: str
    detail: Fields
    images: tuple[tuple[str, str, int], ...] = ()
    width: int = 0
    height: int = 0
    orientation: int = 1
    frame: Sequence[float] = (0.0, 0.0, 1.0, 1.0)
    id: int = 0

    def get_columns(self, *names: str) -> dict[str, Any]:
        """Return the values of the named fields, by name."""
        return {name: getattr(self, name) for name in names}

    def to_row(self, *names: str, **cells: Any) -> dict[str, Any]:
        """Return a row for `pqpp build`: named fields, further cells, `control` and `seconds`."""
        cells["control"] = "true" if self.is_control else "false"
        return {**self.get_columns(*names), **cells, "seconds": round(self.seconds, 3)}


class TaskKind(ABC):
    """A kind of task.

    Attributes:
        name: The name in the study file.
        about_image: Whether an answer is about one image (True) or the whole item.
        settings: Defaults of the study file's `task`; a setting has the type of its default.
        answer: The model that validates answers.
        scale: Value of `pqpp build --scale` for the export; None if not needed.
        level: Level of measurement of labels, as in `krippendorff_alpha`.
    """

    name: str
    about_image: bool = True
    settings: ClassVar[Fields] = {}
    answer: ClassVar[type[BaseModel]]
    scale: str | None = None
    level: str = "ordinal"

    def choose_variant(self, settings: Fields) -> TaskKind:
        """Return the variant of this kind that a study's `task` settings select."""
        return self

    def complete_settings(self, settings: Fields) -> dict[str, Any]:
        """Check the study file's `task` settings, and return them with defaults filled in.

        Raises:
            AnnotationError: A setting is unknown or invalid.
        """
        for name, value in settings.items():
            if name not in self.settings:
                hint = did_you_mean(str(name), self.settings)
                raise AnnotationError(f"unknown setting task.{name!s:.60} of {self.name}; {hint}")
            kind = type(self.settings[name])
            if type(value) is not kind or value == "":
                raise AnnotationError(f"task.{name}: expected {_TYPES[kind]}, got {value!r:.60}")
        return {**self.settings, **settings}

    def to_items(self, rows: Rows, settings: Mapping) -> list[list[Mapping]]:
        """Group the rows of one prompt into items; by default, all are one item."""
        return [list(rows)]

    def collect_extra_item_data(
        self, rows: Rows, table: Mapping[str, Rows], hashes: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return data to store with an item besides its images, such as linked prompts.

        Args:
            rows: The item's rows, with all columns of the table of prompts.
            table: Rows of all prompts of the study, by prompt id.
            hashes: Hash of each image, by name.
        """
        return {}

    def get_extra_page_data(self, detail: Fields, get_url: Callable[[str], str]) -> dict[str, Any]:
        """Return the details of an item that are sent to the browser; by default, none.

        Args:
            get_url: Returns the URL of an image, by its hash, on this annotator's page.
        """
        return {}

    def get_page_settings(self, settings: Fields, gettext: Callable[[str], str]) -> dict[str, Any]:
        """Return the settings for the page, with texts in the annotator's language."""
        labels = {name: gettext(str(label)) for name, label in settings.get("labels", {}).items()}
        texts = {"question": gettext(settings.get("question", "")), "labels": labels}
        return {name: texts.get(name, value) for name, value in settings.items()}

    def list_linked_images(self, detail: Fields) -> list[str]:
        """Return the hashes of further images that an item displays; by default, none."""
        return []

    def answer_from_page(self, value: Fields, ids: Mapping[str, int]) -> Fields:
        """Convert an answer from a page to its stored form.

        Args:
            ids: Image ids by name on the annotator's page.
        """
        return value

    def answer_to_page(self, value: Fields, names: Mapping[int, str]) -> Fields:
        """Convert a stored answer to the form of a page; `names` has the page names by image id."""
        return value

    def list_choices(self, settings: Fields) -> list[dict[str, Any]]:
        """Return all answers but "unsure", lowest label first; [] if they cannot be listed."""
        return []

    def get_scale(self, settings: Fields) -> str | None:
        """Return the value of `pqpp build --scale` for the export; None if not needed."""
        return self.scale

    def parse_expected(self, cell: str, settings: Fields) -> dict[str, Any]:
        """Parse a cell of the column `expected` of training items and checks.

        Raises:
            AnnotationError: The cell is not a valid answer, or the kind has no right answers.
        """
        raise AnnotationError(
            f"items of kind {self.name} have no right answers; empty 'training' and 'check'"
        )

    def is_right(self, value: Fields, expected: Fields) -> bool:
        """Return whether an answer to a training item or check is right."""
        return self.get_label(value) == self.get_label(expected)

    def check_answer(self, value: Fields, item: ShownItem, settings: Fields) -> None:
        """Refuse an invalid answer to an item.

        Raises:
            AnnotationError: The answer is invalid.
        """
        from pydantic import ValidationError

        try:
            self.answer.model_validate(dict(value))
        except ValidationError as error:
            fault = error.errors()[0]
            field_path, message = ".".join(map(str, ("value", *fault["loc"]))), fault["msg"]
            raise AnnotationError(f"{field_path:.60}: {message:.200}", 409) from None

    @abstractmethod
    def get_label(self, value: Fields) -> float | None:
        """Return the number by which answers are compared; None if the answer is undecided."""

    def to_numbers(self, value: Fields, prompt: str) -> dict[str, Sequence[float]]:
        """Return, by name, other numbers on which answers are compared; none by default."""
        return {}

    def export_tables(self, votes: Iterable[Vote]) -> dict[str, Iterable[dict]]:
        """Return the export tables of all votes by name, without training items and checks."""
        return self.build_tables([vote for vote in votes if vote.purpose in RATED])

    @abstractmethod
    def build_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return the export tables of these votes, by name."""

    @property
    def folder(self) -> Path:
        """The folder of the kind's page."""
        return Path(__file__).parent / self.name
