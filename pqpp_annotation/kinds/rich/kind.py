"""Rich: RichHF's feedback: points on faulty regions, words that are not shown, and four scores.

Source: RichHF (Liang et al., CVPR 2024), sections 3.1 and 3.2 and supplement: annotators mark
implausible and misaligned regions with points, each a disk of 1/20 of the image height; mark the
prompt's misaligned words; and score plausibility, alignment, aesthetics and overall quality from 1
to 5. An inappropriate image is flagged instead.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, get_args

from annotated_types import Len
from pydantic import BaseModel, Field, NonNegativeInt

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds.kind import Fields, Rows, ShownItem, TaskKind, Vote
from pqpp_metrics.functional import prompt_tokens, richhf_consolidation

Score = Literal["plausibility", "alignment", "aesthetics", "overall"]
RICH_SCORES = get_args(Score)
RICH_REGIONS = ("implausible", "misaligned")
_CELL_CENTRES = [*itertools.product((0.125, 0.375, 0.625, 0.875), repeat=2)]
_MARK_RADIUS = 0.15  # fraction of the image's side
_Fraction = Annotated[float, Field(ge=0, le=1)]
_Points = Annotated[list[Annotated[list[_Fraction], Len(2, 2)]], Len(0, 500)]


class RichAnswer(BaseModel, extra="forbid", strict=True):
    """Marked points and words, scores by name, and the flag."""

    implausible: _Points
    misaligned: _Points
    words: list[NonNegativeInt]
    scores: dict[Score, Annotated[int, Field(ge=1, le=5)]]
    inappropriate: bool


class Rich(TaskKind):
    """The task of marking points and words, giving scores and flagging each image.

    A point is [x, y] in fractions of the image's width and height; a word is its index in RichHF's
    tokens of the prompt.
    """

    name = "rich"
    settings: ClassVar[Fields] = {"inappropriate": True}  # whether the flag is offered
    answer = RichAnswer

    def to_items(self, rows: Rows, settings: Mapping) -> list[list[Mapping]]:
        """Return each row as its own item."""
        return [[row] for row in rows]

    def check_answer(self, value: Fields, item: ShownItem, settings: Fields) -> None:
        """Refuse missing scores, unknown or duplicate words, and the flag if it is not offered."""
        super().check_answer(value, item, settings)
        tokens = len(prompt_tokens(item.prompt))
        if len(set(value["words"])) < len(value["words"]):
            raise AnnotationError("words: duplicate word; mark each word once", 409)
        if value["words"] and max(value["words"]) >= tokens:
            raise AnnotationError("words: unknown word; mark only words of the prompt", 409)
        if value["inappropriate"]:
            if not settings.get("inappropriate", True):
                raise AnnotationError("inappropriate: not used in this study; remove the flag", 409)
        elif not value["scores"].keys() >= set(RICH_SCORES):
            raise AnnotationError("scores: missing score; give all four scores, from 1 to 5", 409)

    def get_label(self, value: Fields) -> float | None:
        """Return the overall score, None for an inappropriate image."""
        return None if value["inappropriate"] else float(value["scores"]["overall"])

    def to_numbers(self, value: Fields, prompt: str) -> dict[str, Sequence[float]]:
        """Return the four scores, two 4 x 4 grids of marked cells, and the marked words.

        A cell is 1 if a point is near its centre. Implausible and misaligned regions have a grid
        each.

        Example:
            >>> value = {"implausible": [[0.5, 0.9]], "misaligned": [], "words": [1]}
            >>> value |= {"scores": dict.fromkeys(RICH_SCORES, 4), "inappropriate": False}
            >>> numbers = Rich().to_numbers(value, "A red cat.")
            >>> numbers["scores"], numbers["words"], sum(numbers["points"])
            ([4, 4, 4, 4], [0, 1, 0], 2)
        """
        points = [
            int(any(math.dist(point, centre) < _MARK_RADIUS for point in value[name]))
            for name in RICH_REGIONS
            for centre in _CELL_CENTRES
        ]
        words = [int(n in value["words"]) for n in range(len(prompt_tokens(prompt)))]
        scores = [value["scores"][name] for name in RICH_SCORES]
        return {"scores": scores, "points": points, "words": words}

    def build_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return `feedback`, one row per vote, and `consolidated`, one row per image."""
        rows = list(to_feedback_rows(votes))
        return {"feedback": rows, "consolidated": consolidate_feedback(rows)}


