"""A folder of images judged, as one HTML page that needs no other file."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pqpp_feedback.rahf.feedback import Feedback, FeedbackModel, check_batch_size
from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES
from pqpp_feedback.rahf.pictures import overlay
from pqpp_files.write_beside import write_beside
from pqpp_models.errors import PredictorError
from pqpp_models.images.pairs import open_image

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
_STYLE = """
body{font:15px/1.4 system-ui,sans-serif;margin:2rem;background:#fafafa;color:#222}
article{background:#fff;border:1px solid #ddd;border-radius:6px;padding:1rem;margin:0 0 1rem}
figure{display:inline-block;margin:0 .8rem .4rem 0}figcaption{font-size:.8rem;color:#666}
img{display:block;max-width:100%}mark{background:#ffd0c8;border-radius:3px;padding:0 .15em}
td,th{padding:0 .8rem 0 0;text-align:left}h2{font-size:1rem;margin:0 0 .5rem}
"""


@dataclass(frozen=True)
class Picture:
    """An image with its prompt.

    Attributes:
        path: Its file.
        prompt: What it was generated from.
    """

    path: Path
    prompt: str


def read_folder(folder: str | Path) -> list[Picture]:
    """Find the images of a folder with their prompts; each image is opened once to check it.

    Prompts come from `metadata.jsonl` or `metadata.csv` (`file_name` and `prompt` or `text`, the
    form of the imagefolder builder), or from a text file of the image's name beside it. All of
    them are UTF-8, with or without a byte order mark.

    Args:
        folder: The folder.

    Raises:
        PredictorError: There is no such folder, no image, an image whose prompt is missing or
            blank, a file that cannot be read, or one that is listed and not there.
    """
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise PredictorError(f"there is no folder {root}; check the path")
    images = sorted(path for path in root.iterdir() if path.suffix.lower() in ENDINGS)
    if not images:
        raise PredictorError(f"{root} holds no image ({', '.join(ENDINGS)})")
    listed = _listed_prompts(root)
    pictures = [Picture(path, _prompt_of(path, listed)) for path in images]
    for path in images:
        open_image(path)  # a damaged one is told before hours of work, not after
    return pictures


def _listed_prompts(root: Path) -> dict[str, str]:
    rows: Iterable[Any] = []
    lines, table = root / "metadata.jsonl", root / "metadata.csv"
    try:
        if lines.is_file():
            text = lines.read_text(encoding="utf-8-sig")
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        elif table.is_file():
            with table.open(encoding="utf-8-sig", newline="") as file:
                rows = list(csv.DictReader(file))
        # A path, so that `./a.png` is a.png.
        listed = {str(PurePosixPath(row["file_name"])): _first_text(row) for row in rows}
    except (ValueError, KeyError, TypeError, AttributeError, OSError, csv.Error) as error:
        raise PredictorError(
            f"the metadata in {root} are not readable ({type(error).__name__}); save them as "
            "UTF-8, each row with `file_name` and `prompt`"
        ) from None
    absent = next((name for name in listed if not (root / name).is_file()), None)
    if absent is not None:
        raise PredictorError(
            f"the metadata in {root} list {absent}, which is not there; add the file or take the "
            "row out"
        )
    return listed


def _first_text(row: Any) -> Any:
    given = [row[name] for name in ("prompt", "text") if row.get(name) is not None]
    return next((one for one in given if one != ""), given[0] if given else None)


def _prompt_of(path: Path, listed: dict[str, Any]) -> str:
    beside = path.with_suffix(".txt")
    found = listed[path.name] if path.name in listed else _text_of(beside)
    if isinstance(found, str) and found.strip():
        return found
    came = "no prompt" if found is None else f"the prompt {found!r:.40}, which says nothing"
    raise PredictorError(
        f"{path} has {came}; put one in metadata.jsonl (`file_name`, `prompt`) or {beside.name}"
    )


def _text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig").strip() if path.is_file() else None
    except (UnicodeDecodeError, OSError) as error:
        raise PredictorError(
            f"{path} cannot be read as a prompt ({type(error).__name__}); save it as UTF-8 text"
        ) from None


def judge_folder(
    model: FeedbackModel, pictures: Sequence[Picture], batch_size: int = 16
) -> Iterator[Feedback]:
    """Judge the images of a folder one after the other, some of them in memory at a time.

    Raises:
        PredictorError: The batch size is not above 0.
    """
    check_batch_size(batch_size)
    for start in range(0, len(pictures), batch_size):
        some = pictures[start : start + batch_size]
        images = [open_image(picture.path) for picture in some]
        yield from model.judge(images, [picture.prompt for picture in some], batch_size)


def save_overlays(picture: Picture, judged: Feedback, folder: str | Path) -> list[Path]:
    """Write an image tinted by each heatmap, as `NAME.HEATMAP.png`.

    Args:
        picture: The image.
        judged: What the model says about it.
        folder: Where to.

    Returns:
        The files.
    """
    image = open_image(picture.path)
    found = []
    for name in HEATMAPS:
        path = Path(folder) / f"{picture.path.name}.{name}.png"
        with write_beside(path) as beside:
            overlay(image, judged.heatmaps[name]).save(beside)
        found.append(path)
    return found


def render_gallery(
    pictures: Sequence[Picture],
    judged: Iterable[Feedback],
    title: str = "Feedback",
    side: int = 256,
    sort_by: str | None = None,
) -> str:
    """Return the page.

    Args:
        pictures: The images.
        judged: One a picture; they are gone through once.
        title: Of the page.
        side: Longest side of a shown image in pixels.
        sort_by: A score; the lowest comes first. The folder's order if left out.

    Raises:
        PredictorError: `sort_by` is no score.
    """
    check_sort_by(sort_by)
    articles, sums = [], dict.fromkeys(SCORES, 0.0)
    for picture, one in zip(pictures, judged, strict=True):
        place = one.scores[sort_by] if sort_by else len(articles)
        articles.append((place, _article(picture, one, side)))
        sums = {name: total + one.scores[name] for name, total in sums.items()}
    articles.sort(key=lambda one: one[0])
    means = {name: total / len(articles) for name, total in sums.items()}
    body = "\n".join(text for _, text in articles)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n"
        f"<h1>{html.escape(title)}</h1>\n<p>{len(articles)} images. Mean {_listed(means)}.</p>\n"
        f"{body}\n</html>\n"
    )


def check_sort_by(sort_by: str | None) -> None:
    """Refuse what is no score; None stands for the folder's order.

    Example:
        >>> check_sort_by("beauty")
        Traceback (most recent call last):
        pqpp_models.errors.PredictorError: `sort_by` is 'beauty'; choose among plausibility, ...
    """
    if sort_by is not None and sort_by not in SCORES:
        raise PredictorError(f"`sort_by` is {sort_by!r}; choose among {', '.join(SCORES)}")


def _article(picture: Picture, judged: Feedback, side: int) -> str:
    image = open_image(picture.path)
    image.thumbnail((side, side))
    shown = [("image", image)]
    shown += [(name, overlay(image, judged.heatmaps[name])) for name in HEATMAPS]
    figures = "".join(
        f'<figure><img alt="{name}" src="{_embedded(one)}"><figcaption>{name}</figcaption></figure>'
        for name, one in shown
    )
    return (
        f"<article><h2>{html.escape(picture.path.name)}</h2>{figures}"
        f"<p>{marked_prompt(judged)}</p><p>{_listed(judged.scores)}</p></article>"
    )


def marked_prompt(judged: Feedback) -> str:
    """Return a prompt as HTML with its misaligned words marked."""
    parts, end = [], 0
    for word in judged.misaligned_words:
        parts.append(html.escape(judged.prompt[end : word.start]))
        parts.append(f"<mark>{html.escape(word.text)}</mark>")
        end = word.end
    return "".join([*parts, html.escape(judged.prompt[end:])])


def _listed(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in scores.items())


def _embedded(image: Any) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "jpeg", quality=88)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"
