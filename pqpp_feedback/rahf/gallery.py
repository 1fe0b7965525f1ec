"""A folder of images judged, as tinted pictures and as one HTML page that needs no other file."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.rahf.feedback import Feedback, FeedbackModel, check_batch_size
from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES
from pqpp_files.render_page import render_page
from pqpp_files.write_beside import write_beside
from pqpp_models.errors import PredictorError
from pqpp_models.images.pairs import open_image

if TYPE_CHECKING:
    from markupsafe import Markup

_TINT, _STRENGTH = (255, 40, 0), 0.65


def judge_folder(
    model: FeedbackModel, pictures: Sequence[Picture], batch_size: int = 16
) -> Iterator[Feedback]:
    """Judge the images of a folder one after the other, a batch of them in memory at a time."""
    check_batch_size(batch_size)
    for start in range(0, len(pictures), batch_size):
        some = pictures[start : start + batch_size]
        prompts = [picture.prompt for picture in some]
        yield from model.judge([picture.path for picture in some], prompts, batch_size)


def heatmap_image(heatmap: NDArray[np.floating], size: tuple[int, int]) -> Any:
    """Return a heatmap in 0 .. 1 as a grey image of a width and height, white where it is 1."""
    from PIL import Image

    grey = (255 * np.clip(heatmap, 0, 1)).round().astype(np.uint8)
    return Image.fromarray(grey).resize(size, Image.Resampling.BILINEAR)


def overlay(
    image: Any,
    heatmap: NDArray[np.floating],
    colour: tuple[int, int, int] = _TINT,
    strength: float = _STRENGTH,
) -> Any:
    """Return an image of PIL tinted where a heatmap is high.

    Args:
        image: The image.
        heatmap: `(height, width)` in 0 .. 1, of any size.
        colour: Of the tint.
        strength: How much of the tint there is where the heatmap is 1.
    """
    from PIL import Image

    image = image.convert("RGB")
    weight = np.asarray(heatmap_image(heatmap, image.size), dtype=np.float64)[..., None] / 255
    weight *= strength
    mixed = (1 - weight) * np.asarray(image) + weight * np.array(colour)
    return Image.fromarray(mixed.round().astype(np.uint8))


def save_overlays(picture: Picture, judged: Feedback, folder: str | Path) -> list[Path]:
    """Write an image tinted by each heatmap, as `NAME.HEATMAP.png`, and return the files."""
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
    articles, scores = [], []
    for picture, one in zip(pictures, judged, strict=True):
        articles.append(_article(picture, one, side))
        scores.append(one.scores)
    order = range(len(articles))
    if sort_by:
        order = sorted(order, key=lambda number: scores[number][sort_by])
    means = {name: float(np.mean([one[name] for one in scores])) for name in SCORES}
    return render_page(
        Path(__file__).with_name("gallery.html"),
        title=title,
        means=_listed(means),
        articles=[articles[number] for number in order],
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


def _article(picture: Picture, judged: Feedback, side: int) -> dict[str, Any]:
    image = open_image(picture.path)
    image.thumbnail((side, side))
    shown = {"image": image}
    shown |= {name: overlay(image, judged.heatmaps[name]) for name in HEATMAPS}
    return {
        "name": picture.path.name,
        "pictures": {name: _embedded(one) for name, one in shown.items()},
        "prompt": marked_prompt(judged),
        "scores": _listed(judged.scores),
    }


def marked_prompt(judged: Feedback) -> Markup:
    """Return a prompt as HTML with its misaligned words marked."""
    from markupsafe import Markup

    parts: list[str] = []
    end = 0
    for word in judged.misaligned_words:
        parts += [judged.prompt[end : word.start], Markup("<mark>{}</mark>").format(word.text)]
        end = word.end
    return Markup("").join([*parts, judged.prompt[end:]])


def _listed(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in scores.items())


def _embedded(image: Any) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "jpeg", quality=88)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"
