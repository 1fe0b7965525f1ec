"""Preference: which of two models' images of a prompt is better, or neither."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds.kind import ShownItem, TaskKind, Vote
from pqpp_annotation.languages import gettext_noop

_NUMBERS = {"a": 1.0, "tie": 0.0, "b": -1.0}
_OTHER = {"a": "b", "b": "a"}


class PreferenceAnswer(BaseModel, extra="forbid", strict=True):
    """The better image; `left` is the one shown on the left, or above."""

    choice: Literal["a", "b", "tie"]
    left: Literal["a", "b"] = "a"


class Preference(TaskKind):
    """One answer for two images: `a` is the one with the lower id, wherever it was shown.

    A page has other names for the images, in an order without meaning, and calls the first `a`.
    """

    name = "preference"
    answer = PreferenceAnswer
    about_image = False
    level = "ordinal"
    settings: ClassVar[Mapping[str, Any]] = {
        "question": gettext_noop("Which image shows the prompt better?"),
        "tie": True,  # whether neither may be better
    }

    def list_choices(self, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the choices, without a tie if the study has none."""
        return [{"choice": one} for one in ("b", "tie", "a") if one != "tie" or settings["tie"]]

    def check(self, value: Mapping[str, Any], item: ShownItem, settings: Mapping[str, Any]) -> None:
        """Refuse a tie if the study has none."""
        super().check(value, item, settings)
        if {"choice": value["choice"]} not in self.list_choices(settings):
            raise AnnotationError("value: choice is tie; ties are not allowed", 409)

    def to_items(self, rows: Sequence[Mapping[str, str]], settings: Mapping) -> list[list[Mapping]]:
        """Make an item of each two images of different models.

        Raises:
            AnnotationError: All images of a prompt are of one model.
        """
        pairs = [
            [left, right]
            for left, right in combinations(rows, 2)
            if left.get("model", "") != right.get("model", "")
        ]
        if not pairs:
            said = "has images of only one model; add another's, or remove it"
            raise AnnotationError(f"prompt {rows[0].get('prompt_id', '')!r:.60} {said}")
        return pairs

    def from_page(self, value: Mapping[str, Any], ids: Mapping[str, int]) -> dict[str, Any]:
        """Swap the letters if the page's order of names differs from that of the ids."""
        if sorted(ids) == sorted(ids, key=ids.__getitem__):
            return dict(value)
        return {key: _OTHER.get(said, said) for key, said in value.items()}

    def to_page(self, value: Mapping[str, Any], names: Mapping[int, str]) -> dict[str, Any]:
        """Swap the letters back."""
        return self.from_page(value, {name: image for image, name in names.items()})

    def get_label(self, value: Mapping[str, Any]) -> float | None:
        """Return 1 for the image with the lower id, -1 for the other, 0 for a tie."""
        return _NUMBERS[value["choice"]]

    def to_answer(self, cell: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Parse a cell as a choice: a (the prompt's first row), b or tie."""
        choice = cell.strip().lower()
        allowed = sorted(one["choice"] for one in self.list_choices(settings))
        if choice not in allowed:
            raise AnnotationError(f"the answer is {cell!r:.60}; it must be {', '.join(allowed)}")
        return {"choice": choice}

    def list_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return `preferences`, what `pqpp build --preferences` reads."""
        return {"preferences": to_preference_rows(votes)}


def to_preference_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Turn votes into the rows that `pqpp build --preferences` reads.

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
        yield {
            **vote.columns("prompt_id", "prompt"),
            "model_a": model_a,
            "model_b": model_b,
            "choice": vote.value["choice"],
            "annotator": vote.annotator,
            "image_a": image_a,
            "image_b": image_b,
            "left": vote.value.get("left", ""),
            "control": "true" if vote.is_control else "false",
            "seconds": round(vote.seconds, 3),
        }


TASK_KIND = Preference()
