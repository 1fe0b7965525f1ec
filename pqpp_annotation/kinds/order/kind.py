"""Order: rank the images of a prompt, best first; ties are allowed.

Source: ImageReward (Xu et al., NeurIPS 2023), section 2.1: annotators rank a prompt's images by
preference, with ties; its files have `generations` and `ranking`, where 1 is best.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds.kind import Fields, Rows, ShownItem, TaskKind, Vote
from pqpp_annotation.languages import gettext_noop

_MOST_IMAGES = 12


class OrderAnswer(BaseModel, extra="forbid", strict=True):
    """The rank of each image, by image id."""

    places: dict[str, Annotated[int, Field(ge=1, le=_MOST_IMAGES)]]


class Order(TaskKind):
    """The task of ranking a prompt's images, with one answer: a rank for each image id.

    Ranks start at 1 (best) and have no gaps, even after ties: 1, 1, 2.
    """

    name = "order"
    answer = OrderAnswer
    about_image = False
    level = "nominal"
    settings: ClassVar[Fields] = {
        "question": gettext_noop("Rank the images by how well they match the prompt, best first."),
        "ties": True,  # whether ties are allowed
    }

    def to_items(self, rows: Rows, settings: Mapping) -> list[list[Mapping]]:
        """Return all rows of a prompt as one item.

        Raises:
            AnnotationError: A prompt has fewer than 2 images or more than 12.
        """
        if not 2 <= len(rows) <= _MOST_IMAGES:
            prompt = f"prompt {rows[0].get('prompt_id', '')!r:.60}"
            raise AnnotationError(f"{prompt}: expected 2 to {_MOST_IMAGES} images, got {len(rows)}")
        return [list(rows)]

    def check_answer(self, value: Fields, item: ShownItem, settings: Fields) -> None:
        """Refuse ranks with missing images, gaps, or ties if the study allows none."""
        super().check_answer(value, item, settings)
        places = value["places"]
        if set(places) != {str(image.id) for image in item.images}:
            raise AnnotationError("places: rank each image shown, and no other image", 409)
        ranks = sorted(places.values())
        if sorted(set(ranks)) != list(range(1, len(set(ranks)) + 1)):
            raise AnnotationError("places: ranks must begin at 1 and have no gaps", 409)
        if len(set(ranks)) < len(ranks) and not settings.get("ties", True):
            raise AnnotationError("places: this study allows no ties; use each rank once", 409)

    def answer_from_page(self, value: Fields, ids: Mapping[str, int]) -> dict[str, Any]:
        """Replace the page's image names with ids."""
        places = value.get("places")
        if not isinstance(places, Mapping):
            return dict(value)  # `check_answer` refuses it, and the id 0 of unknown names
        return {**value, "places": {str(ids.get(name, 0)): rank for name, rank in places.items()}}

    def answer_to_page(self, value: Fields, names: Mapping[int, str]) -> dict[str, Any]:
        """Replace image ids with the page's image names."""
        places = {names[int(image)]: rank for image, rank in value["places"].items()}
        return {**value, "places": places}

    def get_label(self, value: Fields) -> float | None:
        """Return the index of the best image, in the order of ids; None for a tie."""
        images = sorted(value["places"], key=int)
        best = [number for number, image in enumerate(images) if value["places"][image] == 1]
        return float(best[0]) if len(best) == 1 else None

    def to_numbers(self, value: Fields, prompt: str) -> dict[str, Sequence[float]]:
        """Return the rank of each image, in the order of ids."""
        return {"label": [value["places"][image] for image in sorted(value["places"], key=int)]}

    def build_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return the table `rankings` for `pqpp build`."""
        return {"rankings": to_rank_rows(votes)}


def to_rank_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Convert votes to the rows that `pqpp build --rankings` reads: one per image and vote.

    Example:
        >>> vote = Vote("7", "A cat.", "", "", "anna", False, {"places": {"3": 2, "4": 1}}, 2.0, 0,
        ...             "work", {}, (("7/1.png", "sdxl", 3), ("7/2.png", "glide", 4)))
        >>> [(row["image"], row["rank"]) for row in to_rank_rows([vote])]
        [('7/1.png', 2), ('7/2.png', 1)]
    """
    for vote in votes:
        for image, model, image_id in vote.images:
            columns = {"image": image, "model": model, "annotator": vote.annotator}
            rank = vote.value["places"][str(image_id)]
            yield vote.to_row("prompt_id", "prompt", **columns, rank=rank)


TASK_KIND = Order()
