"""Text rendering (TR): the text that the image shows, beside the text that it should show."""

import functools
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any, ClassVar

import numpy as np

from pqpp_backbones.pretrained import Model
from pqpp_backbones.prompt.quoted import wanted_texts
from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import choices
from pqpp_feedback.vistar.parameters import asked
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.sight import Sight
from pqpp_files.extras import needing
from pqpp_metrics.functional.vistar import text_rendering


@functools.cache
def _reader(read_upside_down: bool) -> Any:
    with needing("text rendering", "assess"):
        from rapidocr import RapidOCR
    return RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": read_upside_down,
            # The same sums in the same order, whatever the machine; several processes share it.
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        }
    )


def pieces_of_text(image: Any) -> list[dict[str, Any]]:
    """Read an image's pieces of text.

    Args:
        image: An image of PIL in RGB.

    Returns:
        list: A piece each: `text`, `confidence` in [0, 1], `corners`, four points in pixels from
        the text's own upper left on, and `box` around them in shares; in reading order.

    Example:
        >>> from PIL import Image
        >>> pieces_of_text(Image.new("RGB", (64, 64), "white"))
        []
    """
    read = _reader(choices("text_rendering")["read_upside_down"])(np.asarray(image)[..., ::-1])
    if read.txts is None:
        return []
    pieces = []
    for text, confidence, corners in zip(read.txts, read.scores, read.boxes, strict=True):
        points = np.asarray(corners)
        shares = np.clip(points / image.size, 0, 1)
        piece = {"text": text, "confidence": round(float(confidence), 4)}
        box = [*shares.min(0).tolist(), *shares.max(0).tolist()]
        pieces.append({**piece, "corners": points.round(1).tolist(), "box": box})
    return in_reading_order(pieces)


def in_reading_order(pieces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return pieces of text row after row, along the direction that most of the text runs in.

    Example:
        >>> def piece(text, x, y):
        ...     return {"text": text, "corners": [[x, y], [x + 9, y], [x + 9, y + 4], [x, y + 4]]}
        >>> pieces = piece("c", 0, 9), piece("b", 20, 1), piece("a", 0, 0)
        >>> [one["text"] for one in in_reading_order(pieces)]
        ['a', 'b', 'c']
    """
    if not pieces:
        return []
    corners = np.array([piece["corners"] for piece in pieces], dtype=float)
    along = corners[:, 1] - corners[:, 0]
    angle = math.atan2(np.median(along[:, 1]), np.median(along[:, 0]))
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    level = corners @ turn
    left, top, bottom = level[..., 0].min(1), level[..., 1].min(1), level[..., 1].max(1)
    high, least = bottom - top, choices("text_rendering")["row_overlap"]
    rows: list[list[int]] = []
    for i in np.lexsort((left, top)):
        j = rows[-1][0] if rows else i
        shared = min(bottom[i], bottom[j]) - max(top[i], top[j])
        if rows and shared > least * min(high[i], high[j]):
            rows[-1].append(i)
        else:
            rows.append([i])
    return [dict(pieces[i]) for row in rows for i in sorted(row, key=lambda i: (left[i], i))]


def normalised(text: str) -> str:
    """Return a text as it is compared: one case, no punctuation, single blanks.

    Example:
        >>> normalised(' "Grand  CANYON!" ')
        'grand canyon'
    """
    chosen = choices("text_rendering")
    text = unicodedata.normalize("NFKC", text)
    text = text.casefold() if chosen["fold_case"] else text
    if chosen["punctuation_as_blank"]:
        # An apostrophe joins: OCR often drops it, and "don't" is one word.
        text = re.sub(r"[^\w\s]|_", " ", re.sub("['’]", "", text))
    return " ".join(text.split())


class TextRenderingScore(VistarScore):
    """Similarity of read and wanted text, after VISTAR's section 3.3.1.

    Args:
        sight: Not needed.
        read: What reads an image's pieces of text; the default is RapidOCR, whose models come with
            the package.

    Example:
        >>> from pathlib import Path
        >>> piece = {"text": "Open", "confidence": 0.9}
        >>> score = TextRenderingScore(read=lambda image: [piece])
        >>> score.score({"pieces": [piece]}, Picture(Path("a.png"), 'A sign "OPEN!"')).score
        1.0
    """

    angle = "TR"
    inputs: ClassVar = {
        "text": "what the image should say; else what the prompt quotes or says to be drawn"
    }

    def __init__(
        self, sight: Sight | None = None, read: Callable[[Any], list[dict]] = pieces_of_text
    ) -> None:
        version = metadata.version("rapidocr") if read is pieces_of_text else ""
        super().__init__(sight)
        self.models["text"] = Model("rapidocr", version)
        self._read = read

    def lacking(self, picture: Picture) -> str:
        """Return why there is nothing to compare with; empty where a text is asked for."""
        if wanted_text(picture):
            return ""
        return (
            "the prompt asks for no text: none in quotes or said to be drawn, no parameter `text`"
        )

    def look(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the pieces of text that the image shows."""
        with self.timed("text"):
            return {"pieces": self._read(image)}

    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the similarity of the text that was read and the wanted one."""
        chosen = choices(self.section)
        least, weight = chosen["least_confidence"], chosen["character_weight"]
        sure = [piece["text"] for piece in evidence["pieces"] if piece["confidence"] >= least]
        read, wanted = normalised(" ".join(sure)), normalised(wanted_text(picture))
        parts = text_rendering([read], [wanted], (weight, 1 - weight))
        scores = {name: float(values[0]) for name, values in parts.items()}
        outcome = f'read "{read}"' if read else "no text was read"
        reason = f"{outcome}; characters {scores['characters']:.2f}, tokens {scores['tokens']:.2f}"
        return Verdict(None, scores["text_rendering"], reason)


def wanted_text(picture: Picture) -> str:
    """Return the text that an image should show: its parameter, or what the prompt wants drawn.

    Example:
        >>> from pathlib import Path
        >>> wanted_text(Picture(Path("a.png"), 'A sign that says "Open" and "24 h"'))
        'Open 24 h'
    """
    given = asked(picture, "text")
    if given:
        return given if isinstance(given, str) else " ".join(given)
    return " ".join(wanted_texts(picture.prompt))
