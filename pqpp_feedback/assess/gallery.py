"""Show verdicts on an HTML page: images with the evidence drawn over them, reasons and filters.

Images are linked, and loaded when they become visible; or they are embedded as small copies, so
that the page needs no other file.
"""

import base64
import io
import itertools
import os
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pqpp_feedback.assess.agreement import HumanAnswers, compute_agreement, describe_agreement
from pqpp_feedback.assess.pictures import Row, open_picture
from pqpp_feedback.assess.verdicts import catch_evidence_errors, parse_evidence
from pqpp_feedback.errors import FeedbackError
from pqpp_files.escape import escape_controls
from pqpp_files.foreign.images import open_image
from pqpp_files.paths import resolve
from pqpp_files.render_page import render_page

# Colours of Okabe and Ito, which colour-blind people can distinguish; the dashes differ too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
STYLES = list(zip(COLOURS, ("none", "6 3", "2 2", "8 3 2 3", "12 3", "4 4", "1 3"), strict=True))
_MAX_SIDE, _MAX_BOXES = 384, 60
_WEAK_SCORE = 0.5


def render_gallery(
    rows: Iterable[Row],
    image_dir: str | Path,
    page: str | Path,
    people: HumanAnswers | None = None,
    embedded: bool = False,
    threshold: float = 0.5,
) -> str:
    """Return an HTML page of images with their verdicts.

    Args:
        rows: Verdicts as returned by `read_verdicts`; those of one image are shown together.
        image_dir: The folder of the images.
        page: The path of the page, for links to the images.
        people: People's answers; images with a different verdict come first.
        embedded: Whether to embed small copies of the images.
        threshold: Minimum probability of misalignment at which a word is marked.

    Raises:
        FeedbackError: There are no rows with an image, evidence is invalid, or no image exists.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "a.png").touch()
        >>> row = dict.fromkeys(("prompt_id", "task", "generator", "reason", "evidence"), "")
        >>> row |= {"image": "a.png", "prompt": "<cat>", "assessor": "x", "routine": "x"}
        >>> page = render_gallery([{**row, "verdict": True, "score": 0.5}], folder, "page.html")
        >>> "&lt;cat&gt;" in page, "1 of 1 verdicts are a match" in page
        (True, True)
    """
    root, target = map(resolve, (image_dir, page))
    images: dict[str, list[Row]] = {}
    for row in rows:
        if row["image"]:  # empty for a prompt without images
            images.setdefault(row["image"], []).append(row)
    if not images:
        raise FeedbackError("there are no verdicts on images to show; assess some images first")
    files: dict[str, Path | None] = {}
    for name in images:
        paths = (folder / name for folder in (root, root / "images"))
        inside = (path for path in paths if path.is_file() and path.resolve().is_relative_to(root))
        files[name] = next(inside, None)
    if not any(files.values()):
        raise FeedbackError(f"{root} has none of the assessed images; choose another folder")
    answers = {name: people.find(group[0]) if people else None for name, group in images.items()}
    cards = []
    for name, group in images.items():
        with catch_evidence_errors(group[0]):
            card = _make_card(group, answers[name], threshold)
        cards.append({**card, "image": name, "source": _get_source(files[name], target, embedded)})
    cards.sort(key=lambda card: not card["differs"])
    return render_page(
        Path(__file__).with_name("gallery.html"),
        title="Verdicts",
        cards=cards,
        summary=_summarise_routines(images, answers),
        has_people=any(answer is not None for answer in answers.values()),
        heatmaps=list(dict.fromkeys(heat["name"] for card in cards for heat in card["heatmaps"])),
        filters={
            name: sorted({word for card in cards for word in card[name] if word})
            for name in ("task", "generator", "routine", "verdict")
        },
    )


