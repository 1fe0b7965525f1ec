"""Verdicts as one HTML page: images with what was seen drawn over them, reasons, and filters.

Images are linked, and loaded by the browser when they come into view; or made small and put into
the page, which then needs no other file.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import os
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_feedback.assess.agreement import agreement, agreement_in_words
from pqpp_feedback.assess.errors import AssessError, ImageError
from pqpp_feedback.assess.people import PeopleSay
from pqpp_feedback.assess.pictures import open_picture
from pqpp_files.render_page import render_page

if TYPE_CHECKING:
    from markupsafe import Markup

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
"""Of Okabe and Ito, told apart by the colour-blind; boxes differ by their dashes too."""
DASHES = ("none", "6 3", "2 2", "8 3 2 3", "12 3", "4 4", "1 3")
_SIDE, _MOST_BOXES, _MOST_DEPTH = 384, 60, 6
_STRONG = 0.5


@dataclass(frozen=True)
class Showing:
    """How a gallery shows its images.

    Attributes:
        embedded: Whether small copies are put into the page.
        threshold: Of words with a probability, from which on they are marked.
        order: Ids of images that come first, in this order.
        title: Of the page.
    """

    embedded: bool = False
    threshold: float = 0.5
    order: Sequence[str] = ()
    title: str = "Verdicts"


def verdict_gallery(
    rows: Iterable[Mapping[str, Any]],
    image_dir: str | Path,
    page: str | Path,
    people: PeopleSay | None = None,
    shown: Showing | None = None,
) -> str:
    """Return the page.

    Args:
        rows: Of verdicts, as `read_verdicts` gives them; those of one image are shown together.
        image_dir: Where the images are.
        page: Where the page will be, for links to the images.
        people: What people say; images on which a verdict differs from it come first.
        shown: How images are shown.

    Raises:
        AssessError: There is no row.

    Example:
        >>> row = dict.fromkeys(("prompt_id", "task", "generator", "reason", "evidence"), "")
        >>> row |= {"image": "a.png", "prompt": "<cat>", "assessor": "x", "routine": "x"}
        >>> page = verdict_gallery([{**row, "verdict": True, "score": 0.5}], ".", "page.html")
        >>> "&lt;cat&gt;" in page, "1 of 1 verdicts are a match" in page
        (True, True)
    """
    shown = shown or Showing()
    root = Path(image_dir).expanduser().absolute()
    images: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["image"]:  # a prompt without an image has a row without one
            images.setdefault(row["image"], []).append(row)
    if not images:
        raise AssessError("there is no verdict to show; assess some images")
    root = root / "images" if not (root / next(iter(images))).is_file() else root
    answers = {name: people.of(some[0]) if people else None for name, some in images.items()}
    ranges = _ranges(row for some in images.values() for row in some)
    places = {name: number for number, name in enumerate(shown.order)}
    cards = [
        _card(name, some, answers[name], root, Path(page).expanduser().absolute(), ranges, shown)
        for name, some in images.items()
    ]
    cards.sort(key=lambda card: (not card["differs"], places.get(card["image"], len(places))))
    return render_page(
        Path(__file__).with_name("gallery.html"),
        title=shown.title,
        cards=cards,
        summary=_summary(images, answers),
        has_people=any(answer is not None for answer in answers.values()),
        heatmaps=list(dict.fromkeys(heat["name"] for card in cards for heat in card["heatmaps"])),
        filters={
            name: sorted({one for card in cards for one in card[name] if one})
            for name in ("task", "generator", "routine", "verdict")
        },
    )


def _card(
    image: str,
    rows: Sequence[Mapping[str, Any]],
    answer: bool | None,
    root: Path,
    page: Path,
    ranges: Mapping[str, tuple[float, float]],
    shown: Showing,
) -> dict[str, Any]:
    evidence = [_evidence(row) for row in rows]
    boxes = [box for one in evidence for box in found_boxes(one)]
    names = list(dict.fromkeys(box["label"] for box in boxes))
    styles = {
        name: {"colour": COLOURS[n % len(COLOURS)], "dash": DASHES[n % len(DASHES)]}
        for n, name in enumerate(names)
    }
    heat = [one for found in evidence for one in _heatmaps(found)]
    first = rows[0]
    verdicts = [row["verdict"] for row in rows]
    return {
        "image": image,
        "source": _source(root, image, page, shown.embedded),
        "prompt": _marked(first["prompt"] or "", evidence, shown.threshold),
        "prompt_id": first["prompt_id"],
        "task": [first["task"]],
        "generator": [first["generator"]],
        "routine": [row["routine"] for row in rows],
        "verdict": sorted({word_of(one) for one in verdicts}),
        "differs": answer is not None and any(v is not None and v != answer for v in verdicts),
        "people": None if answer is None else word_of(answer),
        "rows": [_row(row, ranges) for row in rows],
        "boxes": [{**box, **styles[box["label"]]} for box in boxes],
        "legend": [
            {"label": name, **styles[name], "n": sum(b["label"] == name for b in boxes)}
            for name in names
        ],
        "heatmaps": heat,
        "score": next((row["score"] for row in rows if row["score"] is not None), None),
    }


def _row(row: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    low, high = ranges.get(row["assessor"], (0.0, 1.0))
    score = row["score"]
    share = None if score is None else 100 * (score - low) / ((high - low) or 1)
    name = row["assessor"] if row["routine"] == row["assessor"] else row["routine"]
    name = f"{row['assessor']} ({name})" if not name.startswith(row["assessor"]) else name
    return {
        "name": name,
        "word": word_of(row["verdict"]),
        "score": score,
        "share": share,
        "reason": row["reason"],
    }


def word_of(verdict: bool | None) -> str:
    """Return a verdict in a word.

    Example:
        >>> word_of(True), word_of(False), word_of(None)
        ('match', 'no match', 'no verdict')
    """
    return "no verdict" if verdict is None else "match" if verdict else "no match"


def found_boxes(evidence: Any, depth: int = 0) -> list[dict[str, Any]]:
    """Return the boxes in evidence, wherever they stand in it, at most 60.

    A box is an object with `box`, four numbers from 0 to 1 (left, top, right, bottom), and a
    `label`, `name` or `text`; those without a score count as sure.

    Example:
        >>> box = {"label": "cat", "score": 0.2, "box": [0, 0.5, 0.5, 1]}
        >>> found_boxes({"detector": {"boxes": [box]}})[0]["is_weak"]
        True
    """
    if depth > _MOST_DEPTH:
        return []
    inner = evidence.values() if isinstance(evidence, Mapping) else evidence
    own = []
    if isinstance(evidence, Mapping) and (corners := _corners(evidence.get("box"))):
        score = evidence.get("score")
        score = float(score) if isinstance(score, int | float) else None
        label = next((evidence[k] for k in ("label", "name", "text") if evidence.get(k)), "?")
        own = [
            {
                "label": str(label)[:80],
                "score": score,
                "is_weak": score is not None and score <= _STRONG,
                **corners,
            }
        ]
    if not isinstance(inner, str | bytes) and isinstance(inner, Iterable):
        for one in inner:
            if isinstance(one, Mapping | list):
                own += found_boxes(one, depth + 1)
    return own[:_MOST_BOXES]


def _corners(box: Any) -> dict[str, float] | None:
    if not isinstance(box, list) or len(box) != 4:
        return None
    if not all(isinstance(one, int | float) and 0 <= one <= 1 for one in box):
        return None
    left, top, right, bottom = box
    return {"x": left, "y": top, "width": max(0, right - left), "height": max(0, bottom - top)}


def _evidence(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = json.loads(row["evidence"] or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _heatmaps(evidence: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return heatmaps as pictures of one colour, clear where they are low."""
    found = evidence.get("heatmaps")
    shown = []
    for number, (name, text) in enumerate(found.items() if isinstance(found, dict) else ()):
        colour = (COLOURS[1], COLOURS[0])[number % 2]
        picture = _tint(text, colour)
        if picture:
            shown.append({"name": name, "colour": colour, "source": picture})
    return shown


