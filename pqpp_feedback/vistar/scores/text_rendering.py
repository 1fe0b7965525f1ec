"""Text rendering (TR): the similarity of the text in an image to the requested text."""

import functools
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from pqpp_backbones.pretrained import ModelId
from pqpp_backbones.prompt.prompt import Prompt
from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.vistar.choices import get_param, load_params
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.vision import Vision
from pqpp_files.errors import describe
from pqpp_files.extras import require_extra
from pqpp_metrics.functional.vistar import text_rendering

# rapidocr's model names for a script, and the letters that they read, in Unicode's terms.
SCRIPTS = {
    "usual": ("", "latin cjk ideographic hiragana katakana"),  # included in the package
    "greek": ("el", "latin greek"),
    "cyrillic": ("cyrillic", "latin cyrillic"),
    "korean": ("korean", "latin hangul"),
    "arabic": ("arabic", "latin arabic"),
    "devanagari": ("devanagari", "latin devanagari"),
    "thai": ("th", "latin thai"),
}


@functools.cache
def _load_reader(script: str) -> Any:
    with require_extra("text rendering", "assess"):
        from rapidocr import LangRec, OCRVersion, RapidOCR
    params = {
        "Global.log_level": "error",
        "Global.use_cls": load_params("text_rendering")["read_upside_down"],
        # With one thread, sums are the same on any machine.
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    }
    if language := SCRIPTS[script][0]:
        params["Rec.lang_type"] = LangRec(language)
        params["Rec.ocr_version"] = OCRVersion.PPOCRV5
    try:
        return RapidOCR(params=params)
    except Exception as error:  # a download may raise anything
        problem = f"rapidocr's {script!r} model cannot be loaded ({describe(error)[:120]})"
        raise FeedbackError(f"{problem}; it is downloaded once from modelscope.cn") from None


def read_text_pieces(image: Any, script: str = "usual") -> list[dict[str, Any]]:
    """Read the pieces of text in an image.

    Args:
        image: An RGB image (PIL).
        script: One of `SCRIPTS`.

    Returns:
        list: One dict per piece, in reading order: `text`; `confidence` in [0, 1]; `corners`, four
        points in pixels, the text's upper left first; and `box` around them, as fractions of the
        sides.

    Example:
        >>> from PIL import Image
        >>> read_text_pieces(Image.new("RGB", (64, 64), "white"))
        []
    """
    reader = _load_reader(script)
    try:
        result = reader(np.asarray(image)[..., ::-1])
    except Exception as error:  # rapidocr's errors have no common class
        raise FeedbackError(describe(error)) from error
    if result.txts is None:
        return []
    pieces = []
    for text, confidence, corners in zip(result.txts, result.scores, result.boxes, strict=True):
        points = np.asarray(corners)
        fractions = np.clip(points / image.size, 0, 1)
        piece = {"text": text, "confidence": round(float(confidence), 4)}
        box = [*fractions.min(0).tolist(), *fractions.max(0).tolist()]
        pieces.append({**piece, "corners": points.round(1).tolist(), "box": box})
    return sort_pieces(pieces)