def _make_card(rows: Sequence[Row], answer: bool | None, threshold: float) -> dict[str, Any]:
    """Return the template's data for an image and its verdicts."""
    first, evidence = rows[0], [parse_evidence(row) for row in rows]
    boxes = [box for entry in evidence for box in find_boxes(entry)]
    labels = dict.fromkeys(box["label"] for box in boxes)
    verdicts = {row["verdict"] for row in rows}
    prompt, marked, position = first["prompt"] or "", [], 0
    for word in (word for entry in evidence for word in entry.get("words", ())):
        start, stop, probability = word["start"], word["end"], word["probability"]
        if probability is not None and probability >= threshold and start >= position:
            marked += [prompt[position:start], Markup("<mark>{}</mark>").format(prompt[start:stop])]
            position = stop
    return {
        "prompt": Markup(escape_controls(Markup("").join([*marked, prompt[position:]]), "\n\t")),
        "prompt_id": first["prompt_id"],
        "task": [first["task"]],
        "generator": [first["generator"]],
        "routine": [row["routine"] for row in rows],
        "verdict": sorted(map(verdict_to_word, verdicts)),
        "differs": answer is not None and not verdicts <= {None, answer},
        "people": None if answer is None else verdict_to_word(answer),
        "rows": [{**row, "word": verdict_to_word(row["verdict"])} for row in rows],
        "boxes": boxes,
        "styles": dict(zip(labels, itertools.cycle(STYLES), strict=False)),
        "heatmaps": [heat for entry in evidence for heat in _render_heatmaps(entry)],
        "score": next((row["score"] for row in rows if row["score"] is not None), None),
    }


def verdict_to_word(verdict: bool | None) -> str:
    """Return a verdict as a word.

    Example:
        >>> verdict_to_word(True), verdict_to_word(False), verdict_to_word(None)
        ('match', 'no match', 'no verdict')
    """
    return "no verdict" if verdict is None else "match" if verdict else "no match"


def find_boxes(evidence: Any) -> list[dict[str, Any]]:
    """Return up to 60 boxes found anywhere in evidence.

    A box is a JSON object with `box`, four numbers from 0 to 1 (left, top, right, bottom), and a
    `label`, `name` or `text`; boxes without a score get score 1.

    Example:
        >>> box = {"label": "cat", "score": 0.2, "box": [0, 0.5, 0.5, 1]}
        >>> find_boxes({"detector": {"boxes": [box]}})[0]["is_weak"]
        True
    """
    boxes = []
    if isinstance(evidence, Mapping):
        if evidence.get("box"):
            (left, top, right, bottom), score = evidence["box"], evidence.get("score")
            names = (evidence[name] for name in ("label", "name", "text") if evidence.get(name))
            width, height = max(0, right - left), max(0, bottom - top)
            box = {"x": left, "y": top, "width": width, "height": height}
            is_weak = score is not None and score <= _WEAK_SCORE
            boxes = [{"label": next(names, "?"), "score": score, "is_weak": is_weak, **box}]
        evidence = list(evidence.values())
    for part in evidence if isinstance(evidence, list) else ():
        boxes += find_boxes(part)
    return boxes[:_MAX_BOXES]


def _render_heatmaps(evidence: Row) -> list[dict[str, str]]:
    """Return heatmaps as images of one colour, transparent at low values."""
    from PIL import Image

    overlays = []
    for number, (name, text) in enumerate(evidence.get("heatmaps", {}).items()):
        colour = COLOURS[1 - number % 2]
        alpha = open_image(base64.b64decode(text), "L").point(lambda value: round(0.8 * value))
        tinted = Image.new("RGBA", alpha.size, colour)
        tinted.putalpha(alpha)
        overlays.append({"name": name, "colour": colour, "source": _to_data_url("png", tinted)})
    return overlays


def _get_source(path: Path | None, page: Path, embedded: bool) -> str | None:
    """Return the URL of an image for the page; None if there is none."""
    if path is None:
        return None
    if not embedded:
        return urllib.parse.quote(Path(os.path.relpath(path, page.parent)).as_posix())
    try:
        thumbnail = open_picture(path)
    except FeedbackError:
        return None
    thumbnail.thumbnail((_MAX_SIDE, _MAX_SIDE))
    return _to_data_url("jpeg", thumbnail)


def _to_data_url(style: str, image: Any) -> str:
    buffer = io.BytesIO()
    image.save(buffer, style, quality=85)  # which PNG ignores
    return f"data:image/{style};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _summarise_routines(
    images: Mapping[str, Sequence[Row]], answers: Mapping[str, bool | None]
) -> list[str]:
    """Return one line per routine: its number of rows and matches, its agreement with people."""
    verdicts: dict[str, list[tuple[bool | None, bool | None]]] = {}
    for name, rows in images.items():
        for row in rows:
            verdicts.setdefault(row["routine"], []).append((row["verdict"], answers[name]))
    lines = []
    for routine, pairs in verdicts.items():
        line = f"{routine}: {len(pairs)} rows"
        if known := [verdict for verdict, _ in pairs if verdict is not None]:
            line += f", {sum(known)} of {len(known)} verdicts are a match"
        if answered := [pair for pair in pairs if None not in pair]:
            line += f"; {describe_agreement(compute_agreement(*zip(*answered, strict=True)))}"
        lines.append(line)
    return lines
