"""Rich: points on what is wrong, words that are not shown, four scores; RichHF's feedback.

Source: RichHF (Liang et al., CVPR 2024), sections 3.1 and 3.2 and its supplement: people mark
points on implausible and on misaligned regions, each a disk of 1/20 of the image's height, then
the prompt's misaligned words, then plausibility, alignment, aesthetics and overall quality from 1
to 5; an inappropriate image is flagged and the rest left out.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, get_args

from annotated_types import Len
from pydantic import BaseModel, Field, NonNegativeInt

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds.kind import ShownItem, TaskKind, Vote
from pqpp_metrics.functional import prompt_tokens, richhf_consolidation

Score = Literal["plausibility", "alignment", "aesthetics", "overall"]
RICH_SCORES = get_args(Score)
RICH_REGIONS = ("implausible", "misaligned")
_STORED: Mapping[int, Callable[[float, float], tuple[float, float]]] = {
    1: lambda x, y: (x, y),
    2: lambda x, y: (1 - x, y),
    3: lambda x, y: (1 - x, 1 - y),
    4: lambda x, y: (x, 1 - y),
    5: lambda x, y: (y, x),
    6: lambda x, y: (y, 1 - x),
    7: lambda x, y: (1 - y, 1 - x),
    8: lambda x, y: (1 - y, x),
}
"""Orientation of EXIF to where a place of the upright image is in the stored one, in fractions."""
_GRID = [*itertools.product((0.125, 0.375, 0.625, 0.875), repeat=2)]
_NEAR = 0.15  # of the image's side
_Fraction = Annotated[float, Field(ge=0, le=1)]
_Points = Annotated[list[Annotated[list[_Fraction], Len(2, 2)]], Len(0, 500)]


class RichAnswer(BaseModel, extra="forbid", strict=True):
    """Points and words that are wrong, scores by name, and the flag."""

    implausible: _Points
    misaligned: _Points
    words: list[NonNegativeInt]
    scores: dict[Score, Annotated[int, Field(ge=1, le=5)]]
    inappropriate: bool


class Rich(TaskKind):
    """One answer for each image: points, words, scores, flag.

    A point is [x, y] as fractions of the image's width and height; a word is its number among
    RichHF's tokens of the prompt.
    """

    name = "rich"
    settings: ClassVar[Mapping[str, Any]] = {"inappropriate": True}  # whether one may be flagged
    answer = RichAnswer

    def to_items(self, rows: Sequence[Mapping[str, str]], settings: Mapping) -> list[list[Mapping]]:
        """Show each image by itself."""
        return [[row] for row in rows]

    def check(self, value: Mapping[str, Any], item: ShownItem, settings: Mapping[str, Any]) -> None:
        """Refuse missing scores, words that are not in the prompt, and a flag not offered."""
        super().check(value, item, settings)
        tokens = len(prompt_tokens(item.prompt))
        if len(set(value["words"])) < len(value["words"]):
            raise AnnotationError("words: duplicates; mark each once", 409)
        if value["words"] and max(value["words"]) >= tokens:
            raise AnnotationError("words: one is not in the prompt; mark words shown", 409)
        if value["inappropriate"]:
            if not settings.get("inappropriate", True):
                raise AnnotationError("inappropriate is true; this study has no such flag", 409)
        elif not value["scores"].keys() >= set(RICH_SCORES):
            raise AnnotationError("scores: one is missing; give all, from 1 to 5", 409)

    def get_label(self, value: Mapping[str, Any]) -> float | None:
        """Return the overall score, None for an inappropriate image."""
        return None if value["inappropriate"] else float(value["scores"]["overall"])

    def get_marks(self, value: Mapping[str, Any], prompt: str) -> dict[str, Sequence[float]]:
        """Return the four scores, which places of a grid have a point nearby, and the words.

        Example:
            >>> value = {"implausible": [[0.5, 0.9]], "misaligned": [], "words": [1]}
            >>> value |= {"scores": dict.fromkeys(RICH_SCORES, 4), "inappropriate": False}
            >>> found = Rich().get_marks(value, "A red cat.")
            >>> found["scores"], found["words"], sum(found["points"])
            ([4, 4, 4, 4], [0, 1, 0], 2)
        """
        points = [
            int(any(math.dist(point, place) < _NEAR for point in value[name]))
            for name in RICH_REGIONS
            for place in _GRID
        ]
        words = [int(n in value["words"]) for n in range(len(prompt_tokens(prompt)))]
        scores = [value["scores"][name] for name in RICH_SCORES]
        return {"scores": scores, "points": points, "words": words}

    def list_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return `feedback`, one row per vote, and `consolidate`, one row per image."""
        rows = list(to_feedback_rows(votes))
        return {"feedback": rows, "consolidated": consolidate(rows)}


