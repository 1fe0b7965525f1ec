"""What RAHF said of images, out of kept verdicts: as plain values, and as tinted images."""

import base64
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pqpp_feedback.assess.pictures import Row, open_picture
from pqpp_feedback.rahf.assessor import misaligned
from pqpp_files.foreign.images import open_image
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.write_beside import write_beside

_TINT, _STRENGTH = (255, 40, 0), 0.65
"""The colour, and how much of it there is where a heatmap is 1."""


def heatmap_image(heatmap: NDArray[np.floating], size: tuple[int, int]) -> Any:
    """Return a heatmap in 0 .. 1 as a grey image of a width and height, white where it is 1."""
    grey = (255 * np.clip(heatmap, 0, 1)).round().astype(np.uint8)
    return Image.fromarray(grey).resize(size, Image.Resampling.BILINEAR)


def overlay(image: Any, heatmap: NDArray[np.floating]) -> Any:
    """Return an image of PIL tinted where a heatmap is high.

    Args:
        image: The image.
        heatmap: `(height, width)` in 0 .. 1, of any size.
    """
    image = image.convert("RGB")
    weight = np.asarray(heatmap_image(heatmap, image.size), dtype=np.float64)[..., None] / 255
    weight *= _STRENGTH
    mixed = (1 - weight) * np.asarray(image) + weight * np.array(_TINT)
    return Image.fromarray(mixed.round().astype(np.uint8))


def judged(rows: Iterable[Row], threshold: float) -> Iterator[dict[str, Any]]:
    """Give judged images as plain values; what could not be judged has no scores.

    Args:
        rows: Of a table of verdicts.
        threshold: A word of at least this probability counts as misaligned.
    """
    for row in rows:
        evidence = parse_json(row["evidence"] or "null")
        yield {
            "file_name": row["image"],
            "prompt": row["prompt"],
            "scores": evidence and evidence["scores"],
            "misaligned_words": [
                {name: word[name] for name in ("text", "start", "end")}
                for word in (misaligned(evidence, threshold) if evidence else ())
            ],
            **({} if evidence else {"reason": row["reason"]}),
        }


def save_overlays(rows: Iterable[Row], images: Path, folder: Path) -> None:
    """Write each image tinted by each heatmap, as `NAME.HEATMAP.png`."""
    for row in rows:
        heatmaps = parse_json(row["evidence"] or "{}").get("heatmaps", {})
        for name, text in heatmaps.items():
            grey = np.asarray(open_image(base64.b64decode(text), "L")) / 255
            image = open_picture(images / row["image"])
            with write_beside(folder / f"{row['image']}.{name}.png") as beside:
                overlay(image, grey).save(beside)
