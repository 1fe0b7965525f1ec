"""Order: the images of a prompt, ordered from the best; ties are allowed.

Source: ImageReward (Xu et al., NeurIPS 2023), section 2.1: people rank the images of a prompt by
preference, ties allowed; its files have `generations` and `ranking`, where 1 is best.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds.kind import ShownItem, TaskKind, Vote
from pqpp_annotation.languages import gettext_noop

_MOST_IMAGES = 12


class OrderAnswer(BaseModel, extra="forbid", strict=True):
    """Places by the images' ids."""

    places: dict[str, Annotated[int, Field(ge=1, le=_MOST_IMAGES)]]


class Order(TaskKind):
    """One answer for all images of a prompt: the id of each to its place, from 1, without gaps.

    Of images that share a place the next one has the place behind: 1, 1, 2.
    """

    name = "order"
    answer = OrderAnswer
    about_image = False
    level = "nominal"
    settings: ClassVar[Mapping[str, Any]] = {
        "question": gettext_noop("Rank the images by how well they match the prompt, best first."),
        "ties": True,  # whether images may share a place
    }

    def to_items(self, rows: Sequence[Mapping[str, str]], settings: Mapping) -> list[list[Mapping]]:
        """Show all images of a prompt at once.

        Raises:
            AnnotationError: A prompt has only one image, or too many for a page.
        """
        if not 2 <= len(rows) <= _MOST_IMAGES:
            said = f"has {len(rows)} images; 2 to {_MOST_IMAGES} can be ordered"
            raise AnnotationError(f"prompt {rows[0].get('prompt_id', '')!r:.60} {said}")
        return [list(rows)]

    def check(self, value: Mapping[str, Any], item: ShownItem, settings: Mapping[str, Any]) -> None:
        """Refuse places that leave an image or a number out, and ties that are not offered."""
        super().check(value, item, settings)
        places = value["places"]
        if set(places) != {str(image.id) for image in item.images}:
            raise AnnotationError("places: rank every image shown, and no other", 409)
        used = sorted(places.values())
        if sorted(set(used)) != list(range(1, len(set(used)) + 1)):
            raise AnnotationError("places: number them from 1 without gaps", 409)
        if len(set(used)) < len(used) and not settings.get("ties", True):
            raise AnnotationError("places: two images share a rank; ties are not allowed", 409)

    def from_page(self, value: Mapping[str, Any], ids: Mapping[str, int]) -> dict[str, Any]:
        """Name the images by their ids."""
        places = value.get("places")
        if not isinstance(places, Mapping) or not set(places) <= set(ids):
            raise AnnotationError("places: rank every image shown, and no other", 409)
        return {**value, "places": {str(ids[name]): index for name, index in places.items()}}

    def to_page(self, value: Mapping[str, Any], names: Mapping[int, str]) -> dict[str, Any]:
        """Name the images as the person's page does."""
        places = {names[int(image)]: place for image, place in value["places"].items()}
        return {**value, "places": places}

    def get_label(self, value: Mapping[str, Any]) -> float | None:
        """Return which image is best, by its number in the order of their ids; None for a tie."""
        images = sorted(value["places"], key=int)
        best = [number for number, image in enumerate(images) if value["places"][image] == 1]
        return float(best[0]) if len(best) == 1 else None

    def get_marks(self, value: Mapping[str, Any], prompt: str) -> dict[str, Sequence[float]]:
        """Return the place of each image, by the order of their ids."""
        return {"label": [value["places"][image] for image in sorted(value["places"], key=int)]}

    def list_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return `rankings`, what `pqpp build --rankings` reads."""
        return {"rankings": to_rank_rows(votes)}


def to_rank_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Return one row per image and vote, with its rank; 1 is best.

    Example:
        >>> vote = Vote("7", "A cat.", "", "", "anna", False, {"places": {"3": 2, "4": 1}}, 2.0, 0,
        ...             "work", {}, (("7/1.png", "sdxl", 3), ("7/2.png", "glide", 4)))
        >>> [(row["image"], row["rank"]) for row in to_rank_rows([vote])]
        [('7/1.png', 2), ('7/2.png', 1)]
    """
    for vote in votes:
        for image, model, image_id in vote.images:
            yield {
                **vote.columns("prompt_id", "prompt"),
                "image": image,
                "model": model,
                "annotator": vote.annotator,
                "rank": vote.value["places"][str(image_id)],
                "control": "true" if vote.is_control else "false",
                "seconds": round(vote.seconds, 3),
            }


TASK_KIND = Order()
