"""Preference: which of two models' images of a prompt is better, or a tie."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds.kind import Fields, Rows, ShownItem, TaskKind, Vote
from pqpp_annotation.languages import gettext_noop

_LABELS = {"a": 1.0, "tie": 0.0, "b": -1.0}
_SWAPPED = {"a": "b", "b": "a"}


class PreferenceAnswer(BaseModel, extra="forbid", strict=True):
    """The better image, and the image that was displayed on the left or on top."""

    choice: Literal["a", "b", "tie"]
    left: Literal["a", "b"] = "a"


class Preference(TaskKind):
    """The task of choosing between two images: `a` has the lower id, `b` is the other.

    On a page, `a` is the first image in the order of the page's random image names.
    """

    name = "preference"
    answer = PreferenceAnswer
    about_image = False
    level = "ordinal"
    settings: ClassVar[Fields] = {
        "question": gettext_noop("Which image shows the prompt better?"),
        "tie": True,  # whether a tie is allowed
    }

    def list_choices(self, settings: Fields) -> list[dict[str, Any]]:
        """Return the choices b, tie (if the study allows it) and a."""
        return [{"choice": name} for name in ("b", "tie", "a") if name != "tie" or settings["tie"]]

    def check_answer(self, value: Fields, item: ShownItem, settings: Fields) -> None:
        """Refuse a tie if the study allows none."""
        super().check_answer(value, item, settings)
        if {"choice": value["choice"]} not in self.list_choices(settings):
            raise AnnotationError("value.choice: this study allows no ties; choose A or B", 409)

    def to_items(self, rows: Rows, settings: Mapping) -> list[list[Mapping]]:
        """Return an item for each pair of images by different models.

        Raises:
            AnnotationError: All images of a prompt are by one model.
        """
        pairs = [
            [left, right]
            for left, right in combinations(rows, 2)
            if left.get("model", "") != right.get("model", "")
        ]
        if not pairs:
            prompt = f"prompt {rows[0].get('prompt_id', '')!r:.60}"
            raise AnnotationError(f"{prompt}: expected images from two or more models, got one")
        return pairs

    def answer_from_page(self, value: Fields, ids: Mapping[str, int]) -> dict[str, Any]:
        """Swap `a` and `b` if image names and ids have different orders."""
        if sorted(ids) == sorted(ids, key=ids.__getitem__):
            return dict(value)
        return {key: _SWAPPED.get(str(answer), answer) for key, answer in value.items()}

    def answer_to_page(self, value: Fields, names: Mapping[int, str]) -> dict[str, Any]:
        """Swap `a` and `b` if image names and ids have different orders."""
        return self.answer_from_page(value, {name: image for image, name in names.items()})

    def get_label(self, value: Fields) -> float | None:
        """Return 1 for the image with the lower id, -1 for the other, 0 for a tie."""
        return _LABELS[value["choice"]]

    def parse_expected(self, cell: str, settings: Fields) -> dict[str, Any]:
        """Parse a cell as a choice: a (the prompt's first row), b or tie."""
        choice = cell.strip().lower()
        known = sorted(answer["choice"] for answer in self.list_choices(settings))
        if choice not in known:
            raise AnnotationError(f"`expected` must be one of {', '.join(known)}; got {cell!r:.60}")
        return {"choice": choice}

    def build_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return the table `preferences` for `pqpp build`."""
        return {"preferences": to_preference_rows(votes)}


def to_preference_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Convert votes to the rows that `pqpp build --preferences` reads.

    Example:
        >>> vote = Vote("7", "A cat.", "", "", "anna", False, {"choice": "b", "left": "b"}, 2.0, 0,
        ...             "work", {}, (("7/1.png", "sdxl", 12), ("7/2.png", "glide", 11)))
        >>> [row] = to_preference_rows([vote])
        >>> row["model_a"], row["model_b"], row["choice"], row["left"]
        ('glide', 'sdxl', 'b', 'b')
    """
    for vote in votes:
        images = sorted(vote.images, key=lambda image: image[2])
        (image_a, model_a, _), (image_b, model_b, _) = images
        yield vote.to_row(
            *("prompt_id", "prompt"),
            model_a=model_a,
            model_b=model_b,
            choice=vote.value["choice"],
            annotator=vote.annotator,
            image_a=image_a,
            image_b=image_b,
            left=vote.value.get("left", ""),
        )


TASK_KIND = Preference()