def to_feedback_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Turn votes into the form that `richhf_consolidation` accepts.

    Points are [row, column] in pixels whose centres have whole coordinates, `keyword_labels` are 0
    for a misaligned word and 1 for the others, missing scores are None.

    Example:
        >>> value = {"implausible": [[0.5, 0.5]], "misaligned": [], "words": [1],
        ...          "scores": dict.fromkeys(RICH_SCORES, 4), "inappropriate": False}
        >>> vote = Vote("7", "A red cat.", "7/1.png", "sdxl", "anna", False, value, 9.0, 0,
        ...             "work", {}, width=100, height=50)
        >>> [row] = to_feedback_rows([vote])
        >>> row["implausible_points"], row["keyword_labels"], row["scores"]
        ([[24.5, 49.5]], [1, 0, 1], [4, 4, 4, 4])
    """
    for vote in votes:
        tokens, marked = prompt_tokens(vote.prompt), set(vote.value["words"])
        yield {
            **vote.columns("prompt_id", "prompt", "image", "model", "annotator", "height", "width"),
            **{f"{name}_points": _to_pixels(vote.value[name], vote) for name in RICH_REGIONS},
            "keyword_labels": [int(number not in marked) for number in range(len(tokens))],
            "scores": [vote.value["scores"].get(name) for name in RICH_SCORES],
            "inappropriate": vote.value["inappropriate"],
            "control": vote.is_control,
            "seconds": round(vote.seconds, 3),
        }


def _to_pixels(points: Sequence[Sequence[float]], vote: Vote) -> list[list[float]]:
    """Return fractions of an image as [row, column], within it.

    They are pixels of the file as it is stored: where EXIF has it turned to be seen, the turn is
    undone, and so are bars and cuts; a point on a bar goes to the image's edge. They are rounded so
    that a click in the middle of a pixel is that pixel exactly: a disk takes in what is just as far
    away as its radius.
    """

    def to_pixel(fraction: float, size: int) -> float:
        return min(max(round(fraction * size - 0.5, 6), 0.0), size - 1.0)

    left, top, right, bottom = vote.frame
    inside = [((x - left) / (right - left), (y - top) / (bottom - top)) for x, y in points]
    stored = [_STORED[vote.orientation](x, y) for x, y in inside]
    return [[to_pixel(y, vote.height), to_pixel(x, vote.width)] for x, y in stored]


def consolidate(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Combine the feedback on each image by RichHF's rules.

    An image that anybody flagged as inappropriate is left out, as in RichHF-18K. The heatmaps are
    those of `richhf_consolidation` on the points, which are included as one list per annotator.

    Args:
        rows: Rows of `feedback`.

    Example:
        >>> row = {"prompt_id": "7", "prompt": "A cat.", "image": "1.png", "model": "sdxl",
        ...        "height": 50, "width": 100, "implausible_points": [[3, 4]],
        ...        "misaligned_points": [], "keyword_labels": [1, 0], "inappropriate": False}
        >>> [found] = consolidate([{**row, "scores": [5, 4, 3, 2]}, {**row, "scores": [4] * 4}])
        >>> found["plausibility"], found["overall"], found["keyword_labels"], found["annotators"]
        (4.5, 3.0, [1, 0], 2)
        >>> found["implausible_points"]
        [[[3, 4]], [[3, 4]]]
    """
    names = ("prompt_id", "prompt", "image", "model", "annotators", "height", "width")
    images: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        images.setdefault((row["prompt_id"], row["image"], row["model"]), []).append(row)
    for opinions in images.values():
        if any(row["inappropriate"] for row in opinions):
            continue
        labels = [row["keyword_labels"] for row in opinions]
        has_words = bool(labels[0])  # a prompt may be of signs alone
        together = richhf_consolidation(
            [row["scores"] for row in opinions],
            labels if has_words else [[1] for _ in opinions],
            [[] for _ in opinions],  # heatmaps are made of the points when they are wanted,
            height=1,  # so this one may be small
            width=1,
        )
        points = [f"{name}_points" for name in RICH_REGIONS]
        about = {**opinions[0], "annotators": len(opinions)}
        yield {
            **{name: about[name] for name in names},
            **dict(zip(RICH_SCORES, together["scores"].tolist(), strict=True)),
            "keyword_labels": together["keyword_labels"].tolist() if has_words else [],
            **{name: [row[name] for row in opinions] for name in points},
        }


TASK_KIND = Rich()