def to_feedback_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Convert votes to the form that `richhf_consolidation` accepts, one row per vote.

    Points are [row, column] in pixels, with whole numbers at pixel centres; `keyword_labels` are 0
    for misaligned words, else 1; missing scores are None.

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
            **vote.get_columns(
                "prompt_id", "prompt", "image", "model", "annotator", "height", "width"
            ),
            **{f"{name}_points": _to_pixels(vote.value[name], vote) for name in RICH_REGIONS},
            "keyword_labels": [int(number not in marked) for number in range(len(tokens))],
            "scores": [vote.value["scores"].get(name) for name in RICH_SCORES],
            "inappropriate": vote.value["inappropriate"],
            "control": vote.is_control,
            "seconds": round(vote.seconds, 3),
        }


def _to_pixels(points: Sequence[Sequence[float]], vote: Vote) -> list[list[float]]:
    """Convert points of the displayed copy to [row, column] in pixels of the image file."""
    # EXIF rotation, bars and crops are undone, and points on a bar move to the image's edge.
    # Rounding removes floating-point errors: a disk includes the pixels at exactly its radius.

    def to_pixel(fraction: float, size: int) -> float:
        return min(max(round(fraction * size - 0.5, 6), 0.0), size - 1.0)

    left, top, right, bottom = vote.frame
    upright = [((x - left) / (right - left), (y - top) / (bottom - top)) for x, y in points]
    stored = [_to_stored(x, y, vote.orientation) for x, y in upright]
    return [[to_pixel(y, vote.height), to_pixel(x, vote.width)] for x, y in stored]


def _to_stored(x: float, y: float, orientation: int) -> tuple[float, float]:
    """Map a point of the upright image to the stored image, in fractions of width and height."""
    if orientation > 4:  # EXIF orientations 5 to 8 swap the axes
        x, y = y, x
    return 1 - x if orientation in (2, 3, 7, 8) else x, 1 - y if orientation in (3, 4, 6, 7) else y


def consolidate_feedback(rows: Iterable[Fields]) -> Iterator[dict[str, Any]]:
    """Combine the feedback on each image as RichHF does.

    Images that any annotator flagged as inappropriate are left out, as in RichHF-18K. Instead of
    heatmaps, rows have the points as one list per annotator, from which `richhf_consolidation`
    computes them.

    Args:
        rows: Rows of `to_feedback_rows`.

    Example:
        >>> row = {"prompt_id": "7", "prompt": "A cat.", "image": "1.png", "model": "sdxl",
        ...        "height": 50, "width": 100, "implausible_points": [[3, 4]],
        ...        "misaligned_points": [], "keyword_labels": [1, 0], "inappropriate": False}
        >>> rows = [{**row, "scores": [5, 4, 3, 2]}, {**row, "scores": [4, 4, 4, 4]}]
        >>> [image] = consolidate_feedback(rows)
        >>> image["plausibility"], image["overall"], image["keyword_labels"], image["annotators"]
        (4.5, 3.0, [1, 0], 2)
        >>> image["implausible_points"]
        [[[3, 4]], [[3, 4]]]
    """
    names = ("prompt_id", "prompt", "image", "model", "annotators", "height", "width")
    images: dict[tuple[str, str, str], list[Fields]] = {}
    for row in rows:
        images.setdefault((row["prompt_id"], row["image"], row["model"]), []).append(row)
    for feedback in images.values():
        if any(row["inappropriate"] for row in feedback):
            continue
        labels = [row["keyword_labels"] for row in feedback]
        has_words = bool(labels[0])  # a prompt may have only punctuation
        consolidated = richhf_consolidation(
            [row["scores"] for row in feedback],
            labels if has_words else [[1] for _ in feedback],
            [[] for _ in feedback],  # no points: the heatmap is not used
            height=1,
            width=1,
        )
        columns = {**feedback[0], "annotators": len(feedback)}
        yield {
            **{name: columns[name] for name in names},
            **dict(zip(RICH_SCORES, consolidated["scores"].tolist(), strict=True)),
            "keyword_labels": consolidated["keyword_labels"].tolist() if has_words else [],
            **{f"{r}_points": [row[f"{r}_points"] for row in feedback] for r in RICH_REGIONS},
        }


TASK_KIND = Rich()