def sort_pieces(pieces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return pieces of text row by row, along the main direction of the text.

    Example:
        >>> def piece(text, x, y):
        ...     return {"text": text, "corners": [[x, y], [x + 9, y], [x + 9, y + 4], [x, y + 4]]}
        >>> pieces = piece("c", 0, 9), piece("b", 20, 1), piece("a", 0, 0)
        >>> [piece["text"] for piece in sort_pieces(pieces)]
        ['a', 'b', 'c']
    """
    if not pieces:
        return []
    corners = np.array([piece["corners"] for piece in pieces], dtype=float)
    directions = corners[:, 1] - corners[:, 0]
    angle = math.atan2(np.median(directions[:, 1]), np.median(directions[:, 0]))
    rotation = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    rotated = corners @ rotation
    left, top, bottom = rotated[..., 0].min(1), rotated[..., 1].min(1), rotated[..., 1].max(1)
    heights, min_overlap = bottom - top, load_params("text_rendering")["row_overlap"]
    rows: list[list[int]] = []
    for i in np.lexsort((left, top)):
        j = rows[-1][0] if rows else i
        overlap = min(bottom[i], bottom[j]) - max(top[i], top[j])
        if rows and overlap > min_overlap * min(heights[i], heights[j]):
            rows[-1].append(i)
        else:
            rows.append([i])
    return [dict(pieces[i]) for row in rows for i in sorted(row, key=lambda i: (left[i], i))]


def normalise_text(text: str) -> str:
    """Normalise text for comparison: ignore case and punctuation, and use single spaces.

    Example:
        >>> normalise_text(' "Grand  CANYON!" ')
        'grand canyon'
    """
    params = load_params("text_rendering")
    text = unicodedata.normalize("NFKC", text)
    text = text.casefold() if params["fold_case"] else text
    if params["punctuation_as_blank"]:
        # Apostrophes are removed: OCR often drops them, and "don't" is one word.
        text = re.sub(r"[^\w\s]|_", " ", re.sub("['’ʻʼ]", "", text))
    return " ".join(text.split())


def find_unknown_script(text: str, script: str) -> str:
    """Return the script of the first letters that a reader of `script` cannot read, or "".

    Example:
        >>> [find_unknown_script(text, "usual") for text in ("Café 東京", "Hawaiʻi", "Кафе")]
        ['', '', 'cyrillic']
    """
    # English texts have these letters too: micro, the ʻokina and a typographer's apostrophe.
    letters = (c for c in unicodedata.normalize("NFKC", text) if c.isalpha() and c not in "μʻʼ")
    scripts = (re.split(r"\W", unicodedata.name(letter, "").lower())[0] for letter in letters)
    return next((kind for kind in scripts if kind not in SCRIPTS[script][1].split()), "")


class TextRenderingScore(VistarScore):
    """The similarity of read and requested text, as in VISTAR's section 3.3.1.

    Input: `text`, the text that the image should show (default: found in the prompt).

    Args:
        vision: Not used.
        read: A function that reads an image's pieces of text; default: RapidOCR with the models of
            its package.
        text_script: One of `SCRIPTS`; prompts in other scripts get a reason instead of a score.

    Example:
        >>> from pathlib import Path
        >>> piece = {"text": "Open", "confidence": 0.9}
        >>> score = TextRenderingScore(read=lambda image: [piece])
        >>> score.score({"pieces": [piece]}, Picture(Path("a.png"), 'A sign "OPEN!"')).score
        1.0
    """

    angle = "TR"
    options = ("text_script",)
    inputs = ("text",)

    def __init__(
        self,
        vision: Vision | None = None,
        read: Callable[[Any], list[dict]] | None = None,
        text_script: str = "usual",
    ) -> None:
        super().__init__(vision)
        self.models["text"] = ModelId("rapidocr", "" if read else metadata.version("rapidocr"))
        self._read = read or functools.partial(read_text_pieces, script=text_script)
        self._script = text_script

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameters that the paper leaves open, and the differences from the paper."""
        return {**super().settings, "script": self._script}

    def explain_missing(self, picture: Picture) -> str:
        """Return why there is nothing to compare; empty if the prompt requests text."""
        reason = "the prompt has no text to draw: no quotes or `text` with letters or digits"
        return "" if normalise_text(find_wanted_text(picture)) else reason

    def observe_image(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the pieces of text that the image shows.

        Raises:
            FeedbackError: The requested text has letters that the reader cannot read.
        """
        if unknown := find_unknown_script(find_wanted_text(picture), self._script):
            problem = f"the requested text has {unknown} letters, which OCR does not read"
            raise FeedbackError(f"{problem}; change `text_script` (now {self._script})")
        return {"pieces": self._read(image)}

    def score_evidence(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the similarity of the read text and the requested one."""
        params = load_params(self.section)
        min_confidence, weight = params["least_confidence"], params["character_weight"]
        texts = [p["text"] for p in evidence["pieces"] if p["confidence"] >= min_confidence]
        read, requested = map(normalise_text, (" ".join(texts), find_wanted_text(picture)))
        results = text_rendering([read], [requested], (weight, 1 - weight))
        scores = {name: float(values[0]) for name, values in results.items()}
        outcome = f'read "{read}"' if read else "no text was read"
        reason = f"{outcome}; characters {scores['characters']:.2f}, tokens {scores['tokens']:.2f}"
        return Verdict(None, scores["text_rendering"], reason)


def find_wanted_text(picture: Picture) -> str:
    """Return the text that an image should show: its parameter, or the text quoted in the prompt.

    Example:
        >>> from pathlib import Path
        >>> find_wanted_text(Picture(Path("a.png"), 'A sign that says "Open" and "24 h"'))
        'Open 24 h'
        >>> find_wanted_text(Picture(Path("a.png"), "A sign", about={"text": 2024}))
        '2024'
    """
    if requested := get_param(picture, "text"):
        return str(requested) if np.isscalar(requested) else " ".join(requested)
    return " ".join(Prompt.read(picture.prompt).texts)