def _tint(text: Any, colour: str) -> str | None:
    from PIL import Image

    try:
        grey = Image.open(io.BytesIO(base64.b64decode(text, validate=True)))
        if max(grey.size) > 1024:
            return None
        alpha = grey.convert("L").point(lambda value: round(0.8 * value))
    except (binascii.Error, TypeError, ValueError, OSError, SyntaxError):
        return None
    tinted = Image.new("RGBA", alpha.size, colour)
    tinted.putalpha(alpha)
    return _data("png", tinted)


def _source(root: Path, image: str, page: Path, embedded: bool) -> str | None:
    """Return the address of an image for the page; None where it is not below the folder."""
    path = root / image
    if not path.resolve().is_relative_to(root.resolve()) or not path.is_file():
        return None
    if not embedded:
        return urllib.parse.quote(Path(os.path.relpath(path, page.parent)).as_posix())
    try:
        small = open_picture(path)
    except ImageError:
        return None
    small.thumbnail((_SIDE, _SIDE))
    return _data("jpeg", small)


def _data(form: str, image: Any) -> str:
    buffer = io.BytesIO()
    image.save(buffer, form, **({"quality": 85} if form == "jpeg" else {}))
    return f"data:image/{form};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _marked(prompt: str, evidence: Sequence[Mapping[str, Any]], threshold: float) -> Markup:
    """Return a prompt as HTML, its misaligned words marked."""
    from markupsafe import Markup

    parts: list[str] = []
    end = 0
    for word in (word for one in evidence for word in _words(one)):
        start, stop, probability = word
        if probability >= threshold and end <= start < stop <= len(prompt):
            parts += [prompt[end:start], Markup("<mark>{}</mark>").format(prompt[start:stop])]
            end = stop
    return Markup("").join([*parts, prompt[end:]])


def _words(evidence: Mapping[str, Any]) -> list[tuple[int, int, float]]:
    words = evidence.get("words")
    found = []
    for word in words if isinstance(words, list) else ():
        values = [word.get(k) for k in ("start", "end", "probability")] if word else []
        if len(values) == 3 and all(isinstance(one, int | float) for one in values):
            found.append((int(values[0]), int(values[1]), float(values[2])))
    return found


def _ranges(rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return for each assessor what its bars begin and end at: 0 and 1, or the extremes beyond."""
    found: dict[str, tuple[float, float]] = {}
    for row in rows:
        if row["score"] is not None:
            low, high = found.get(row["assessor"], (0.0, 1.0))
            found[row["assessor"]] = (min(low, row["score"]), max(high, row["score"]))
    return found


def _summary(
    images: Mapping[str, Sequence[Mapping[str, Any]]], answers: Mapping[str, bool | None]
) -> list[str]:
    """Return a line for each routine."""
    found: dict[str, list[tuple[bool | None, bool | None]]] = {}
    for name, rows in images.items():
        for row in rows:
            found.setdefault(row["routine"], []).append((row["verdict"], answers[name]))
    lines = []
    for routine, pairs in found.items():
        told = [verdict for verdict, _ in pairs if verdict is not None]
        line = f"{routine}: {len(pairs)} rows"
        if told:
            line += f", {sum(told)} of {len(told)} verdicts are a match"
        both = [(v, a) for v, a in pairs if v is not None and a is not None]
        if both:
            line += f"; {agreement_in_words(agreement(*zip(*both, strict=True)))}"
        lines.append(line)
    return lines
